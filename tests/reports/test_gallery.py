"""Clouds before and after canonicalization: the picture, and the page in a real browser."""

import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from adacanon.errors import InputError
from adacanon.experiments.clouds import chairs, modelnet, rotated_clouds
from adacanon.points.rotations import rotations_about
from adacanon.reports.gallery import Gallery, draw, page
from adacanon.runs.run import Run
from adacanon.spaces import SO3
from adacanon.training.loop import TrainingControl
from cases.browser import Browser
from cases.small_clouds import POINTS, small_modelnet

COUNT = 7
CYCLE = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""x to y, y to z, z to x: another rotation than its inverse, which takes x to z."""


def rods(camera: Tensor | None = None) -> Gallery:
    """Rods along the x-axis, whose canonical forms stand along the y-axis."""
    x = torch.linspace(-0.9, 0.9, 200)
    rod = torch.stack([x, 0.02 * torch.sin(40 * x), 0.02 * torch.cos(40 * x)], 1)
    return Gallery(
        title="Rods & <rods>",
        lead="They lie, then they stand.",
        clouds=rod.repeat(COUNT, 1, 1),
        rotations=CYCLE.repeat(COUNT, 1, 1),
        shades=((x + 1) / 2).repeat(COUNT, 1),
        camera=torch.eye(3) if camera is None else camera,
        before="lying",
        after="standing",
        legend=("left", "right"),
    )


class TestPage:
    def test_it_needs_nothing_from_elsewhere(self) -> None:
        text = page(rods())
        assert re.findall(r"""(?:src|href)\s*=|https?:|//cdn|import\s*\(|@import|url\(""", text) == []

    def test_texts_are_escaped_and_every_place_is_filled(self) -> None:
        text = page(rods())
        assert "<h1>Rods &amp; &lt;rods&gt;</h1>" in text
        assert "{{" not in text


SCRIPT_SIZES = """
const sizes = {};
for (const id of ["before", "after"]) {
  const canvas = document.getElementById(id), columns = Number(canvas.dataset.columns);
  const cell = canvas.width / columns, context = canvas.getContext("2d");
  sizes[id] = Array.from({ length: arguments[0] }, (_, i) => {
    const pixels = context.getImageData((i % columns) * cell, Math.floor(i / columns) * cell, cell, cell).data;
    let [left, right, top, bottom, count] = [cell, -1, cell, -1, 0];
    for (let v = 0; v < cell; v++) for (let u = 0; u < cell; u++) if (pixels[4 * (v * cell + u) + 3] > 0) {
      left = Math.min(left, u); right = Math.max(right, u); top = Math.min(top, v); bottom = Math.max(bottom, v);
      count++;
    }
    return { width: (right - left + 1) / cell, height: (bottom - top + 1) / cell, count };
  });
}
return sizes;
"""
SCRIPT_MIDDLE = """
const box = document.getElementById(arguments[0]).getBoundingClientRect();
return [box.x + box.width / 2, box.y + box.height / 2];
"""
NEXT_FRAME = "return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));"
QUARTER = 100 * math.pi / 2
"""Pixels of a quarter of a turn."""


@pytest.fixture
def shown(window: Browser, tmp_path: Path) -> Browser:
    (tmp_path / "rods.html").write_text(page(rods()), encoding="utf-8")
    window.open(tmp_path / "rods.html")
    return window


def sizes(window: Browser) -> dict[str, list[dict[str, float]]]:
    """How wide and high every cloud is on the screen, as shares of its cell, and of how many pixels it consists."""
    assert window.run(NEXT_FRAME)
    return window.run(SCRIPT_SIZES, COUNT)


def dragged(window: Browser, kind: str, canvas: str, right: float, down: float) -> None:
    x, y = window.run(SCRIPT_MIDDLE, canvas)
    steps = [(x + right * n / 8, y + down * n / 8) for n in range(1, 9)]
    window.drag(kind, (x, y), steps)


class TestPageInABrowser:
    def test_every_cloud_is_drawn_as_given_and_in_its_canonical_form(self, shown: Browser) -> None:
        found = sizes(shown)
        for lying, standing in zip(found["before"], found["after"], strict=True):
            assert lying["width"] == pytest.approx(0.86, abs=0.05)
            assert lying["height"] < 0.08
            assert standing["height"] == pytest.approx(0.86, abs=0.05)
            assert standing["width"] < 0.08
            assert min(lying["count"], standing["count"]) > 150
        assert shown.errors() == []

    @pytest.mark.parametrize("kind", ["mouse", "touch"])
    def test_a_drag_to_the_side_turns_all_of_them_about_the_vertical(self, shown: Browser, kind: str) -> None:
        dragged(shown, kind, "after", QUARTER, 0)
        found = sizes(shown)
        for lying, standing in zip(found["before"], found["after"], strict=True):
            assert lying["width"] < 0.08
            assert standing["height"] == pytest.approx(0.86, abs=0.05)
        dragged(shown, kind, "before", QUARTER, 0)
        assert all(size["width"] > 0.8 for size in sizes(shown)["before"])
        assert shown.errors() == []

    @pytest.mark.parametrize("kind", ["mouse", "touch"])
    def test_a_drag_downwards_turns_them_about_the_horizontal(self, shown: Browser, kind: str) -> None:
        dragged(shown, kind, "before", 0, QUARTER)
        found = sizes(shown)
        assert all(size["height"] < 0.08 for size in found["after"])
        assert all(size["width"] > 0.8 for size in found["before"])

    def test_moving_without_pressing_turns_nothing(self, shown: Browser) -> None:
        before = sizes(shown)
        x, y = shown.run(SCRIPT_MIDDLE, "before")
        shown.run(
            "document.getElementById('before').dispatchEvent(new PointerEvent('pointermove', "
            "{ clientX: arguments[0], clientY: arguments[1], isPrimary: true }));",
            x + 90,
            y,
        )
        assert sizes(shown) == before

    def test_keys_turn_and_the_button_brings_the_first_view_back(self, shown: Browser) -> None:
        first = sizes(shown)
        press = "document.getElementById('before').dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0] }));"
        for _ in range(5):
            shown.run(press, "ArrowRight")
        expected = 0.86 * math.cos(0.6)
        assert all(size["width"] == pytest.approx(expected, abs=0.05) for size in sizes(shown)["before"])
        shown.run("document.getElementById('reset').click();")
        assert sizes(shown) == first

    def test_the_camera_is_the_first_view(self, window: Browser, tmp_path: Path) -> None:
        camera = rotations_about((0, 0, 1), torch.tensor([math.pi / 2]))[0]
        (tmp_path / "turned.html").write_text(page(rods(camera)), encoding="utf-8")
        window.open(tmp_path / "turned.html")
        found = sizes(window)
        assert all(size["height"] > 0.8 for size in found["before"])
        assert all(size["width"] > 0.8 for size in found["after"])


class TestPicture:
    def pixels(self, gallery: Gallery) -> np.ndarray:
        from matplotlib import image

        return image.imread(io.BytesIO(draw(gallery)))[..., :3]

    def test_lying_rods_to_the_left_and_standing_ones_to_the_right(self) -> None:
        picture = self.pixels(rods())
        coloured = (picture.max(2) - picture.min(2)) > 0.2
        half = coloured.shape[1] // 2
        for part, standing in ((coloured[:, :half], False), (coloured[:, half:], True)):
            rows, columns = part.any(1).sum(), part.any(0).sum()
            assert min(rows, columns) > 5
            assert (rows > columns) == standing

    def test_another_camera_draws_another_picture(self) -> None:
        turned = rotations_about((0, 0, 1), torch.tensor([1.0]))[0]
        assert not np.array_equal(self.pixels(rods()), self.pixels(rods(turned)))


class TestChairs:
    @pytest.fixture(autouse=True)
    def small_data(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for place in (modelnet, rotated_clouds):
            monkeypatch.setattr(place, "modelnet", lambda classes, points: small_modelnet(test=12))
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))

    def run(self) -> Run:
        few: dict[str, Any] = {"epochs": 1, "batch": 4, "points": POINTS, "size": 12}
        options = {**modelnet.MODELNET.settings_of("AC-PointNet (paper)", "accuracy"), **few}
        return Run.of("modelnet", "AC-PointNet (paper)", "accuracy", 0, options)

    def test_it_shows_what_the_network_sees_and_what_it_makes_of_it(self) -> None:
        gallery = chairs.gallery(self.run(), TrainingControl(), kind="disc", count=4)
        learner, data = modelnet.kept_or_trained(self.run(), TrainingControl())
        test = data.points[data.split.test]
        model = learner.module.eval()
        with torch.no_grad():
            scores = model(test)[:, 1]
            at_forms = model.network(gallery.clouds @ gallery.rotations.mT)[:, 1]
        which = [int((test - cloud).abs().amax((1, 2)).argmin()) for cloud in gallery.clouds]
        assert len(set(which)) == 4
        assert all(number % 2 == 1 for number in which)
        torch.testing.assert_close(gallery.clouds, test[which], atol=1e-5, rtol=0)
        torch.testing.assert_close(at_forms, scores[which], atol=1e-4, rtol=1e-4)
        assert gallery.shades.amin() == 0
        assert gallery.shades.amax() == 1

    def test_a_class_that_there_is_not_is_named(self) -> None:
        with pytest.raises(InputError, match="Classes are rod, disc; got 'chair'"):
            chairs.gallery(self.run(), TrainingControl())

    def test_poses_are_found_from_clouds(self, generator: torch.Generator) -> None:
        clouds, poses = torch.randn(5, 20, 3, generator=generator), SO3().sample(5, generator=generator).float()
        torch.testing.assert_close(chairs.poses_of(clouds, clouds @ poses.mT), poses, atol=1e-5, rtol=0)

    def test_the_spread_is_that_of_pairs(self) -> None:
        angles = torch.tensor([0.0, math.pi / 2, math.pi])
        about_vertical, about_x = rotations_about((0, 1, 0), angles), rotations_about((1, 0, 0), angles)
        for rotations, tilt in ((about_vertical, 0), (about_x, 120)):
            assert chairs.spread(rotations) == pytest.approx((90 + 180 + 90) / 3, abs=0.1)
            assert chairs.tilt(rotations) == pytest.approx(tilt, abs=0.1)

    def test_the_camera_shows_what_is_up_as_up(self, generator: torch.Generator) -> None:
        forms = SO3().sample(1, generator=generator).repeat(6, 1, 1)
        right, up, near = (chairs.camera(forms) @ forms[0])[:, 1]
        assert up > 0.85
        assert abs(right) < 1e-6
        assert near > 0
