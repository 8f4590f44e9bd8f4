"""How the rows of `qm9` should be set: learning rates of the two networks, and temperature and frames of the blended
row. On the validation part; no test molecule is read.
"""

from dataclasses import replace
from itertools import product

from adacanon.experiments.molecules import qm9
from adacanon.experiments.molecules.methods import ANY_ORDER, INFINITE, SORTED, blended_row
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row, row_named
from adacanon.training.loop import TrainingControl

BLENDED_ON = ("gap", "dipole")
"""A scalar and a vector; the blended row has for polarizability what suits the gap."""

LEARNING_RATES = (1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2)
TEMPERATURES: tuple[float | str, ...] = (0.1, 1.0, INFINITE)

COMPARED_AT = 2e-3
"""The learning rate at which temperatures and frames were compared."""


def learning_row(name: str, method: str, rate: float) -> Row:
    """A row of `qm9` with a learning rate of its own."""
    return Row(f"{name}; learning rate {rate:g}", method, settings={"learning_rate": rate})


def variant(temperature: float | str, frames: int) -> Row:
    """A blended row, named after what it has of its own."""
    size = "mean" if temperature == INFINITE else f"temperature {temperature:g}"
    row = blended_row(f"AC blended; {size}; {frames} frames", temperature, frames)
    return replace(row, settings={**row.settings, "learning_rate": COMPARED_AT})


NETWORKS = (("PCA aligned", "PCA"), ("EGNN", "EGNN"))
"""The cheapest row on the plain network that keeps the symmetry, and the rival."""

BLENDED = (*(variant(temperature, SORTED) for temperature in TEMPERATURES), variant(1.0, ANY_ORDER))
ROWS = (*(learning_row(*network, rate) for network, rate in product(NETWORKS, LEARNING_RATES)), *BLENDED)


def splits(row: Row, column: str) -> int:
    """One, where the row is compared on the target. EGNN on polarizability has two, because at some learning rates one
    training of two is unstable there.
    """
    if row in BLENDED:
        return int(qm9.COLUMNS[column] in BLENDED_ON)
    return 2 if (row.method, qm9.COLUMNS[column]) == ("EGNN", "polarizability") else 1


def settings(row: Row, column: str, preset: str) -> Settings:
    """As in `qm9`, and which part is held out."""
    return {**qm9.settings(row, column, preset), "held_out": "validation"}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """As in `qm9`, with the validation part in the place of the test part."""
    return qm9.trained_and_tested(row_named(ROWS, run.row), run, control)


QM9_VALIDATION = replace(
    qm9.QM9_TABLE,
    name="qm9-validation",
    title="QM9, learning rates, temperature and frames of the rows of `qm9`: error on the validation part",
    rows=ROWS,
    splits=splits,
    settings=settings,
    execute=execute,
)
