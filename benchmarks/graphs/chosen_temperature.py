"""Which loss and temperature A-NLSF takes by default, from the committed records of ``temperature-graphs``.

A cell is the accuracy of a row minus that of the row as it is (the maximum over refined draws, one-vs-rest), mean over
seeds, in points, with its standard error: rows of one seed share graphs, initialisation and batches. "all" is the mean
over the data sets, of each seed. The rule: the row with the largest mean over all is taken, unless it is above the row
as it is, or above the best row with the maximum, by no more than one standard error of the paired difference; then the
first of these that is so close is taken.
"""

import statistics
from collections.abc import Iterable
from pathlib import Path

from adacanon.experiments.catalogue import table_named
from adacanon.experiments.graphs.temperature import REFINED, TEMPERATURE_GRAPHS
from adacanon.runs.run import relevant
from benchmarks.frame import measure

RECORDS = Path(__file__).parents[2] / "results" / f"{TEMPERATURE_GRAPHS.name}.jsonl"
REFERENCE = f"{REFINED}; one-vs-rest"
MAXIMA = [row.name for row in TEMPERATURE_GRAPHS.rows if row.settings.get("temperature", 0.0) == 0]
ALL = "all"
Differences = dict[str, dict[str, list[float]]]
"""Row -> column -> by seed."""


def differences(records: Path = RECORDS) -> Differences:
    """Of every row and column, and of the mean over columns, for the seeds that row and reference have everywhere."""
    table = table_named(TEMPERATURE_GRAPHS.name, records.parent)
    found: dict[tuple[str, str], dict[int, float]] = {}
    for record in relevant(table.runs(), records):
        found.setdefault((record["row"], record["column"]), {})[record["split"]] = record["metrics"]["accuracy"]
    result: Differences = {}
    for row in table.row_names:
        cells = [found.get((name, column), {}) for column in table.columns for name in (row, REFERENCE)]
        seeds = sorted(set.intersection(*(set(cell) for cell in cells)))
        by_column = {
            column: [found[row, column][seed] - found[REFERENCE, column][seed] for seed in seeds]
            for column in table.columns
            if seeds
        }
        result[row] = {**by_column, ALL: [statistics.fmean(values) for values in zip(*by_column.values(), strict=True)]}
    return result


def standard_error(values: list[float]) -> float:
    """Of the mean."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("inf")


def chosen(found: Differences) -> str:
    """The row that the rule takes."""
    means = {row: statistics.fmean(columns[ALL]) for row, columns in found.items() if columns[ALL]}

    def largest(rows: Iterable[str]) -> str:
        return max(rows, key=lambda row: means[row])

    best, hard = largest(means), largest(row for row in means if row in MAXIMA)

    def close(row: str) -> bool:
        paired = [a - b for a, b in zip(found[best][ALL], found[row][ALL], strict=True)]
        return statistics.fmean(paired) <= standard_error(paired)

    return next(row for row in (REFERENCE, hard, best) if row == best or close(row))


def rows(records: Path = RECORDS) -> list[measure.Row]:
    """One for every row of the table."""
    return [
        {"A-NLSF minus as it is": row, **{column: _cell(values) for column, values in columns.items()}}
        for row, columns in differences(records).items()
        if columns[ALL]
    ]


def _cell(values: list[float]) -> str:
    return f"{statistics.fmean(values):+.1f} ± {standard_error(values):.1f}"


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    measure.report(rows(), title="Paired differences of accuracies, in points, with standard errors", path=options.json)
    print(f"\nchosen: {chosen(differences())}")


if __name__ == "__main__":
    main()
