"""One row of a table against the others, split by split: pure functions of records.

Rows share their splits, that is data, seeds and the order of batches. So their differences vary less than their
figures do, and a difference is judged by its own standard error.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from adacanon.reports.pages import render
from adacanon.reports.render import NOTHING, Line, markdown_lines
from adacanon.reports.summary import Record, figure_of

HOW_TO_READ = (
    "Mean of the differences over the splits that both rows have, with its standard error. It tells the chance of "
    "training, not that of the test samples, which all splits of a table on images or clouds share."
)

Figures = dict[tuple[str, str], dict[int, float]]
"""Row and column -> split -> figure."""


class Difference(NamedTuple):
    """The figure of a row minus that of another one, over the splits that both have.

    Attributes:
        mean: over the pairs.
        sem: the standard error of the mean; None for a single pair.
        pairs: splits that both rows have.
        positive: pairs in which the first row has the larger figure.
    """

    mean: float
    sem: float | None
    pairs: int
    positive: int


@dataclass(frozen=True)
class Comparison:
    """A row against others: other row -> column -> difference. Rows and columns without pairs are left out."""

    title: str
    row: str
    columns: Sequence[str]
    differences: dict[str, dict[str, Difference]]

    def as_json(self) -> dict[str, dict[str, dict[str, Any]]]:
        """other row -> column -> {"mean", "sem", "pairs", "positive"}"""
        return {
            row: {column: found._asdict() for column, found in columns.items()}
            for row, columns in self.differences.items()
        }


def compared(
    records: Sequence[Record],
    row: str,
    others: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
    metric: str = "accuracy",
) -> Comparison:
    """The figures of a row minus those of each other row, for every column that both have.

    Example:
        >>> run = lambda row, split, value: {"row": row, "column": "x", "split": split, "metrics": {"accuracy": value}}
        >>> records = [run("a", 0, 3.0), run("a", 1, 5.0), run("b", 0, 2.0), run("b", 1, 2.0), run("b", 2, 9.0)]
        >>> compared(records, "a", ["b"], ["x"]).differences["b"]["x"]
        Difference(mean=2.0, sem=1.0, pairs=2, positive=2)
    """
    found = _figures(records, metric)
    differences = {
        other: {
            column: difference
            for column in columns
            if (difference := _difference(found.get((row, column), {}), found.get((other, column), {})))
        }
        for other in others
        if other != row
    }
    return Comparison(title, row, columns, {other: cells for other, cells in differences.items() if cells})


def comparison_lines(comparison: Comparison) -> tuple[Line, ...]:
    """Headings, and one line of text fields per other row."""
    found = comparison.differences
    columns = [column for column in comparison.columns if any(column in cells for cells in found.values())]
    most = max((difference.pairs for cells in found.values() for difference in cells.values()), default=0)
    rows = [(other, *(_text(cells.get(column), most) for column in columns)) for other, cells in found.items()]
    return ((f"{comparison.row} minus", *columns), *rows)


def comparison_markdown(comparison: Comparison) -> str:
    """A report that stands on its own."""
    return "\n".join((f"# {comparison.title}", "", markdown_lines(comparison_lines(comparison)), "", HOW_TO_READ, ""))


def comparison_html(comparison: Comparison) -> str:
    """A page that stands on its own."""
    headings, *rows = comparison_lines(comparison)
    values = {"title": comparison.title, "headings": headings, "rows": rows, "how_to_read": HOW_TO_READ}
    return render("comparison.html", values)


def _figures(records: Sequence[Record], metric: str) -> Figures:
    found: Figures = {}
    for record in records:
        found.setdefault((record["row"], record["column"]), {})[record["split"]] = figure_of(record["metrics"], metric)
    return found


def _difference(own: Mapping[int, float], other: Mapping[int, float]) -> Difference | None:
    values = [own[split] - other[split] for split in sorted(own.keys() & other.keys())]
    if not values:
        return None
    sem = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None
    return Difference(statistics.fmean(values), sem, len(values), sum(value > 0 for value in values))


def _text(difference: Difference | None, most: int) -> str:
    """The number of pairs is told where it is not that of the other cells."""
    if difference is None:
        return NOTHING
    spread = "" if difference.sem is None else f" ± {difference.sem:.2f}"
    pairs = "" if difference.pairs == most else f" ({difference.pairs} of {most} pairs)"
    return f"{difference.mean:+.2f}{spread}{pairs}"
