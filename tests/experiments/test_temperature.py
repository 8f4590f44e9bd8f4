"""The table of temperatures: every row of every column trains, on samples held out, and the figure is drawn from it."""

import math
from pathlib import Path

import pytest
import torch

from adacanon.data.images import ImageDataset, Images
from adacanon.data.modelnet import ModelNet
from adacanon.experiments.clouds import soft_clouds
from adacanon.experiments.figures import write_figure
from adacanon.experiments.images import soft_digits
from adacanon.experiments.images.soft_crops import shifted
from adacanon.experiments.temperature import ROWS, TEMPERATURE, execute, settings, splits
from adacanon.runs.run import Run
from adacanon.training.loop import TrainingControl
from adacanon.training.records import append_record
from cases.small_clouds import rods_and_discs

SMALL = {
    "clouds": {"epochs": 1, "batch": 8, "classes": 2, "points": 48, "widths": [8, 16], "head": [8]},
    "digits": {"epochs": 1, "batch": 8, "train": 16, "held_out": 12, "angles": 3, "draws": 2},
}


class Closed(Images):
    """A part that nobody may read."""

    def scaled(self, rows: object = None) -> torch.Tensor:
        raise AssertionError("a test sample was read")


def bars(samples: int) -> Images:
    labels = torch.arange(samples) % 2
    pixels = torch.zeros(samples, 1, 12, 12, dtype=torch.uint8)
    pixels[labels == 0, :, 2:4, 3:9] = 250
    pixels[labels == 1, :, 7:9, 3:9] = 250
    return Images(pixels, labels, torch.arange(samples))


@pytest.fixture(autouse=True)
def _small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes, digits = rods_and_discs(32, 0), bars(40)
    closed = Closed(digits.pixels, digits.labels, digits.index)
    unread = rods_and_discs(4, 1)
    unread.points.fill_(math.nan)  # a training or a score with one of them fails
    monkeypatch.setattr(soft_clouds, "modelnet", lambda *which: ModelNet(shapes, unread, ("rod", "disc")))
    monkeypatch.setattr(
        soft_digits, "mnist", lambda: ImageDataset("mnist", digits, closed, ("above", "below"), subset=True)
    )
    monkeypatch.setattr(soft_clouds, "STEPS", 4)
    monkeypatch.setattr(soft_digits, "STEPS", 3)


def run_of(row: str, column: str) -> Run:
    options = {**settings(TEMPERATURE.row(row), column, "cpu"), **SMALL[column]}
    return Run.of("temperature", row, column, 0, options)


@pytest.mark.parametrize("column", list(SMALL))
@pytest.mark.parametrize("row", [row.name for row in ROWS])
def test_a_row_trains_on_samples_that_are_no_test_samples(row: str, column: str) -> None:
    if not splits(TEMPERATURE.row(row), column):
        pytest.skip("the column has no such row")
    figures = execute(run_of(row, column), TrainingControl())
    assert all(math.isfinite(figure) for figure in figures.values())
    assert {"accuracy", "calibration_error", "scaled_calibration_error", "moved", "jump"} <= set(figures)
    most = {"clouds": TEMPERATURE.row(row).settings.get("frames", 4), "digits": 3}[column]
    assert 1 <= figures["effective_forms"] <= most + 1e-4


def test_every_fold_of_the_clouds_is_held_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[torch.Tensor] = []
    kept = soft_clouds.rotated_clouds
    monkeypatch.setattr(
        soft_clouds,
        "rotated_clouds",
        lambda shapes, seed: held.append([int(n) for n in shapes.test.ids]) or kept(shapes, seed=seed),
    )
    run = run_of("mean; cross-entropy", "clouds")
    for split in range(4):
        execute(Run.of(run.table, run.row, run.column, split, run.options()), TrainingControl())
    assert sorted(n for fold in held for n in fold) == list(range(32))


def test_the_ends_of_the_dial_have_no_number() -> None:
    names = [row.name for row in ROWS]
    assert "maximum; one-vs-rest" in names
    assert "mean; cross-entropy" in names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("pixels", [0.0, 1.0, 3.0])
def test_shifts_move_images_to_the_right(pixels: float) -> None:
    images = torch.rand(2, 3, 8, 8)
    moved = shifted(images, torch.full((2,), pixels))
    torch.testing.assert_close(moved[..., round(pixels) :], images[..., : 8 - round(pixels)])
    torch.testing.assert_close(moved[..., : round(pixels)], images[..., :1].expand(-1, -1, -1, round(pixels)))


def test_the_figure_is_drawn_from_records(tmp_path: Path) -> None:
    for run in TEMPERATURE.runs(columns=("clouds",), splits=2):
        metrics = {key: 1.0 for key, _ in TEMPERATURE.extra_metrics} | {"accuracy": 90.0 + run.split}
        record = {"key": run.key, "row": run.row, "column": run.column, "split": run.split, "seconds": 1.0}
        append_record(tmp_path / "temperature.jsonl", record | {"settings": run.options(), "metrics": metrics})
    (path,) = write_figure("temperature", tmp_path, tmp_path, preset="cpu")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert len(path.read_bytes()) < 200_000
