"""One training epoch of A-NLSF against torch-geometric's GIN of the same width and batch size, on TU data sets.

Both train on the whole data set with Adam; medians of interleaved epochs in one run. Preparation (spectra and
coefficients, once per data set) is timed apart: without a cache, and from it.
"""

import time
from collections.abc import Callable

import torch
from torch.nn import functional

from adacanon import Objective, SampleAndRefine
from adacanon.baselines.graph_networks import GraphNetwork
from adacanon.data.tu import NAMES, GraphDataset, load_tu
from adacanon.graphs import BandCoefficients, BandRotations, anlsf, band_coefficients, uniform
from benchmarks import measure


def anlsf_epoch(data: GraphDataset, coefficients: BandCoefficients, *, hidden: int, batch: int) -> Callable[[], None]:
    """An epoch of A-NLSF with 32 draws and two refinement steps."""
    family = BandRotations(uniform(coefficients.sizes.shape[1]), rows=4)
    search = SampleAndRefine(samples=32, steps=2)
    model = anlsf(family, data.channels, classes=data.classes, hidden=hidden, maximizer=search)
    objective = Objective(model)
    optimizer = torch.optim.Adam(objective.parameters(), lr=1e-3)

    def epoch() -> None:
        for rows in torch.randperm(len(data.labels)).split(batch):
            optimizer.zero_grad()
            objective(coefficients[rows], data.labels[rows]).backward()
            optimizer.step()

    return epoch


def gin_epoch(data: GraphDataset, *, hidden: int, batch: int) -> Callable[[], None]:
    """An epoch of a three-layer GIN, batches collated by torch-geometric's loader."""
    from torch_geometric.loader import DataLoader

    network = GraphNetwork("gin", data.channels, classes=data.classes, hidden=hidden, layers=3)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    loader = DataLoader(data.graphs, batch_size=batch, shuffle=True)

    def epoch() -> None:
        for graphs in loader:
            optimizer.zero_grad()
            functional.cross_entropy(network(graphs.x, graphs.edge_index, graphs.batch), graphs.y).backward()
            optimizer.step()

    return epoch


def timed(action: Callable[[], BandCoefficients]) -> tuple[BandCoefficients, float]:
    begin = time.perf_counter()
    return action(), time.perf_counter() - begin


def row(name: str, *, bands: int, hidden: int, batch: int, repetitions: int, clock: measure.Clock) -> measure.Row:
    data = load_tu(name)
    coefficients, first = timed(lambda: band_coefficients(data.graphs, uniform(bands), cache=False))
    band_coefficients(data.graphs, uniform(bands))
    _, cached = timed(lambda: band_coefficients(data.graphs, uniform(bands)))
    epochs = {
        "A-NLSF": anlsf_epoch(data, coefficients, hidden=hidden, batch=batch),
        "GIN": gin_epoch(data, hidden=hidden, batch=batch),
    }
    seconds = measure.medians(epochs, repetitions=repetitions, clock=clock)
    return {
        "data set": name,
        "A-NLSF, s per epoch": seconds["A-NLSF"],
        "GIN, s per epoch": seconds["GIN"],
        "ratio": seconds["A-NLSF"] / seconds["GIN"],
        "preparation, s": first,
        "with cached spectra, s": cached,
    }


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--datasets", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--bands", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--clock", choices=measure.CLOCKS, default="wall", help="processor: undisturbed by other jobs")
    options = measure.start(parser)
    torch.manual_seed(options.seed)
    settings = {name: getattr(options, name) for name in ("bands", "hidden", "batch", "repetitions")}
    rows = [row(name, **settings, clock=measure.CLOCKS[options.clock]) for name in options.datasets]
    title = f"Hidden {options.hidden}, batches of {options.batch}; {options.threads} threads, {options.clock} time"
    measure.report(rows, title=title, path=options.json)


if __name__ == "__main__":
    main()
