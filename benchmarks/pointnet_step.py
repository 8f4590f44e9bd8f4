"""One training step of AC-PointNet against a plain step of the same PointNet, and against Algorithm 1 as written.

PointNet of the published size, 1024 points, 40 classes, 50 draws, batches of 32 ModelNet40 clouds in random poses; at
initialisation, and after training. Medians of interleaved steps in one run. 'ordinary PointNet' is a plain step of the
same architecture from torch's own layers, without our shortcuts through the maximum.
"""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, CoarseToFine, Objective, RandomSearch, one_vs_rest
from adacanon.core.precision import reduced_precision
from adacanon.experiments.clouds import modelnet, turned
from adacanon.experiments.fast_settings import FAST
from adacanon.points import Rotations
from adacanon.points.pointnet import PointNet
from benchmarks import measure
from benchmarks.naive import naive_step

CLASSES, DRAWS, BATCH, POINTS, SIZE = 40, 50, 32, 1024, 64


class OrdinaryPointNet(nn.Module):
    """The same layers, written with torch's modules alone."""

    def __init__(self, classes: int, widths: tuple[int, ...] = (64, 64, 64, 128, 1024)) -> None:
        super().__init__()
        shared = [(nn.Linear(a, b, bias=False), nn.BatchNorm1d(b), nn.ReLU()) for a, b in pairwise((3, *widths))]
        head = [
            (nn.Linear(a, b, bias=False), nn.BatchNorm1d(b), nn.ReLU()) for a, b in pairwise((widths[-1], 512, 256))
        ]
        self.shared = nn.Sequential(*(layer for group in shared for layer in group))
        self.head = nn.Sequential(
            *(layer for group in head for layer in group), nn.Dropout(0.3), nn.Linear(256, classes)
        )

    def forward(self, clouds: Tensor) -> Tensor:
        return self.head(self.shared(clouds.flatten(0, 1)).unflatten(0, clouds.shape[:2]).amax(1))


def fast_objective(network: nn.Module, *, size: int = SIZE) -> Objective:
    """The training objective with the fast settings."""
    search = CoarseToFine(RandomSearch(DRAWS), size=size, contenders=0)
    return Objective(Canonicalized(network, Rotations(), search), forms=FAST["forms"])


def steps(network: nn.Module, clouds: Tensor, labels: Tensor, *, naive: bool) -> dict[str, Callable[[], object]]:
    """The steps to be timed, on one network."""
    objective, ordinary = fast_objective(network), OrdinaryPointNet(CLASSES)
    actions: dict[str, Callable[[], object]] = {
        "plain": lambda: _step(network, lambda: one_vs_rest(network(clouds), labels)),
        "ours": lambda: _step(objective, lambda: objective(clouds, labels)),
        "ordinary": lambda: _step(ordinary, lambda: one_vs_rest(ordinary(clouds), labels)),
    }
    if naive:
        actions["naive"] = lambda: naive_step(network, clouds, labels, draws=DRAWS)
    return actions


def trained_for(network: nn.Module, *, steps: int, seed: int) -> None:
    """Training with the fast settings on batches of ModelNet40."""
    data = modelnet(CLASSES, POINTS).train
    objective = fast_objective(network).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    order = torch.randperm(len(data.labels), generator=torch.Generator().manual_seed(seed))
    for rows in order.split(BATCH)[:steps]:
        optimizer.zero_grad()
        objective(turned(data.points[rows]), data.labels[rows]).backward()
        optimizer.step()


def ratios(seconds: dict[str, float]) -> dict[str, float]:
    found = {
        "ours over plain": seconds["ours"] / seconds["plain"],
        "ours over ordinary PointNet": seconds["ours"] / seconds["ordinary"],
    }
    return found | ({"naive over ours": seconds["naive"] / seconds["ours"]} if "naive" in seconds else {})


def _step(module: nn.Module, loss: Callable[[], Tensor]) -> None:
    module.train()
    module.zero_grad()
    loss().backward()


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--repetitions", type=int, default=7)
    parser.add_argument(
        "--steps", type=int, default=308, help="training steps before the second measurement; 308 make an epoch"
    )
    parser.add_argument("--clock", choices=measure.CLOCKS, default="wall", help="processor: undisturbed by other jobs")
    options = measure.start(parser)
    torch.manual_seed(options.seed)
    data, network = modelnet(CLASSES, POINTS).train, PointNet(CLASSES)
    rows = torch.randperm(len(data.labels), generator=torch.Generator().manual_seed(options.seed + 1))[:BATCH]
    clouds, labels = turned(data.points[rows], torch.Generator().manual_seed(0)), data.labels[rows]
    table = []
    for name, count in {"at initialisation": 0, f"after {options.steps} steps": options.steps}.items():
        trained_for(network, steps=count, seed=options.seed)
        actions = steps(network, clouds, labels, naive=True)
        seconds = measure.medians(actions, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
        table.append({"network": name, "plain step, s": seconds["plain"]} | ratios(seconds))
    precision = reduced_precision("cpu")
    title = (
        f"{DRAWS} draws, {CLASSES} classes, {POINTS} points, batches of {BATCH}; coarse view of {SIZE} points in "
        f"{precision or torch.float32}; {options.threads} threads, {options.clock} time"
    )
    measure.report(table, title=title, path=options.json)


if __name__ == "__main__":
    main()
