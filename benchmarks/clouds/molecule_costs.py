"""What the rows of `qm9` cost, and how far they are from the symmetry, from the committed records: means over seeds.

The equivariance error is that of the worst column, in units of the spread of the target; forms stand in the order of
the columns.
"""

import statistics
from pathlib import Path

from adacanon.experiments.molecules.qm9 import QM9_TABLE
from adacanon.runs.run import relevant
from benchmarks.frame import measure

RESULTS = Path(__file__).parents[2] / "results"


def rows() -> list[measure.Row]:
    """One line for every row of the table."""
    records = relevant(QM9_TABLE.runs(), RESULTS / "qm9.jsonl")
    return [_line(name, [record for record in records if record["row"] == name]) for name in QM9_TABLE.row_names]


def _line(name: str, records: list[dict]) -> measure.Row:
    def means(metric: str) -> list[float]:
        """Of every column that has records with this metric."""
        found = (
            [
                record["metrics"][metric]
                for record in records
                if record["column"] == column and metric in record["metrics"]
            ]
            for column in QM9_TABLE.columns
        )
        return [statistics.fmean(values) for values in found if values]

    return {
        "row": name,
        "parameters": f"{max(means('parameters')):,.0f}" if records else None,
        "training step": f"{statistics.fmean(means('step_passes')):.1f}" if records else None,
        "evaluation": f"{statistics.fmean(means('evaluation_passes')):.1f}" if records else None,
        "equivariance error": f"{max(means('equivariance')):.1e}" if records else None,
        "effective forms": ", ".join(f"{mean:.1f}" for mean in means("effective_forms")) or None,
    }


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    measure.report(rows(), title="Costs in those of the plain network, and equivariance errors", path=options.json)


if __name__ == "__main__":
    main()
