"""How long a refinement step of A-NLSF should be: the value found with short and with long steps, at the same cost.

A network is trained as in the row 'fast' of ``fast-graphs``; then searches with 32 draws are compared on its training
graphs by the mean of the largest score over graphs and classes. The unit is what five short steps add to the 32 draws.
A step on a linear score may be as long as one likes: the projection of a far point is the maximum over the whole set.
"""

import argparse

import torch
from torch import Tensor

from adacanon import SampleAndRefine
from adacanon.core import Canonicalized
from adacanon.experiments.graphs import fast_graphs, tu
from adacanon.experiments.graphs.spectral_methods import SHORT
from adacanon.runs.run import Run
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl
from benchmarks.frame import measure

ROW, DRAWS = "A-NLSF (fast)", 32
LENGTHS = (SHORT, 0.4, 1.0, 10.0)
STEPS = (1, 5)


def value(learner: Learner, search: SampleAndRefine, index: Tensor) -> float:
    """The mean over graphs and classes of what a search finds."""
    model = learner.module.canonicalized
    assert isinstance(model, Canonicalized)
    model.search = search
    learner.module.eval()
    with torch.no_grad():
        return float(torch.cat([learner.scores(rows) for rows in index.split(128)]).mean())


def rows_of(column: str, options: argparse.Namespace) -> list[measure.Row]:
    settings = {**measure.settings_of(fast_graphs.FAST_GRAPHS, ROW, column), "epochs": options.epochs}
    run = Run.of("benchmarks", ROW, column, options.seed, settings)
    learner, split, _ = fast_graphs.trained(run, TrainingControl())
    index = split.train
    low, high = (value(learner, SampleAndRefine(DRAWS, steps), index) for steps in (0, 5))
    searches = {f"{draws} draws": SampleAndRefine(draws, steps=0) for draws in (DRAWS, 4 * DRAWS, 16 * DRAWS)}
    searches |= {
        f"{DRAWS} draws, {steps} {'step' if steps == 1 else 'steps'} of {length}": SampleAndRefine(
            DRAWS, steps, step_size=length
        )
        for steps in STEPS
        for length in LENGTHS
    }
    return [
        {"data set": column, "search": name, "gain": (value(learner, search, index) - low) / (high - low)}
        for name, search in searches.items()
    ]


def parser() -> argparse.ArgumentParser:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--datasets", nargs="+", choices=tu.COLUMNS, default=["MUTAG", "ENZYMES"])
    parser.add_argument("--epochs", type=int, default=fast_graphs.EPOCHS)
    return parser


def main(arguments: list[str] | None = None) -> None:
    options = measure.start(parser(), arguments)
    rows = [row for column in options.datasets for row in rows_of(column, options)]
    measure.report(rows, title="1 is what five steps of 0.1 add to 32 draws; training graphs", path=options.json)


if __name__ == "__main__":
    main()
