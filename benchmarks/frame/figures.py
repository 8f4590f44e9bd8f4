"""Draw the figures of the reports from the committed records, into results/figures."""

from pathlib import Path

from adacanon.experiments.toy.sensitivity import TOY_SENSITIVITY, panels, usual
from adacanon.files import write_whole
from adacanon.reports.sensitivity_figure import draw
from adacanon.runs.runner import summary_of

RESULTS = Path(__file__).parents[2] / "results"


def toy_sensitivity(results: Path) -> bytes:
    """Panels for grid size, period, noise and width."""
    table = TOY_SENSITIVITY
    summary = summary_of(table, table.runs(), results / f"{table.name}.jsonl")
    return draw(panels(summary), usual=usual(), logarithmic=("noise", "hidden"))


def main(results: Path = RESULTS) -> None:
    write_whole(results / "figures" / "toy-sensitivity.png", toy_sensitivity(results))


if __name__ == "__main__":
    main()
