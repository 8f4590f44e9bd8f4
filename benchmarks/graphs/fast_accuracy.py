"""Whether speed costs accuracy: paired differences between settings, from the committed records.

Runs with the same seed or split share initialisation, data and the order of batches. The bound is one-sided, from
Student's distribution over the pairs: with 95 % confidence the true difference lies above it.
"""

import math
import statistics
from pathlib import Path

from scipy.stats import t as student

from adacanon.experiments.catalogue import table_named
from adacanon.experiments.clouds.fast_clouds import FAST_CLOUDS
from adacanon.experiments.graphs.fast_graphs import FAST_GRAPHS
from adacanon.runs.run import relevant
from adacanon.runs.table import Table
from benchmarks.frame import measure

RESULTS = Path(__file__).parents[2] / "results"


PAIRS = (
    (FAST_CLOUDS, "AC-PointNet (fast)", "AC-PointNet (exact)"),
    (FAST_GRAPHS, "A-NLSF (fast)", "A-NLSF (exact)"),
    (FAST_GRAPHS, "A-NLSF (fast)", "A-NLSF (exact; long steps)"),
    (FAST_GRAPHS, "A-NLSF (fast)", "A-NLSF (fast; full precision)"),
    (FAST_GRAPHS, "A-NLSF (five short steps)", "A-NLSF (exact)"),
    (FAST_GRAPHS, "A-NLSF (one short step)", "A-NLSF (exact)"),
)
"""Tables with a row and the one that it is compared with. The last two say what shared draws and few steps cost."""


def differences(table: Table, column: str, row: str, reference: str) -> list[float]:
    """Row minus reference, in points, for every split that has both."""
    runs = table_named(table.name, RESULTS).runs(rows=(row, reference), columns=(column,))
    found: dict[str, dict[int, float]] = {row: {}, reference: {}}
    for record in relevant(runs, RESULTS / f"{table.name}.jsonl"):
        found[record["row"]][record["split"]] = record["metrics"]["accuracy"]
    both = sorted(found[row].keys() & found[reference].keys())
    return [found[row][split] - found[reference][split] for split in both]


def lower_bound(values: list[float], *, confidence: float = 0.95) -> float:
    """Of the mean; minus infinity for fewer than two values."""
    if len(values) < 2:
        return -math.inf
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values) - float(student.ppf(confidence, len(values) - 1)) * spread


def rows() -> list[measure.Row]:
    found = []
    for table, row, reference in PAIRS:
        for column in table.columns:
            values = differences(table, column, row, reference)
            found.append(
                {
                    "data": column,
                    "row": row,
                    "minus": reference,
                    "pairs": len(values),
                    "difference": statistics.mean(values) if values else math.nan,
                    "lower 95 % bound": lower_bound(values),
                }
            )
    return found


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    measure.report(rows(), title="Differences of accuracy in points", path=options.json)


if __name__ == "__main__":
    main()
