"""How AC rows on clouds should search and train, decided on training shapes held out: no test shape is read."""

from dataclasses import replace

from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.methods import ANY_ORDER, DRAWN, method_of
from adacanon.experiments.clouds.searches import ANCHORED, FEW, REMEMBERED
from adacanon.runs.run import Run, Settings
from adacanon.training.loop import Sitting

EVERY = 10
WHOLE, VIEWS, KNOWN = " (whole clouds)", " (views)", " (remembered)"
ALL, UNCALIBRATED = " (all forms)", " (not calibrated)"
VARIANTS: dict[str, Settings] = {
    ALL: {"anchors": 24, "size": 32, "calibration": 4},
    UNCALIBRATED: {"anchors": 24, "size": 32, **FEW},
    VIEWS: ANCHORED,
    KNOWN: REMEMBERED,
    WHOLE: {"anchors": 24, **FEW},
}
"""What ends the name of an AC row -> how it searches and trains, instead of as in `modelnet`."""

ROWS = (
    "PCA-PointNet",
    "PCA-FA-PointNet",
    f"PCA-FA-PointNet{ANY_ORDER}",
    f"AC-PointNet{DRAWN}",
    "AC-PointNet",
    *(f"AC-PointNet{variant}" for variant in (WHOLE, KNOWN, ALL, UNCALIBRATED)),
    "PCA-DGCNN",
    "CN-DGCNN",
    "AC-DGCNN",
    *(f"AC-DGCNN{variant}" for variant in (WHOLE, VIEWS)),
)


def settings(row: str, column: str, preset: str) -> Settings:
    """Those of `modelnet`, or of the backbone there and the search of the row; and which shapes are held out."""
    name, variant = row_of_modelnet(row)
    if variant is None:
        return {**modelnet.settings(name, column, preset), "held_out": EVERY}
    return {**modelnet.settings(method_of(name).backbone, column, preset), **VARIANTS[variant], "held_out": EVERY}


def row_of_modelnet(row: str) -> tuple[str, str | None]:
    """The row of `modelnet` that a row is or varies, and what ends its name if it varies one.

    Example:
        >>> row_of_modelnet("AC-PointNet (all forms)"), row_of_modelnet("PCA-DGCNN")
        (('AC-PointNet', ' (all forms)'), ('PCA-DGCNN', None))
    """
    variant = next((variant for variant in VARIANTS if row.endswith(variant)), None)
    return row.removesuffix(variant or ""), variant


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
        "In the preset `cpu` the rows AC search the 24 rotations into principal axes and train on two forms of a "
        "shape. AC-PointNet compares poses in training on the 32 farthest points with calibrated scores, as "
        "'AC-DGCNN (views)' does; '(whole clouds)' compares them on all points; '(remembered)', and AC-DGCNN without "
        "an addition, on all points too, but only 6 of the 24, others at every step, and up to 4 that were the best "
        "for one of the strongest classes when the shape was last seen, which keeps its pose for that. '(all forms)' "
        "is AC-PointNet trained on the forms of all classes, '(not calibrated)' without the correction of scores.",
        *modelnet.PROTOCOL[:3],
        modelnet.ALSO_NOTE,
    ),
    comparable=lambda options: False,
)
