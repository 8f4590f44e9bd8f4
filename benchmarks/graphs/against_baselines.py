"""A-NLSF against every other row of ``tu``, split by split, from the committed records.

A cell is the mean over the splits that both have run of the accuracy of A-NLSF minus that of the row, in points, with
its standard error: rows share their splits, so differences vary less than accuracies do.
"""

import statistics
from pathlib import Path

from adacanon.experiments.catalogue import table_named
from adacanon.experiments.graphs.tu import TU
from adacanon.runs.run import relevant
from benchmarks.frame import measure

RECORDS = Path(__file__).parents[2] / "results" / "tu.jsonl"
METHOD = "A-NLSF"
Accuracies = dict[tuple[str, str], dict[int, float]]
"""Row and column -> split -> accuracy."""


def rows(records: Path = RECORDS) -> list[measure.Row]:
    """One for every method that has records."""
    found: Accuracies = {}
    for record in relevant(table_named(TU.name, records.parent).runs(), records):
        found.setdefault((record["row"], record["column"]), {})[record["split"]] = record["metrics"]["accuracy"]
    others = [row for row in TU.row_names if row != METHOD and any((row, column) in found for column in TU.columns)]
    return [
        {"A-NLSF minus": row, **{column: _difference(found, row, column) for column in TU.columns}} for row in others
    ]


def _difference(found: Accuracies, row: str, column: str) -> str:
    own, other = (found.get((name, column), {}) for name in (METHOD, row))
    differences = [own[split] - other[split] for split in sorted(own.keys() & other.keys())]
    if len(differences) < 2:
        return "–"
    error = statistics.stdev(differences) / len(differences) ** 0.5
    return f"{statistics.fmean(differences):+.1f} ± {error:.1f}"


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    measure.report(rows(), title="Paired differences of accuracies, in points, with standard errors", path=options.json)


if __name__ == "__main__":
    main()
