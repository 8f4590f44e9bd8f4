"""How AC rows on clouds should search and train, decided on training shapes held out: no test shape is read."""

from dataclasses import replace

from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.methods import adaptive_row, all_frames_row, random_draws_row, rival_row, searching_row
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row, row_named
from adacanon.training.loop import TrainingControl

EVERY = 10


def variant(backbone: str, difference: str, search: str, *, forms: bool = True) -> Row:
    """The AC row of a backbone with another search, the same in all presets."""
    name, kinds = f"AC-{backbone} ({difference})", dict.fromkeys(("cpu", "paper"), search)
    row = searching_row(name, backbone, kinds, forms=forms)
    return replace(row, settings=row.preset_settings["cpu"], preset_settings={})


ROWS = (
    rival_row("PCA", "PointNet"),
    rival_row("PCA-FA", "PointNet"),
    all_frames_row("PointNet"),
    random_draws_row("PointNet"),
    adaptive_row("PointNet"),
    variant("PointNet", "whole clouds", "anchors"),
    variant("PointNet", "remembered", "remembered anchors"),
    variant("PointNet", "all forms", "calibrated anchors", forms=False),
    variant("PointNet", "not calibrated", "anchors on views"),
    rival_row("PCA", "DGCNN"),
    rival_row("CN", "DGCNN"),
    adaptive_row("DGCNN"),
    variant("DGCNN", "whole clouds", "anchors"),
    variant("DGCNN", "views", "calibrated anchors"),
)


def settings(row: Row, column: str, preset: str) -> Settings:
    """As in `modelnet`, and which shapes are held out."""
    return {**modelnet.settings(row, column, preset), "held_out": EVERY}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """As in `modelnet`, with the shapes held out in the place of the test shapes."""
    return modelnet.tested(run, *modelnet.trained(row_named(ROWS, run.row), run, control))


HELD_OUT = replace(
    modelnet.MODELNET,
    name="modelnet-held-out",
    title="ModelNet, how AC rows should search: accuracy on training shapes that are held out",
    rows=ROWS,
    splits=lambda row, column: 1,
    settings=settings,
    execute=execute,
    comparable=lambda options: False,
    presets=("cpu", "paper"),
    variants={},
)
