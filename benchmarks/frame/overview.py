"""The small table of the README, from the committed records: one line per field of application.

A line has a plain network, adaptive canonicalization, and the strongest other method of the same table and backbone,
whichever of the two is ahead.
"""

from dataclasses import dataclass
from pathlib import Path

from adacanon.experiments.catalogue import table_named
from adacanon.reports.summary import Cell
from adacanon.runs.runner import summary_of
from benchmarks.frame.measure import Row

RESULTS = Path(__file__).parents[2] / "results"


@dataclass(frozen=True)
class Line:
    """Which rows of which table stand side by side, and what the control is called in plain words."""

    task: str
    table: str
    column: str
    plain: str
    adaptive: str
    control: str
    control_in_words: str


LINES = (
    Line(
        "ModelNet10, rotated",
        "modelnet",
        "accuracy",
        "PointNet",
        "AC-PointNet (soft)",
        "PCA-FA-PointNet",
        "PCA frame averaging",
    ),
    Line(
        "CIFAR-10, windows",
        "cifar",
        "CIFAR-10",
        "Vanilla",
        "Truncation canonicalization (soft)",
        "Eight random crops + test-time mean",
        "random crops, mean",
    ),
    Line(
        "MNIST, rotated",
        "rotated-mnist",
        "any angle",
        "CNN",
        "AC-CNN (cross-entropy)",
        "CNN (augmented)",
        "augmentation",
    ),
    Line("MUTAG, graphs", "tu", "MUTAG", "GIN", "A-NLSF", "OAP+GIN", "OAP+GIN"),
    Line("ENZYMES, graphs", "tu", "ENZYMES", "GIN", "A-NLSF", "ChebNet", "ChebNet"),
)


def rows() -> list[Row]:
    """Accuracy in percent, with the standard error of the mean."""
    return [_row(line) for line in LINES]


def _row(line: Line) -> Row:
    table = table_named(line.table, RESULTS)
    cells = summary_of(table, table.runs(), RESULTS / f"{line.table}.jsonl").cells
    plain, adaptive, control = (_text(cells[row][line.column]) for row in (line.plain, line.adaptive, line.control))
    return {
        "task": line.task,
        "plain network": plain,
        "adaptive": adaptive,
        "control": f"{control} ({line.control_in_words})",
    }


def _text(cell: Cell) -> str:
    return f"{cell.mean:.1f} ± {cell.sem:.1f}"
