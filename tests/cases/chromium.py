"""A page opened in headless Chromium."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
)  # fmt: skip
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

MEASURE = """
<script>
const box = element => { const r = element.getBoundingClientRect(); return [r.width, r.height]; };
const plots = [...document.querySelectorAll("svg.plot")].map(plot => ({
  box: box(plot),
  series: [...plot.querySelectorAll("path.series")].map(path => path.getTotalLength()),
  texts: [...plot.querySelectorAll("text")].map(text => text.getBBox().width),
}));
const pictures = [...document.images].map(image => [image.naturalWidth, image.naturalHeight, ...box(image)]);
const found = { plots, pictures, clouds: [...document.querySelectorAll("svg.cloud")].map(box),
  requests: performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("data:")),
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth };
document.body.insertAdjacentHTML("beforeend", "<pre id='measured'>" + JSON.stringify(found) + "</pre>");
</script>
"""


def measured(page: Path, folder: Path) -> dict[str, Any]:
    """What Chromium has drawn: boxes and lengths in pixels, by a script in a copy of the page."""
    copy = folder / "measured.html"
    copy.write_text(page.read_text().replace("</body>", MEASURE + "</body>"))
    answer = _chromium(folder, "--window-size=1250,900", "--dump-dom", copy.as_uri())
    found = re.search(r"<pre id=\"measured\">(.*?)</pre>", answer, flags=re.S)
    assert found, answer[:500]
    return json.loads(found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


def screenshot(page: Path, folder: Path) -> Path:
    """A picture of the first 2000 pixels of the page."""
    file = folder / "page.png"
    _chromium(folder, "--window-size=1250,2000", "--hide-scrollbars", f"--screenshot={file}", page.as_uri())
    return file


def _chromium(folder: Path, *arguments: str) -> str:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"needs a browser: none of {', '.join(BROWSERS)} is installed")
    command = [browser, *FLAGS, f"--user-data-dir={folder / 'profile'}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
