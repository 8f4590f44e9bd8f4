"""A real browser for tests: headless Chromium by the W3C WebDriver protocol, spoken over plain HTTP to chromedriver."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
MISSING = "needs chromium and chromedriver (Debian: apt install chromium chromium-driver)"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@dataclass(frozen=True)
class Browser:
    """One window."""

    session: str

    def open(self, file: Path) -> None:
        _call("POST", f"{self.session}/url", {"url": file.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script, or of the promise that it returns."""
        return _call("POST", f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def drag(self, kind: str, start: tuple[float, float], path: list[tuple[float, float]]) -> None:
        """Press at a point of the window, go along others, and let go; ``kind`` is mouse or touch."""
        moves = [{"type": "pointerMove", "duration": 20, "x": round(x), "y": round(y)} for x, y in path]
        first = {"type": "pointerMove", "duration": 0, "x": round(start[0]), "y": round(start[1])}
        actions = [first, {"type": "pointerDown", "button": 0}, *moves, {"type": "pointerUp", "button": 0}]
        pointer = {"type": "pointer", "id": kind, "parameters": {"pointerType": kind}, "actions": actions}
        _call("POST", f"{self.session}/actions", {"actions": [pointer]})

    def errors(self) -> list[str]:
        """What the console has complained about."""
        entries = _call("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]


@contextmanager
def browser(profile: Path, *, width: int = 1200, height: int = 900, phone: bool = False) -> Iterator[Browser]:
    """A browser with a profile of its own, that ends with the context; as on a ``phone`` of any width, where a window
    cannot be narrower than 500 pixels.
    """
    assert CHROMIUM is not None
    assert DRIVER is not None
    with subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as driver:
        try:
            assert driver.stdout is not None
            port = next(m[1] for line in driver.stdout if (m := re.search(r"started successfully on port (\d+)", line)))
            options: dict[str, Any] = {
                "binary": CHROMIUM,
                "args": [*FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"],
            }
            if phone:
                options["mobileEmulation"] = {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 1}}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            root = f"http://127.0.0.1:{port}"
            answer = _call("POST", f"{root}/session", {"capabilities": {"alwaysMatch": wanted}})
            session = f"{root}/session/{answer['sessionId']}"
            try:
                yield Browser(session)
            finally:
                _call("DELETE", session)
        finally:
            driver.terminate()


def _call(method: str, address: str, content: Any = None) -> Any:
    data = None if content is None else json.dumps(content).encode()
    request = Request(address, data, {"Content-Type": "application/json"}, method=method)
    with urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())["value"]
