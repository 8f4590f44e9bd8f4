"""From records to a table of figures: pure functions, no training."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adacanon.errors import DataError

Record = Mapping[str, Any]
"""A line of a file of records, see ``training.records``."""


@dataclass(frozen=True)
class Cell:
    """One figure of a table.

    Attributes:
        paper: the published figure, with its plus or minus in ``paper_spread``.
        mean: over the splits that were run; ``std`` is the spread between splits, ``sem`` the standard error of the
            mean.
        n: splits that were run, of the ``expected`` ones.
        extra_metrics: means of further metrics, in the order of the summary's headings.
        comparable: whether the published figure is for the same task.
    """

    paper: float | None
    paper_spread: float | None
    mean: float | None
    std: float | None
    sem: float | None
    n: int
    expected: int
    extra_metrics: tuple[float | None, ...] = ()
    comparable: bool = True

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's, where both are of the same task."""
        if self.mean is None or self.paper is None or not self.comparable:
            return None
        return self.mean - self.paper


@dataclass(frozen=True)
class Summary:
    """A whole table: row -> column -> cell, with the time that its runs took and the notes that go with it."""

    title: str
    cells: dict[str, dict[str, Cell]]
    hours: float
    notes: tuple[str, ...]
    extra_metrics: tuple[str, ...] = ()

    @property
    def single(self) -> bool:
        """Whether the table has one column only."""
        return len({column for columns in self.cells.values() for column in columns}) == 1

    def missing(self) -> list[str]:
        """Cells with fewer runs than expected."""
        return [
            f"{row} / {column}: {cell.n} of {cell.expected}"
            for row, columns in self.cells.items()
            for column, cell in columns.items()
            if cell.n < cell.expected
        ]

    def as_json(self) -> dict[str, dict[str, dict[str, Any]]]:
        """row -> column -> {"paper", "mean", "std", "sem", "n", "expected"}, and further metrics by their headings"""
        names = ("paper", "mean", "std", "sem", "n", "expected")

        def figures(cell: Cell) -> dict[str, Any]:
            return {name: getattr(cell, name) for name in names} | dict(
                zip(self.extra_metrics, cell.extra_metrics, strict=True)
            )

        return {row: {column: figures(cell) for column, cell in columns.items()} for row, columns in self.cells.items()}


def summarise(
    title: str,
    records: Sequence[Record],
    *,
    expected: Mapping[tuple[str, str], int],
    published: Mapping[str, Mapping[str, Sequence[float | None]]],
    notes: tuple[str, ...] = (),
    metric: str = "accuracy",
    extra_metrics: tuple[tuple[str, str], ...] = (),
    comparable: bool = True,
) -> Summary:
    """Gather the records of a table; ``expected`` says how many runs each (row, column) should have.

    Args:
        metric: the figure that is shown with its spread.
        extra_metrics: further metrics and their headings, of which the means are shown.
        comparable: whether the paper's figures are for the same task, so that a difference means something.
    """
    cells: dict[str, dict[str, Cell]] = {}
    for (row, column), count in expected.items():
        metrics = [r["metrics"] for r in records if (r["row"], r["column"]) == (row, column)]
        further = tuple(_mean([figure_of(m, name) for m in metrics if name in m]) for name, _ in extra_metrics)
        values, paper = [figure_of(m, metric) for m in metrics], published.get(row, {}).get(column)
        cells.setdefault(row, {})[column] = _cell(values, count, paper, further, comparable)
    hours = sum(figure_of(r, "seconds") for r in records) / 3600
    return Summary(title, cells, hours, notes, tuple(heading for _, heading in extra_metrics))


def figure_of(metrics: Mapping[str, Any], name: str) -> float:
    """One of the figures of a record, a finite number."""
    value = metrics.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise DataError(
            f"A record must hold {name!r} as a finite number, got {value!r} among "
            f"{', '.join(metrics) or 'none'}. Hint: restore the file of records from git, or remove the line"
        )
    return value


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _cell(
    values: Sequence[float],
    expected: int,
    paper: Sequence[float | None] | None,
    extra_metrics: tuple[float | None, ...],
    comparable: bool,
) -> Cell:
    std = statistics.stdev(values) if len(values) > 1 else None
    return Cell(
        paper=None if paper is None else paper[0],
        paper_spread=None if paper is None else paper[1],
        mean=_mean(values),
        std=std,
        sem=None if std is None else std / math.sqrt(len(values)),
        n=len(values),
        expected=expected,
        extra_metrics=extra_metrics,
        comparable=comparable,
    )
