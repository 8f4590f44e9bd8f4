"""How the blended row of `qm9` should be set: temperatures and frames, on the validation part. No test molecule is
read.
"""

from dataclasses import replace

from adacanon.experiments.molecules import qm9
from adacanon.experiments.molecules.methods import ANY_ORDER, INFINITE, SORTED, blended_row
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row, row_named
from adacanon.training.loop import TrainingControl

CHOSEN_ON = ("gap", "dipole")
"""A scalar and a vector; polarizability takes what suits the gap."""

TEMPERATURES: tuple[float | str, ...] = (0.1, 1.0, INFINITE)


def variant(temperature: float | str, frames: int) -> Row:
    """A blended row, named after what it has of its own."""
    size = "mean" if temperature == INFINITE else f"temperature {temperature:g}"
    return blended_row(f"{size}; {frames} frames", temperature, frames)


ROWS = (*(variant(temperature, SORTED) for temperature in TEMPERATURES), variant(1.0, ANY_ORDER))


def settings(row: Row, column: str, preset: str) -> Settings:
    """As in `qm9`, and which part is held out."""
    return {**qm9.settings(row, column, preset), "held_out": "validation"}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """As in `qm9`, with the validation part in the place of the test part."""
    return qm9.trained_and_tested(row_named(ROWS, run.row), run, control)


QM9_VALIDATION = replace(
    qm9.QM9_TABLE,
    name="qm9-validation",
    title="QM9, temperature and frames of the blended answers: mean absolute error on the validation part",
    rows=ROWS,
    columns=tuple(column for column, target in qm9.COLUMNS.items() if target in CHOSEN_ON),
    splits=lambda row, column: 1,
    settings=settings,
    execute=execute,
)
