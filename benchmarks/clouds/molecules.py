"""The rows of `qm9` with three digits, their cost, and how far they are from the symmetry, from the committed records.

Errors are means and standard deviations between seeds. The equivariance error is that of the worst column, in units of
the spread of the target; effective forms stand in the order of the columns.
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

from adacanon.experiments.molecules.qm9 import QM9_TABLE
from adacanon.runs.run import relevant
from adacanon.runs.table import Table
from benchmarks.frame import measure

RESULTS = Path(__file__).parents[2] / "results"
Values = dict[str, list[list[float]]]
"""By metric, for every column of a table the values of its records."""


def rows() -> list[measure.Row]:
    """One line for every row of the table."""
    return [errors(values, QM9_TABLE, name) | _cost(values) for name, values in values_of(QM9_TABLE)]


def values_of(table: Table) -> list[tuple[str, Values]]:
    """The names of all rows with what their records hold."""
    records = relevant(table.runs(), RESULTS / f"{table.name}.jsonl")
    metrics = sorted({metric for record in records for metric in record["metrics"]})

    def values(row: str, column: str, metric: str) -> list[float]:
        own = (record["metrics"] for record in records if (record["row"], record["column"]) == (row, column))
        return [found[metric] for found in own if metric in found]

    return [
        (row, {metric: [values(row, column, metric) for column in table.columns] for metric in metrics})
        for row in table.row_names
    ]


def errors(values: Values, table: Table, name: str) -> measure.Row:
    """The error in every column, and how many forms share the weight of a blended answer."""
    found = values.get("error", [[] for _ in table.columns])
    forms = ", ".join(
        f"{statistics.fmean(of_column):.1f}" for of_column in values.get("effective_forms", []) if of_column
    )
    columns = {column: _with_spread(of_column) for column, of_column in zip(table.columns, found, strict=True)}
    return {"method": name, **columns, "effective forms": forms or None}


def _cost(values: Values) -> measure.Row:
    means = {metric: [statistics.fmean(v) for v in columns if v] for metric, columns in values.items()}
    if not means.get("error"):
        return dict.fromkeys(("equivariance error", "training step", "evaluation", "parameters"))
    return {
        "equivariance error": f"{max(means['equivariance']):.1e}",
        "training step": f"{statistics.fmean(means['step_passes']):.1f}",
        "evaluation": f"{statistics.fmean(means['evaluation_passes']):.1f}",
        "parameters": f"{max(means['parameters']):,.0f}",
    }


def _with_spread(values: Sequence[float]) -> str | None:
    if not values:
        return None
    mean = f"{statistics.fmean(values):.3f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.3f}"


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    measure.report(rows(), title="Molecules: errors, equivariance and cost", path=options.json)


if __name__ == "__main__":
    main()
