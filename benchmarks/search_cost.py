"""Value found against time spent: how soon a search reaches the best pose of the true class.

For a trained AC-PointNet and test clouds in random poses. The cost of a search is its wall time divided by that of one
plain forward pass over the same batch. The share of the gap closed is (found - random pose) / (ceiling - random pose),
summed over clouds; the ceiling is the best of very many rotations, each cloud's best ones then refined.
"""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor, nn

from adacanon import AnchoredSearch, Canonicalized, CoarseToFine, GridSearch, RandomSearch, SampleAndRefine
from adacanon.core import ClassScore, Landscape, Maximizer
from adacanon.maximizers.ascent import climb
from adacanon.maximizers.coarse_to_fine import best_few
from adacanon.maximizers.selection import draws
from adacanon.points import Rotations
from benchmarks import measure
from benchmarks.trained import trained

GOAL = 0.99


def searches() -> dict[str, Maximizer]:
    """From cheap to dear, by where candidates come from and what happens to them."""
    return {
        **{f"iid, {k}": RandomSearch(k) for k in (10, 50, 200)},
        **{f"covering, {k}": GridSearch(k) for k in (50, 200)},
        **{f"anchored, {k}": AnchoredSearch(k) for k in (48, 200)},
        **{f"sample and refine, {k} + {n}": SampleAndRefine(k, n) for k, n in ((50, 3), (50, 10))},
        **{
            f"coarse to fine, {k} on {size}, {keep} kept": CoarseToFine(GridSearch(k), size, keep=keep, contenders=3)
            for k, size, keep in ((50, 32, 1), (100, 32, 2), (200, 32, 2), (400, 32, 4))
        },
        **{
            f"coarse to fine, {k} on {size}, {n} steps": CoarseToFine(
                GridSearch(k), size, keep=2, contenders=2, steps=n, step_size=0.03
            )
            for k, size, n in ((50, 32, 2), (100, 32, 3), (200, 32, 3), (200, 32, 5))
        },
    }


def true_value(search: Maximizer, network: nn.Module, clouds: Tensor, labels: Tensor, *, seed: int = 0) -> Tensor:
    """What a search finds for the true class of every cloud."""
    found = Canonicalized(network, Rotations(), search, seed=seed).eval().canonicalize(clouds)
    return found.scores.gather(1, labels.unsqueeze(1)).squeeze(1)


def random_pose(network: nn.Module, clouds: Tensor, labels: Tensor, *, poses: int = 20) -> Tensor:
    """The mean over poses: what to expect without a search."""
    found = [true_value(RandomSearch(1), network, clouds, labels, seed=1 + i) for i in range(poses)]
    return torch.stack(found).mean(0)


def ceiling(network: nn.Module, clouds: Tensor, labels: Tensor, *, rotations: int, starts: int = 16) -> Tensor:
    """The best of ``rotations`` draws for the true class, the best ``starts`` of them refined for 40 steps."""
    values = []
    for cloud, label in zip(clouds.split(1), labels, strict=True):
        landscape = Landscape(lambda x, d=label: network(x)[:, d : d + 1], Rotations(), ClassScore(), cloud)
        with torch.no_grad():
            blocks = draws(landscape, rotations, torch.Generator().manual_seed(0))
            points, _ = best_few(landscape, blocks, starts)
        values.append(climb(landscape, points, steps=40, step_size=0.02).values.max())
    return torch.stack(values)


def section(options: argparse.Namespace) -> tuple[dict[str, float], list[measure.Row]]:
    """Headline: the smallest cost at which the goal is reached."""
    network, data = trained()
    chosen = data.parts.test[:: max(1, len(data.parts.test) // options.clouds)][: options.clouds]
    clouds, labels = data.points[chosen], data.labels[chosen]
    low = random_pose(network, clouds, labels)
    high = ceiling(network, clouds, labels, rotations=options.rotations)
    rows: list[measure.Row] = []
    for name, search in searches().items():
        found = [true_value(search, network, clouds, labels, seed=seed) for seed in range(options.repeats)]
        share = float((torch.stack(found).mean(0) - low).sum() / (high - low).sum())
        rows.append({"search": name, "forward passes": cost(search, network, clouds), "gap closed": share})
    reached = [row["forward passes"] for row in rows if row["gap closed"] >= GOAL]
    return {"forwards_for_99_percent": min(reached, default=float("inf"))}, rows


def cost(search: Maximizer, network: nn.Module, clouds: Tensor, *, batch: int = 25, repetitions: int = 3) -> float:
    """Wall time of a search in plain forward passes over the same batch, measured in turn."""
    model, part = Canonicalized(network, Rotations(), search).eval(), clouds[:batch]
    actions: dict[str, Callable[[], object]] = {"plain": lambda: _plain(network, part), "search": lambda: model(part)}
    with torch.no_grad():
        seconds = measure.medians(actions, repetitions=repetitions)
    return seconds["search"] / seconds["plain"]


def _plain(network: nn.Module, clouds: Tensor) -> None:
    network(clouds)


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--clouds", type=int, default=100)
    parser.add_argument("--rotations", type=int, default=20_000, help="rotations of the brute force ceiling")
    parser.add_argument("--repeats", type=int, default=3, help="independent candidate sets per search")
    options = measure.start(parser)
    headline, rows = section(options)
    measure.report(rows, title=f"{options.clouds} clouds, ceiling of {options.rotations} rotations", path=options.json)
    print(headline)


if __name__ == "__main__":
    main()
