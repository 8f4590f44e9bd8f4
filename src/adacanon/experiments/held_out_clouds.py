"""How AC rows on clouds should search and train, decided on training shapes held out: no test shape is read."""

from dataclasses import replace

from adacanon.experiments import modelnet
from adacanon.experiments.cloud_methods import DRAWN
from adacanon.experiments.run import Run, Settings
from adacanon.training.loop import Sitting

EVERY = 10
WHOLE, ALL, UNCALIBRATED = " (whole clouds)", " (all forms)", " (not calibrated)"
WITHOUT: dict[str, tuple[str, ...]] = {WHOLE: ("size", "calibration"), ALL: ("forms",), UNCALIBRATED: ("calibration",)}
"""What ends the name of a row -> the settings that it goes without."""

ROWS = (
    "PCA-PointNet",
    "PCA-FA-PointNet",
    f"AC-PointNet{DRAWN}",
    "AC-PointNet",
    *(f"AC-PointNet{variant}" for variant in WITHOUT),
    "CN-DGCNN",
    "AC-DGCNN",
    f"AC-DGCNN{WHOLE}",
)


def settings(row: str, column: str, preset: str) -> Settings:
    """Those of `modelnet` without what the row goes without, and which shapes are held out."""
    method, without = row_of_modelnet(row)
    kept = {name: value for name, value in modelnet.settings(method, column, preset).items() if name not in without}
    return {**kept, "held_out": EVERY}


def row_of_modelnet(row: str) -> tuple[str, tuple[str, ...]]:
    """The row of `modelnet` that a row varies, and the settings that it goes without.

    Example:
        >>> row_of_modelnet("AC-PointNet (all forms)")
        ('AC-PointNet', ('forms',))
    """
    for variant, without in WITHOUT.items():
        if row.endswith(variant):
            return row.removesuffix(variant), without
    return row, ()


def execute(run: Run, sitting: Sitting) -> dict[str, float]:
    """As in `modelnet`, with the shapes held out in the place of the test shapes."""
    return modelnet.execute(replace(run, row=row_of_modelnet(run.row)[0]), sitting)


HELD_OUT = replace(
    modelnet.MODELNET,
    name="modelnet-held-out",
    title="ModelNet, how AC rows should search: accuracy on training shapes that are held out",
    rows=ROWS,
    splits=lambda row, column: 1,
    settings=settings,
    execute=execute,
    notes=(
        "Every tenth training shape stands in the place of the test shapes, and the networks are trained on the "
        "others, with the settings of `modelnet`; no test shape is read.",
        "In the preset `cpu` the rows AC search the 24 rotations into principal axes, in training on the 32 farthest "
        "points with calibrated scores, and train on two forms of a shape. The rows below leave out one of these: "
        "'(whole clouds)' searches on all points in training, '(all forms)' trains on the forms of all classes, '(not "
        "calibrated)' compares views without a correction.",
        *modelnet.PROTOCOL[:3],
        modelnet.ALSO_NOTE,
    ),
    comparable=lambda options: False,
)
