"""Whether speed costs accuracy: paired differences between fast and exact settings, from the committed records.

Runs with the same seed or split share initialisation, data and the order of batches. The bound is one-sided, from
Student's distribution over the pairs: with 95 % confidence the true difference lies above it.
"""

import math
import statistics
from pathlib import Path

from scipy.stats import t as student

from adacanon.experiments.fast_clouds import FAST_CLOUDS
from adacanon.experiments.fast_graphs import FAST_GRAPHS
from adacanon.experiments.run import Table, relevant
from benchmarks import measure

RESULTS = Path(__file__).parents[1] / "results"


def differences(table: Table, column: str) -> list[float]:
    """Fast minus exact, in points, for every split that has both."""
    by_row: dict[str, dict[int, float]] = {"exact": {}, "fast": {}}
    for record in relevant(table.runs(columns=(column,)), RESULTS / f"{table.name}.jsonl"):
        kind = record["row"].rpartition(" ")[2].strip("()")
        if kind in by_row:
            by_row[kind][record["split"]] = record["metrics"]["accuracy"]
    both = sorted(by_row["exact"].keys() & by_row["fast"].keys())
    return [by_row["fast"][split] - by_row["exact"][split] for split in both]


def lower_bound(values: list[float], *, confidence: float = 0.95) -> float:
    """Of the mean; minus infinity for fewer than two values."""
    if len(values) < 2:
        return -math.inf
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values) - float(student.ppf(confidence, len(values) - 1)) * spread


def rows() -> list[measure.Row]:
    found = []
    for table in (FAST_CLOUDS, FAST_GRAPHS):
        for column in table.columns:
            values = differences(table, column)
            found.append(
                {
                    "table": table.name,
                    "data": column,
                    "pairs": len(values),
                    "fast - exact": statistics.mean(values) if values else math.nan,
                    "lower 95 % bound": lower_bound(values),
                }
            )
    return found


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    measure.report(rows(), title="Differences of accuracy in points", path=options.json)


if __name__ == "__main__":
    main()
