"""The demo from end to end in a tiny version, and its page in a real browser."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from adacanon.cli import main
from adacanon.errors import DataError
from adacanon.experiments import demo as demo_module
from adacanon.experiments.clouds.furniture import Shapes, Sizes, near_upright
from adacanon.experiments.clouds.rotated_clouds import randomly_rotated
from adacanon.experiments.demo import DemoSizes, demo
from adacanon.points.frames import principal_axes
from adacanon.points.rotations import rotations_about
from adacanon.reports.demo_page import page
from adacanon.training.records import Record, read_records
from cases.browser import Browser

TINY = DemoSizes(
    Sizes(training=64, test=24, points=32, shown=150, plain=1, tuning=1, augmented=1, aligned=1, averaged=1), 20, 1
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Record], Path]:
    return demo(tmp_path_factory.mktemp("demo"), sizes=TINY, show=False)


def figures(records: list[Record]) -> list[tuple[str, ...]]:
    return [(r["kind"], r["method"], r.get("poses", ""), r["hits"]) for r in records if "hits" in r]


class TestRecords:
    def test_every_method_is_tested_on_the_same_shapes_upright_and_turned(
        self, made: tuple[list[Record], Path]
    ) -> None:
        clouds = [record for record in made[0] if record["kind"] == "clouds"]
        assert len(clouds) == 12
        assert {record["poses"] for record in clouds} == {"upright", "turned"}
        assert {len(record["hits"]) for record in clouds} == {24}
        graphs = [record for record in made[0] if record["kind"] == "graphs"]
        assert [record["method"] for record in graphs] == ["GCN", "GIN", "Gram MLP", "A-NLSF"]

    def test_they_stand_beside_the_page_which_is_a_function_of_them(self, made: tuple[list[Record], Path]) -> None:
        file = made[1].with_name("demo.jsonl")
        assert page(read_records(file)) == made[1].read_text()

    def test_a_second_call_starts_anew_and_measures_the_same(self, made: tuple[list[Record], Path]) -> None:
        records, _ = demo(made[1].parent, sizes=TINY, show=False)
        assert figures(records) == figures(made[0])
        assert len(read_records(made[1].with_name("demo.jsonl"))) == len(records)

    def test_a_page_of_incomplete_records_is_refused(self, made: tuple[list[Record], Path]) -> None:
        rest = [record for record in made[0] if record["kind"] not in ("chair", "graphs")]
        with pytest.raises(DataError, match="no chair, no graphs"):
            page(rest)


class TestShapes:
    def test_turned_shapes_are_the_upright_ones_turned(self) -> None:
        shapes = Shapes.drawn(TINY.clouds)
        for clouds in (shapes.upright, shapes.turned):
            assert clouds.shape == (24, 32, 3)
        upright, turned = (clouds @ clouds.mT for clouds in (shapes.upright, shapes.turned))
        torch.testing.assert_close(turned, upright, atol=1e-5, rtol=0)
        assert float((shapes.turned - shapes.upright).norm(dim=2).mean()) > 0.3

    def test_a_long_box_comes_near_its_upright_pose_and_a_leaning_one_does_not(self) -> None:
        """Two clouds on axes of their own, of which the second is stored at an angle of 30° to them."""
        box = torch.randn(1, 200, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([3.0, 2.0, 1.0])
        box = box @ principal_axes(box)[0].float().mT
        lean = rotations_about((1, 0, 0), torch.tensor([math.radians(30)]))[0]
        upright = torch.cat([box, box @ lean.mT])
        turned = randomly_rotated(upright, torch.Generator().manual_seed(1))
        shapes = replace(Shapes.drawn(TINY.clouds), upright=upright, turned=turned)
        assert near_upright(shapes) == 1


def test_the_command_prints_figures_and_sentences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], made: tuple[list[Record], Path]
) -> None:
    monkeypatch.setattr(demo_module, "demo", lambda folder: (made[0], folder / "index.html"))
    assert main(["demo", "--folder", str(tmp_path), "--threads", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "wrapped, fine-tuned" in shown
    assert "The best figure on turned shapes is that of" in shown
    assert f"The page: {tmp_path / 'index.html'}" in shown


class TestPage:
    def test_it_needs_nothing_from_elsewhere_but_the_page_on_single_shapes(
        self, made: tuple[list[Record], Path]
    ) -> None:
        text = made[1].read_text()
        assert re.findall(r"""https?:|//cdn|import\s*\(|@import|url\(""", text) == []
        assert re.findall(r'href="([^"]*)"', text) == ["shapes.html"]
        assert (made[1].parent / "shapes.html").exists()

    def test_every_figure_of_the_bars_comes_from_a_record(self, made: tuple[list[Record], Path]) -> None:
        widths = re.findall(r'style="width: ([\d.]+)%"', made[1].read_text())
        shown = [r for r in made[0] if r.get("poses") == "turned" or r["kind"] == "graphs"]
        expected = [100 * r["hits"].count("1") / len(r["hits"]) for r in shown]
        assert [float(width) for width in widths] == pytest.approx(expected, abs=0.06)


NEXT_FRAME = "return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));"
INK = """
const canvas = document.getElementById(arguments[0]);
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
let sum = 0, count = 0;
for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] > 0) { count++; sum = (31 * sum + i) % 1000003; }
return [count, sum];
"""
IN_AN_IFRAME = """
const frame = document.body.appendChild(document.createElement("iframe"));
frame.style.cssText = "position: absolute; left: 0; top: 0; width: 390px; height: 844px; border: 0";
return new Promise(done => {
  frame.addEventListener("load", () => {
    const root = frame.contentDocument.documentElement;
    const answer = [root.clientWidth, root.scrollWidth];
    frame.remove();
    done(answer);
  });
  frame.srcdoc = arguments[0];
});
"""
IMAGES = (
    "return [...document.images].map(image => [image.naturalWidth, image.getBoundingClientRect().width, image.alt]);"
)


class TestInABrowser:
    def test_pictures_and_clouds_are_drawn(self, window: Browser, made: tuple[list[Record], Path]) -> None:
        window.open(made[1])
        assert window.run(NEXT_FRAME)
        pictures = window.run(IMAGES)
        assert len(pictures) == 2 + 4
        assert all(natural > 10 and width > 50 and words for natural, width, words in pictures)
        assert all(window.run(INK, canvas)[0] > 500 for canvas in ("before", "after"))
        assert window.errors() == []

    @pytest.mark.parametrize("kind", ["mouse", "touch"])
    def test_a_drag_turns_the_clouds_of_both_panels(
        self, window: Browser, made: tuple[list[Record], Path], kind: str
    ) -> None:
        window.open(made[1])
        window.run("document.getElementById('before').scrollIntoView({ block: 'center' });")
        assert window.run(NEXT_FRAME)
        first = [window.run(INK, canvas) for canvas in ("before", "after")]
        box = (
            "const b = document.getElementById('before').getBoundingClientRect(); return [b.x + b.width / 2, b.y + 60];"
        )
        x, y = window.run(box)
        window.drag(kind, (x, y), [(x + 10 * step, y) for step in range(1, 9)])
        assert window.run(NEXT_FRAME)
        assert all(window.run(INK, canvas) != before for canvas, before in zip(("before", "after"), first, strict=True))
        window.run("document.getElementById('reset').click();")
        assert window.run(NEXT_FRAME)
        assert [window.run(INK, canvas) for canvas in ("before", "after")] == first
        assert window.errors() == []

    def test_nothing_is_wider_than_a_phone(self, window: Browser, made: tuple[list[Record], Path]) -> None:
        window.open(made[1])
        inner, needed = window.run(IN_AN_IFRAME, made[1].read_text())
        assert 360 < inner <= 390  # a scroll bar may take its part
        assert needed <= inner
