"""How cost grows: time against draws, classes, points and clouds of AC-PointNet, and nodes and graphs of A-NLSF.

AC-PointNet has the fast settings, in training (coarse search, two forms per cloud in the pass with gradients) and in
evaluation (coarse search, finalists on the whole cloud); clouds are Gaussian. A-NLSF has the settings of the table
``tu``, with fresh draws at every step so that their cost is seen, on random graphs with two edges per node; an epoch is
one batch. Its preparation, once per data set, is timed apart. One size at a time is multiplied by up to 100, the others
stay at their base; medians of interleaved repetitions. The plain training step of the same PointNet is the control:
what grows there too is no matter of the search, but of caches and allocation.

The exponent is the slope of a least squares line through the logarithms of size and time over the upper half of the
range. Below it constants dominate: an exponent over the whole range would flatter.
"""

import argparse
import math
from collections.abc import Callable
from functools import partial

import torch
from torch_geometric.data import Data

from adacanon import Canonicalized, CoarseToFine, RandomSearch, one_vs_rest
from adacanon.data.tu import GraphDataset
from adacanon.experiments.clouds.searches import FAST
from adacanon.experiments.graphs.spectral_methods import encoded_anlsf
from adacanon.experiments.graphs.tu_data import TUData
from adacanon.experiments.graphs.tu_runtime import TU_RUNTIME
from adacanon.points import Rotations
from adacanon.points.pointnet import PointNet
from adacanon.training.learner import Learner
from adacanon.training.loop import training_epoch
from benchmarks.clouds.pointnet_step import fast_objective, step
from benchmarks.frame import measure
from benchmarks.graphs.anlsf_epoch import empty_cache

Action = Callable[[], object]
Sizes = dict[str, int]

CLOUDS: Sizes = {"draws": 50, "classes": 40, "points": 256, "clouds": 16}
GRAPHS: Sizes = {"nodes": 30, "graphs": 16}
"""Where the sizes stand that are not varied."""

FIRST: Sizes = {"draws": 10, "classes": 10, "points": 128, "clouds": 2, "nodes": 10, "graphs": 4}
"""Where a size begins when it is varied."""

LINEAR = 1.05
"""Exponents up to here count as one; the rest is noise, or caches that are left behind."""

FORCED = {("A-NLSF, preparation", "nodes"): "dense eigendecomposition and powers of a matrix, cubic"}
"""Where the mathematics asks for more than linear time."""

UNEXPLAINED = "more than the mathematics asks for"


def training_step(sizes: Sizes) -> Action:
    """Forward and backward with the fast settings."""
    network, count = PointNet(sizes["classes"]), sizes["clouds"]
    objective = fast_objective(network, draws=sizes["draws"], size=FAST["size"], samples=count)
    clouds, ids = torch.randn(count, sizes["points"], 3), torch.arange(count)
    return lambda: step(objective, lambda: objective(clouds, ids % sizes["classes"], ids).loss)


def plain_step(sizes: Sizes) -> Action:
    """Forward and backward of the network alone."""
    network = PointNet(sizes["classes"])
    clouds, labels = torch.randn(sizes["clouds"], sizes["points"], 3), torch.arange(sizes["clouds"]) % sizes["classes"]

    return lambda: step(network, lambda: one_vs_rest(network(clouds), labels))


def evaluation(sizes: Sizes) -> Action:
    """The class scores of a batch."""
    search = CoarseToFine(RandomSearch(sizes["draws"]), size=64)
    model = Canonicalized(PointNet(sizes["classes"]), Rotations(), search).eval()
    return torch.no_grad()(partial(model, torch.randn(sizes["clouds"], sizes["points"], 3)))


def epoch(sizes: Sizes) -> Action:
    """A training epoch over random graphs in one batch."""
    learner, graphs = anlsf(random_graphs(sizes)), torch.arange(sizes["graphs"])
    optimizer = torch.optim.Adam(learner.module.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(0)
    return lambda: training_epoch(learner, optimizer, graphs, len(graphs), generator)


def preparation(sizes: Sizes) -> Action:
    """Spectra, frames and node signals of random graphs, without a cache."""
    graphs = random_graphs(sizes)
    return lambda: anlsf(graphs)


CONTROL = "PointNet, plain training step"

SUBJECTS: dict[str, tuple[Callable[[Sizes], Action], Sizes]] = {
    CONTROL: (plain_step, {name: size for name, size in CLOUDS.items() if name != "draws"}),
    "AC-PointNet, training step": (training_step, CLOUDS),
    "AC-PointNet, evaluation": (evaluation, CLOUDS),
    "A-NLSF, epoch": (epoch, GRAPHS),
    "A-NLSF, preparation": (preparation, GRAPHS),
}


def random_graphs(sizes: Sizes, channels: int = 8) -> GraphDataset:
    """Graphs with two random edges per node and random labels."""
    nodes, graphs = sizes["nodes"], []
    for _ in range(sizes["graphs"]):
        ends = torch.stack([torch.arange(nodes).repeat(2), torch.randint(nodes, (2 * nodes,))])
        ends = ends[:, ends[0] != ends[1]]
        x = torch.eye(channels)[torch.randint(channels, (nodes,))]
        graphs.append(Data(x=x, edge_index=torch.cat([ends, ends.flip(0)], dim=1).unique(dim=1)))
    return GraphDataset("random", graphs, torch.arange(len(graphs)) % 2, classes=2)


def anlsf(graphs: GraphDataset) -> Learner:
    """A-NLSF as in the table, prepared from nothing."""
    settings = {**measure.settings_of(TU_RUNTIME, "A-NLSF", "MUTAG"), "resample_every": 1}
    with empty_cache():
        return encoded_anlsf(TUData(graphs), settings, torch.arange(len(graphs.graphs)), 0)


def row(subject: str, over: str, options: argparse.Namespace) -> measure.Row:
    """One size of one subject."""
    make, base = SUBJECTS[subject]
    sizes = {factor: {**base, over: factor * FIRST[over]} for factor in options.factors}
    actions = {str(factor): make(chosen) for factor, chosen in sizes.items()}
    seconds = measure.medians(actions, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    exponent = slope({factor: seconds[str(factor)] for factor in options.factors})
    times = {f"x {factor}, s": seconds[str(factor)] for factor in options.factors}
    return {"what": subject, "over": over, "from": FIRST[over], **times, "exponent": exponent}


def slope(seconds: dict[int, float]) -> float:
    """The exponent over the sizes from the (logarithmic) middle of the range on, two of them at least."""
    middle = min(math.sqrt(min(seconds) * max(seconds)), sorted(seconds)[-2])
    x, y = torch.tensor([(n, t) for n, t in seconds.items() if n >= middle], dtype=torch.float64).log().T
    return float(((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum())


def reason(row: measure.Row, control: dict[str, float]) -> str:
    """Why an exponent is above one, as far as it is known; nothing if it is not."""
    if row["exponent"] <= LINEAR:
        return ""
    if forced := FORCED.get((row["what"], row["over"])):
        return forced
    if row["what"] == CONTROL:
        return "the network alone"
    return "as in the network alone" if control.get(row["over"], 0.0) > LINEAR else UNEXPLAINED


def section(options: argparse.Namespace) -> measure.Section:
    """No headline: the exponents are in the table."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        rows = [row(what, over, options) for what in options.subjects for over in SUBJECTS[what][1]]
    control = {row["over"]: row["exponent"] for row in rows if row["what"] == CONTROL}
    rows = [{**row, "above 1": reason(row, control)} for row in rows]
    lines = [f"{row['what']}, {row['over']}: {row['exponent']:.2f}, {row['above 1']}" for row in rows if row["above 1"]]
    print("\n".join(["Exponents above 1:", *lines]) if lines else "No exponent is above 1.")
    return {}, rows


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"repetitions": 1, "factors": [1, 2]})
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--factors", type=int, nargs="+", default=[1, 3, 10, 30, 100])
    return parser


def title(options: argparse.Namespace) -> str:
    return f"Seconds while one size grows; {options.threads} threads, {options.clock} time"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
