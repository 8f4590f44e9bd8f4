"""The temperature of blended parts, chosen on the validation part of ShapeNet: no test shape is read."""

from dataclasses import replace

from adacanon.experiments.clouds import shapenet
from adacanon.experiments.clouds.methods import plain_row
from adacanon.experiments.clouds.shapenet import blended_row
from adacanon.runs.run import INFINITE, Run, Settings
from adacanon.runs.table import Row, row_named
from adacanon.training.loop import TrainingControl

FEW: Settings = {"points": 64, "epochs": 4, "held_out": True}
ROWS = (
    plain_row("PointNet"),
    *(blended_row("PointNet", temperature=temperature) for temperature in (0.0, 0.1, 0.3, 1.0, INFINITE)),
)


def settings(row: Row, column: str, preset: str) -> Settings:
    """As in `shapenet`, with fewer points and epochs, and which part is measured."""
    return {**shapenet.settings(row, column, preset), **FEW}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """As in `shapenet`, with the validation part in the place of the test part."""
    return shapenet.tested(row_named(ROWS, run.row), run, control)


SHAPENET_HELD_OUT = replace(
    shapenet.SHAPENET,
    name="shapenet-held-out",
    title="ShapeNet parts, the temperature of blended answers: mean IoU on the validation part",
    rows=ROWS,
    settings=settings,
    execute=execute,
    comparable=lambda options: False,
)
