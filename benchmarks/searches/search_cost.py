"""Value found against time spent: how soon a search reaches the best pose of the true class.

For a trained AC-PointNet and test clouds in random poses. The cost of a search is its wall time divided by that of one
plain forward pass over the same batch. The share of the gap closed is (found - random pose) / (ceiling - random pose),
summed over clouds. The ceiling is the best of very many rotations: all are ranked on 64 points, the best 300 on the
whole cloud, and the best eight of these are refined by 40 steps; with --exhaustive all are scored on the whole cloud.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from rich.progress import track
from torch import Tensor, nn

from adacanon import AnchoredSearch, Canonicalized, CoarseToFine, GridSearch, RandomSearch, SampleAndRefine
from adacanon.core import Family, Maximizer, Space
from adacanon.core.pytree import Tree
from adacanon.maximizers import ClimbStage, successive_halving
from adacanon.maximizers.coarse_to_fine import HALVING
from adacanon.points import Rotations
from benchmarks.frame import measure
from benchmarks.frame.trained import add_options, some_of, trained

GOAL, BATCH = 0.99, 25
SETTING = "successive halving, 200: 24, 9, 4, 1 kept"


def searches() -> dict[str, Maximizer]:
    """From cheap to dear, by where candidates come from and what happens to them."""
    return {
        **{f"iid, {k}": RandomSearch(k) for k in (10, 50, 200)},
        **{f"covering, {k}": GridSearch(k) for k in (50, 200)},
        **{f"anchored, {k}": AnchoredSearch(k) for k in (48, 200)},
        **{f"sample and refine, {k} + {n}": SampleAndRefine(k, n) for k, n in ((50, 3), (50, 10))},
        **{
            f"coarse to fine, {k} on {size}, {keep} kept": CoarseToFine(GridSearch(k), size, keep=keep)
            for k, size, keep in ((50, 64, 1), (100, 64, 2), (200, 64, 4))
        },
        **{
            f"successive halving, {k}: {', '.join(map(str, keep))} kept": halving(k, keep)
            for k, keep in ((50, (8, 3, 2, 1)), (100, (16, 6, 3, 1)), (200, (24, 9, 4, 1)), (200, (32, 12, 5, 2)))
        },
    }


def halving(candidates: int, keep: tuple[int, ...]) -> CoarseToFine:
    """The stages of the defaults with other numbers of paths."""
    stages = tuple(replace(stage, keep=count) for stage, count in zip(HALVING, keep, strict=True))
    return successive_halving(GridSearch(candidates), stages, contenders=1)


@dataclass(frozen=True)
class OfTrueClass(Family):
    """Rotations of clouds that carry their label along, so that a network can answer for that class alone."""

    rotations: Rotations = field(default_factory=Rotations)

    def space(self, g: Tree) -> Space:
        return self.rotations.space(g[0])

    def transform(self, g: Tree, u: Tensor, owner: Tensor) -> Tree:
        return self.rotations.transform(g[0], u, owner), g[1][owner]

    def anchor(self, g: Tree) -> Tensor:
        return self.rotations.anchor(g[0])

    def coarse(self, g: Tree, size: int) -> Tree:
        return self.rotations.coarse(g[0], size), g[1]


class TrueScore(nn.Module):
    """The score of the label's class, (pairs, 1)."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, form: Tree) -> Tensor:
        points, labels = form
        return self.network(points).gather(1, labels.unsqueeze(1))


def true_value(search: Maximizer, network: nn.Module, clouds: Tensor, labels: Tensor, *, seed: int = 0) -> Tensor:
    """What a search finds for the true class of every cloud."""
    model = Canonicalized(TrueScore(network), OfTrueClass(), search, seed=seed).eval()
    return torch.cat([model.canonicalize(part).scores[:, 0] for part in _batches(clouds, labels)])


def random_pose(network: nn.Module, clouds: Tensor, labels: Tensor, *, poses: int = 20) -> Tensor:
    """The mean over poses: what to expect without a search."""
    found = [true_value(RandomSearch(1), network, clouds, labels, seed=1 + i) for i in range(poses)]
    return torch.stack(found).mean(0)


def ceiling(network: nn.Module, clouds: Tensor, labels: Tensor, *, rotations: int, exhaustive: bool = False) -> Tensor:
    """The best that is found by brute force; see above."""
    whole = ClimbStage(clouds.shape[1], keep=8, steps=40, step_size=0.02)
    rungs = (whole,) if exhaustive else (ClimbStage(min(64, clouds.shape[1]), keep=300), whole)
    search = successive_halving(RandomSearch(rotations), rungs, contenders=1, steps=0, low_precision=not exhaustive)
    parts = zip(clouds.split(BATCH), labels.split(BATCH), strict=True)
    found = (true_value(search, network, *part) for part in track(list(parts), description="ceiling"))
    return torch.cat(list(found))


def cost(
    search: Maximizer,
    network: nn.Module,
    clouds: Tensor,
    labels: Tensor,
    *,
    clock: measure.Clock = measure.CLOCKS["wall"],
    repetitions: int = 3,
) -> float:
    """Time of a search in plain forward passes over the same batch, measured in turn."""
    part = _batches(clouds, labels)[0]
    model = Canonicalized(TrueScore(network), OfTrueClass(), search).eval()
    actions: dict[str, Callable[[], object]] = {"plain": lambda: network(part[0]), "search": lambda: model(part)}
    with torch.no_grad():
        seconds = measure.medians(actions, repetitions=repetitions, clock=clock)
    return seconds["search"] / seconds["plain"]


def _batches(clouds: Tensor, labels: Tensor) -> list[tuple[Tensor, Tensor]]:
    return list(zip(clouds.split(BATCH), labels.split(BATCH), strict=True))


def section(options: argparse.Namespace) -> measure.Section:
    """Headline: the cost of ``SETTING``, if it reaches the goal; it is fixed beforehand."""
    model, data = trained({"epochs": options.epochs, "points": options.points})
    network = model.network
    chosen = some_of(data, options.part, options.clouds)
    clouds, labels = data.points[chosen], data.labels[chosen]
    low = random_pose(network, clouds, labels)
    high = ceiling(network, clouds, labels, rotations=options.rotations, exhaustive=options.exhaustive)
    rows: list[measure.Row] = []
    for name, search in searches().items():
        found = [true_value(search, network, clouds, labels, seed=seed) for seed in range(options.repeats)]
        share = float((torch.stack(found).mean(0) - low).sum() / (high - low).sum())
        rows.append(
            {
                "search": name,
                "forward passes": cost(search, network, clouds, labels, clock=measure.CLOCKS[options.clock]),
                "gap closed": share,
            }
        )
    named = next(row for row in rows if row["search"] == SETTING)
    reached = named["gap closed"] >= GOAL
    return {"forwards_for_99_percent": named["forward passes"] if reached else float("inf")}, rows


def parser() -> argparse.ArgumentParser:
    quick = {"clouds": 1, "rotations": 64, "repeats": 1, "epochs": 0, "points": 40}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.add_argument("--clouds", type=int, default=100)
    parser.add_argument("--rotations", type=int, default=20_000, help="rotations of the brute force ceiling")
    parser.add_argument("--repeats", type=int, default=1, help="independent candidate sets per search")
    parser.add_argument("--exhaustive", action="store_true", help="score all of them on the whole cloud, hours")
    add_options(parser)
    return parser


def title(options: argparse.Namespace) -> str:
    return f"{options.clouds} clouds, ceiling of {options.rotations} rotations"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
