"""Pages in a real browser: pictures are drawn, clouds turn, nothing is wider than a phone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adacanon.core import Canonical
from cases.browser import Browser
from cases.explained import of_clouds, of_graphs, of_images

PHONE = 390

CANVASES = """
return [...document.querySelectorAll("canvas.cloud")].map(canvas => {
  const { width, height } = canvas, pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  let painted = 0, sum = 0;
  for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3]) {
    painted++;
    sum = (31 * sum + i + pixels[i] + pixels[i + 1]) % 1000003;
  }
  return { painted, sum, width };
});
"""
PICTURES = """
const box = element => { const r = element.getBoundingClientRect(); return [r.width, r.height]; };
return {
  images: [...document.querySelectorAll("img")].map(image => [image.naturalWidth, ...box(image)]),
  curves: [...document.querySelectorAll("path.curve")].map(path => path.getTotalLength()),
  nodes: [...document.querySelectorAll("svg circle")].map(circle => box(circle)),
  drawings: [...document.querySelectorAll("svg.drawn")].map(box),
};
"""
OVERFLOW = """
const room = document.documentElement.clientWidth;
const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > room + 1);
return { over: document.documentElement.scrollWidth - room, room, wide: wide.map(e => e.tagName).slice(0, 5),
  requests: performance.getEntriesByType("resource").map(e => e.name).filter(name => !name.startsWith("data:")) };
"""
MIDDLE = """
const canvas = document.querySelectorAll("canvas.cloud")[arguments[0]];
canvas.scrollIntoView({ block: "center", behavior: "instant" });
const box = canvas.getBoundingClientRect();
return [box.x + box.width / 2, box.y + box.height / 2];
"""
NEXT_FRAME = "return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));"
NARROW = """
const frame = document.createElement("iframe");
frame.style = "position: fixed; left: 0; top: 0; border: 0; width: " + arguments[0] + "px; height: 844px";
const text = document.documentElement.outerHTML;
document.body.replaceChildren(frame);
return new Promise(done => { frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument, room = page.documentElement.clientWidth;
  const wide = [...page.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > room + 1);
  done({ over: page.documentElement.scrollWidth - room, room, wide: wide.map(e => e.tagName).slice(0, 5) });
}, 100); frame.srcdoc = text; });
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Callable[[], Canonical]], Path]:
    folder, made = tmp_path_factory.mktemp("pages"), dict[str, Path]()

    def page(make: Callable[[], Canonical]) -> Path:
        name = make.__name__
        if name not in made:
            long = "a name without any spaces that is longer than a phone is wide".replace(" ", "_")
            found = make()
            names = [long, *(f"class {n}" for n in range(1, found.scores.shape[1]))]
            made[name] = found.save(folder / f"{name}.html", classes=names, samples=2, moves=1)
        return made[name]

    return page


def painted(window: Browser) -> list[dict[str, int]]:
    assert window.run(NEXT_FRAME)
    return window.run(CANVASES)


def test_clouds_are_drawn(window: Browser, pages: Callable[..., Path]) -> None:
    window.open(pages(of_clouds))
    canvases = painted(window)
    assert len(canvases) == 2 * (1 + 3 + 1)  # the input, three forms and a globe
    assert all(canvas["painted"] > 200 for canvas in canvases)
    assert len({canvas["sum"] for canvas in canvases}) == len(canvases)
    assert window.errors() == []


@pytest.mark.parametrize("kind", ["mouse", "touch"])
def test_a_drag_turns_all_clouds_of_an_input_and_of_no_other(
    window: Browser, pages: Callable[..., Path], kind: str
) -> None:
    window.open(pages(of_clouds))
    before = [canvas["sum"] for canvas in painted(window)]
    x, y = window.run(MIDDLE, 1)
    window.drag(kind, (x, y), [(x + 10 * n, y) for n in range(1, 8)])
    after = [canvas["sum"] for canvas in painted(window)]
    assert all(a != b for a, b in zip(before[:5], after[:5], strict=True))
    assert before[5:] == after[5:]
    assert window.errors() == []


def test_arrow_keys_turn_clouds_and_a_double_click_brings_the_first_view_back(
    window: Browser, pages: Callable[..., Path]
) -> None:
    window.open(pages(of_clouds))
    before = [canvas["sum"] for canvas in painted(window)]
    press = "document.querySelector('canvas').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }));"
    window.run(press)
    assert [canvas["sum"] for canvas in painted(window)] != before
    window.run("document.querySelector('canvas').dispatchEvent(new MouseEvent('dblclick'));")
    assert [canvas["sum"] for canvas in painted(window)] == before


def test_images_and_their_curves_are_drawn(window: Browser, pages: Callable[..., Path]) -> None:
    window.open(pages(of_images))
    found = window.run(PICTURES)
    assert len(found["images"]) == 2 * (1 + 3)
    assert all(natural == 12 and min(width, height) > 100 for natural, width, height in found["images"])
    assert len(found["curves"]) == 2 * 3
    assert all(length > 300 for length in found["curves"])
    assert window.errors() == []


def test_graphs_and_their_tables_are_drawn(window: Browser, pages: Callable[..., Path]) -> None:
    window.open(pages(of_graphs))
    found = window.run(PICTURES)
    assert len(found["nodes"]) >= 2 * 2 * 8
    assert all(min(size) > 2 for size in found["nodes"])
    assert len(found["drawings"]) == 2 * (1 + 2 + 1)
    assert all(width > 80 and height > 40 for width, height in found["drawings"])
    assert window.errors() == []


@pytest.mark.parametrize("make", [of_clouds, of_images, of_graphs])
def test_nothing_is_wider_than_a_phone_and_nothing_is_asked_for_elsewhere(
    window: Browser, pages: Callable[..., Path], make: Callable[[], Canonical]
) -> None:
    window.open(pages(make))
    wide = window.run(OVERFLOW)
    assert (wide["over"], wide["wide"], wide["requests"]) == (0, [], [])
    narrow = window.run(NARROW, PHONE)
    assert narrow["room"] <= PHONE
    assert (narrow["over"], narrow["wide"]) == (0, [])
