"""How far the paper's figures lie from ours if another epoch is selected, from the committed records of ``tu``.

Over the methods that both have run on a data set: the mean difference, ours minus the paper's, for the epoch of best
validation accuracy (the one reported), the epoch of smallest validation loss, and the epoch that is best on the test
part, which is no result.
"""

import math
import statistics
from pathlib import Path

from adacanon.experiments.catalogue import table_named
from adacanon.experiments.graphs.tu import TU
from adacanon.reports.summary import Cell
from adacanon.runs.runner import summary_of
from benchmarks.frame import measure

RECORDS = Path(__file__).parents[2] / "results" / "tu.jsonl"
METHOD = "A-NLSF"


def rows(records: Path = RECORDS) -> list[measure.Row]:
    """For every data set the baselines together, then A-NLSF."""
    table = table_named(TU.name, records.parent)
    cells = summary_of(table, table.runs(), records).cells
    found: list[measure.Row] = []
    for column in TU.columns:
        both = {row: cells[row][column] for row in cells if cells[row][column].difference is not None}
        baselines = [cell for row, cell in both.items() if row != METHOD]
        own = [cell for row, cell in both.items() if row == METHOD]
        for name, group in ((f"{len(baselines)} baselines", baselines), (METHOD, own)):
            found += [{"data set": column, "method": name, **_differences(group)}] if group else []
    return found


def _differences(group: list[Cell]) -> measure.Row:
    selected = {"selected epoch": [cell.mean for cell in group]}
    others = {heading: [cell.extra_metrics[i] for cell in group] for i, (_, heading) in enumerate(TU.extra_metrics)}
    return {name: _mean_difference(values, group) for name, values in (selected | others).items()}


def _mean_difference(values: list[float | None], group: list[Cell]) -> float:
    pairs = [(v, cell.paper) for v, cell in zip(values, group, strict=True)]
    known = [v - paper for v, paper in pairs if v is not None and paper is not None]
    return statistics.fmean(known) if known else math.nan


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    measure.report(rows(), title="Ours minus the paper's accuracy, in points", path=options.json)


if __name__ == "__main__":
    main()
