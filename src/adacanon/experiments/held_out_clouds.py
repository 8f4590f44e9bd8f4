"""How AC rows on clouds should search and train, decided on training shapes held out: no test shape is read."""

from dataclasses import replace

from adacanon.experiments import modelnet
from adacanon.experiments.cloud_methods import ANY_ORDER, DRAWN
from adacanon.experiments.cloud_searches import REMEMBERED
from adacanon.experiments.run import Run, Settings
from adacanon.training.loop import Sitting

EVERY = 10
WHOLE, ALL, UNCALIBRATED = " (whole clouds)", " (all forms)", " (not calibrated)"
FINER, KNOWN = " (views of 64)", " (remembered)"
VARIANTS: dict[str, Settings] = {
    WHOLE: {"size": None, "calibration": None},
    ALL: {"forms": None},
    UNCALIBRATED: {"calibration": None},
    FINER: {"size": 64},
    KNOWN: {"size": None, "calibration": None, **REMEMBERED},
}
"""What ends the name of a row -> the settings that it changes; it goes without those that are None."""

ROWS = (
    "PCA-PointNet",
    "PCA-FA-PointNet",
    f"PCA-FA-PointNet{ANY_ORDER}",
    f"AC-PointNet{DRAWN}",
    "AC-PointNet",
    *(f"AC-PointNet{variant}" for variant in (WHOLE, ALL, UNCALIBRATED)),
    "PCA-DGCNN",
    "CN-DGCNN",
    "AC-DGCNN",
    *(f"AC-DGCNN{variant}" for variant in (FINER, KNOWN, WHOLE)),
)


def settings(row: str, column: str, preset: str) -> Settings:
    """Those of `modelnet` with what the row changes, and which shapes are held out."""
    method, changes = row_of_modelnet(row)
    changed = {**modelnet.settings(method, column, preset), **changes, "held_out": EVERY}
    return {name: value for name, value in changed.items() if value is not None}


def row_of_modelnet(row: str) -> tuple[str, Settings]:
    """The row of `modelnet` that a row varies, and the settings that it changes.

    Example:
        >>> row_of_modelnet("AC-PointNet (all forms)")
        ('AC-PointNet', {'forms': None})
    """
    for variant, changes in VARIANTS.items():
        if row.endswith(variant):
            return row.removesuffix(variant), changes
    return row, {}


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
        "points with calibrated scores, and train on two forms of a shape. The rows below change one of these: "
        "'(whole clouds)' searches on all points in training, '(views of 64)' on 64, '(remembered)' on all points "
        "among 6 of the 24 rotations, others at every step, and up to 4 that were the best for one of the strongest "
        "classes when the shape was last seen, which keeps its pose for that; '(all forms)' trains on the forms of all "
        "classes, '(not calibrated)' compares views without a correction.",
        *modelnet.PROTOCOL[:3],
        modelnet.ALSO_NOTE,
    ),
    comparable=lambda options: False,
)
