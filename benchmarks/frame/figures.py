"""Draw the figures of the reports from the committed records, into results/figures."""

from pathlib import Path

from adacanon.experiments.toy.sensitivity import TOY_SENSITIVITY, panels, usual
from adacanon.reports.sensitivity_figure import draw
from adacanon.runs.runner import summary_of

RESULTS = Path(__file__).parents[2] / "results"


def toy_sensitivity(results: Path) -> bytes:
    """Panels for grid size, period, noise and width."""
    table = TOY_SENSITIVITY
    summary = summary_of(table, table.runs(), results / f"{table.name}.jsonl")
    return draw(panels(summary), usual=usual(), logarithmic=("noise", "hidden"))


def main(results: Path = RESULTS) -> None:
    folder = results / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "toy-sensitivity.png").write_bytes(toy_sensitivity(results))


if __name__ == "__main__":
    main()
