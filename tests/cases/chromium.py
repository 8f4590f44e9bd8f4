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
const sizes = image => [image.naturalWidth, image.naturalHeight, ...box(image)];
const all = selector => [...document.querySelectorAll(selector)];
/* plots are SVG in addresses: what lies inside is measured in a copy */
const inside = image => {
  const holder = document.body.appendChild(document.createElement("div"));
  holder.innerHTML = new TextDecoder().decode(Uint8Array.from(atob(image.src.split(",")[1]), c => c.charCodeAt(0)));
  const series = [...holder.querySelectorAll("[id^=series] > path")].map(path => path.getTotalLength());
  const texts = [...holder.querySelectorAll("text")].map(text => [text.textContent, text.getBBox().width]);
  holder.remove();
  return { series, texts };
};
const plots = all("img.plot").map(plot => ({ sizes: sizes(plot), text: plot.alt, ...inside(plot) }));
const found = { plots, pictures: all("img.picture").map(sizes), clouds: all("img.cloud").map(sizes),
  without: all("img").filter(image => !image.alt).length,
  requests: performance.getEntriesByType("resource").map(entry => entry.name).filter(name => !name.startsWith("data:")),
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth };
document.body.insertAdjacentHTML("beforeend", "<pre id='measured'>" + JSON.stringify(found) + "</pre>");
</script>
"""


def measured(page: Path, folder: Path, *, width: int = 1250) -> dict[str, Any]:
    """What Chromium has drawn: boxes and lengths in pixels, by a script in a copy of the page."""
    copy = folder / "measured.html"
    copy.write_text(page.read_text().replace("</body>", MEASURE + "</body>"))
    answer = _chromium(folder, f"--window-size={width},900", "--dump-dom", copy.as_uri())
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
