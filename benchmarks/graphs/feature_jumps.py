"""The two errors of A-NLSF without an encoder, for every search of graphs and both factors of its coefficients: how far
scores move when nodes and eigenbases are drawn anew (invariance), and when noise comes to one-hot features (jumps).

Networks are trained for a few epochs with the default search. The errors are measured on the test graphs of the first
split of ``tu``, in deviations of the scores between graphs.
"""

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from adacanon.core import Canonicalized
from adacanon.core.loss import one_vs_rest
from adacanon.core.maximizer import Maximizer
from adacanon.experiments.graphs.tu_data import COLUMNS, TUData, split_of, tu_data
from adacanon.graphs import BandCoefficients, BandRotations, anlsf, coefficients_of, dyadic
from adacanon.graphs.band_search import band_search
from adacanon.graphs.coefficients import spectra_and_signals
from adacanon.graphs.eigenbases import permuted, redrawn_in_bands
from adacanon.graphs.symmetric_factors import symmetric_coefficients_of
from adacanon.maximizers import RandomSearch, SampleAndRefine
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import training_epoch
from benchmarks.frame import measure

NOISES = (1e-8, 1e-4)
BANDS = dyadic(6)
Factors = Callable[..., BandCoefficients]
FACTORS: dict[str, Factors] = {"triangular": coefficients_of, "symmetric": symmetric_coefficients_of}
SEARCHES: dict[str, tuple[Maximizer, float]] = {
    "32 draws and a step (default)": (band_search(), 0.0),
    "32 draws": (RandomSearch(32), 0.0),
    "128 draws and 5 steps": (SampleAndRefine(128, 5), 0.0),
    "32 draws, temperature 0.3": (RandomSearch(32), 0.3),
    "mean over 32 draws": (RandomSearch(32), math.inf),
}
"""Searches, with the temperature of the model."""
REDRAWN = "nodes and bases redrawn"


def trained(data: TUData, factors: Factors, train: Tensor, epochs: int) -> Canonicalized:
    """A-NLSF after some epochs on the coefficients of the training graphs."""
    torch.manual_seed(0)
    pairs = spectra_and_signals(data.dataset.graphs)
    model = anlsf(BandRotations(BANDS, rows=2), data.dataset.channels, classes=data.dataset.classes)
    learner = Learner(model, data.dataset.labels, looked_up(factors(pairs, BANDS)), one_vs_rest)
    optimizer, generator = torch.optim.Adam(model.parameters(), lr=1e-3), torch.Generator().manual_seed(0)
    for _ in range(epochs):
        training_epoch(learner, optimizer, train, 32, generator)
    return model.eval()


def redrawn(graphs: Sequence[Any], generator: torch.Generator) -> list[Any]:
    """Pairs of spectra and signals of the graphs with other orders of nodes and other bases of the bands."""
    others = [permuted(graph, torch.randperm(graph.num_nodes, generator=generator)) for graph in graphs]
    pairs = spectra_and_signals(others, cache=False)
    return [(redrawn_in_bands(spectrum, BANDS, generator=generator), signal) for spectrum, signal in pairs]


def noisy(pairs: Sequence[Any], size: float, generator: torch.Generator) -> list[Any]:
    """The pairs with normal noise on the signals."""
    return [(s, x + size * torch.randn(x.shape, generator=generator, dtype=x.dtype)) for s, x in pairs]


def rows_of(column: str, options: argparse.Namespace) -> list[measure.Row]:
    data = tu_data(column, "labels")
    split = split_of(data, 0)
    graphs, generator = [data.dataset.graphs[i] for i in split.test.tolist()], torch.Generator().manual_seed(1)
    given = spectra_and_signals(graphs)
    changed = {REDRAWN: redrawn(graphs, generator)}
    changed |= {f"noise of {size:g}": noisy(given, size, generator) for size in NOISES}
    found: list[measure.Row] = []
    for name, factors in FACTORS.items():
        model = trained(data, factors, split.train, options.epochs)
        prepared = {what: factors(pairs, BANDS) for what, pairs in changed.items()}
        for search, (maximizer, temperature) in SEARCHES.items():
            searching = Canonicalized(model.network, model.family, maximizer, temperature=temperature).eval()
            moved = movements(searching, factors(given, BANDS), prepared)
            found.append({"data set": column, "factor": name, "search": search, **moved})
    return found


@torch.no_grad()
def movements(model: Canonicalized, given: BandCoefficients, changed: Mapping[str, BandCoefficients]) -> measure.Row:
    """The largest and the mean change of a score by every change of the graphs."""
    scores = model(given)
    spread = float(scores.std(0).mean())
    moved = {what: (model(other) - scores).abs() / spread for what, other in changed.items()}
    largest = {f"{what}, largest": float(change.max()) for what, change in moved.items()}
    return largest | {f"{what}, mean": float(change.mean()) for what, change in moved.items()}


def parser() -> argparse.ArgumentParser:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--datasets", nargs="+", choices=list(COLUMNS), default=["MUTAG", "PTC", "ENZYMES"])
    parser.add_argument("--epochs", type=int, default=20)
    return parser


def main(arguments: list[str] | None = None) -> None:
    options = measure.start(parser(), arguments)
    rows = [row for column in options.datasets for row in rows_of(column, options)]
    title = f"{options.epochs} epochs; changes of scores on test graphs, in deviations of the scores between graphs"
    measure.report(rows, title=title, path=options.json)


if __name__ == "__main__":
    main()
