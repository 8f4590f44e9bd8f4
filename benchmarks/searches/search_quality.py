"""How much of the possible gain a search finds, against what it costs in network evaluations.

The share of the gap closed is (found - random pose) / (ceiling - random pose), where the ceiling is the best of many
rotations, refined further. It is averaged over clouds and classes of a randomly initialised network.
"""

import argparse

import torch
from torch import Tensor, nn

from adacanon import AnchoredSearch, Canonicalized, GridSearch, RandomSearch, Restarts, SampleAndRefine
from adacanon.core import Maximizer
from adacanon.points import Rotations
from adacanon.spaces import rotation_group
from benchmarks.frame import measure, networks


def searches() -> dict[str, Maximizer]:
    """The searches of the library, from cheap to dear."""
    return {
        "identity": GridSearch(points=torch.eye(3)[None]),
        **{f"RandomSearch({k})": RandomSearch(k) for k in (50, 90, 640)},
        "super-Fibonacci 50": GridSearch(50),
        "icosahedral 60": GridSearch(points=rotation_group("icosahedron")),
        **{f"SampleAndRefine(50, steps={n})": SampleAndRefine(50, steps=n) for n in (1, 3, 5, 10, 20)},
        "Restarts(SampleAndRefine(25, steps=3), times=2)": Restarts(SampleAndRefine(25, steps=3), times=2),
        "Restarts(SampleAndRefine(50, steps=10), times=4)": Restarts(SampleAndRefine(50, steps=10), times=4),
        "AnchoredSearch(48)": AnchoredSearch(48),
        "AnchoredSearch(48, steps=3)": AnchoredSearch(48, steps=3),
        "SampleAndRefine(50, steps=3, every=True)": SampleAndRefine(50, steps=3, every=True),
    }


def trade_off(step_sizes: list[float], steps: list[int], samples: list[int]) -> dict[str, Maximizer]:
    """All combinations of the three settings of the paper's algorithm."""
    return {
        f"samples={k} steps={n} step_size={s}": SampleAndRefine(k, steps=n, step_size=s)
        for k in samples
        for n in steps
        for s in step_sizes
    }


def found_by(search: Maximizer, network: nn.Module, clouds: Tensor, *, seed: int) -> tuple[Tensor, int]:
    """The maxima (clouds, classes) that a search finds, and its evaluations per cloud."""
    found = Canonicalized(network, Rotations(), search, seed=seed).eval().canonicalize(clouds)
    return found.scores, found.evaluations


def random_pose(network: nn.Module, clouds: Tensor, *, poses: int, seed: int) -> Tensor:
    """The mean score (clouds, classes) of randomly turned clouds: what to expect without a search."""
    scores = [found_by(RandomSearch(1), network, clouds, seed=seed + 1 + i)[0] for i in range(poses)]
    return torch.stack(scores).mean(0)


def ceiling(network: nn.Module, clouds: Tensor, *, rotations: int, seed: int) -> Tensor:
    """The best of many rotations, each class then refined for 40 steps; and the best of further restarts."""
    dense = SampleAndRefine(rotations, steps=40, step_size=0.02)
    restarts = Restarts(SampleAndRefine(200, steps=20), times=4)
    return torch.maximum(*(found_by(search, network, clouds, seed=seed)[0] for search in (dense, restarts)))


def rows(chosen: dict[str, Maximizer], options: argparse.Namespace) -> tuple[list[measure.Row], str]:
    network = networks.random_network(seed=options.seed)
    clouds, source = networks.clouds(options.clouds, options.points, seed=options.seed)
    low = random_pose(network, clouds, poses=20, seed=options.seed)
    high = ceiling(network, clouds, rotations=options.rotations, seed=options.seed)
    table = []
    for name, search in chosen.items():
        runs = [found_by(search, network, clouds, seed=options.seed + i) for i in range(options.repeats)]
        shares = torch.stack([(scores - low) / (high - low) for scores, _ in runs])
        table.append({"search": name, "evaluations": runs[0][1], "gap closed": shares.mean().item()})
    return table, source


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--clouds", type=int, default=64)
    parser.add_argument("--points", type=int, default=128)
    parser.add_argument("--rotations", type=int, default=20_000, help="rotations of the brute force ceiling")
    parser.add_argument("--repeats", type=int, default=3, help="independent candidate sets per search")
    parser.add_argument("--trade-off", action="store_true", help="vary samples, steps and step_size instead")
    options = measure.start(parser)
    grid = trade_off([0.02, 0.05, 0.1, 0.15, 0.2, 0.3], [3, 5, 10], [25, 50])
    table, source = rows(grid if options.trade_off else searches(), options)
    measure.report(table, title=f"{options.clouds} clouds of {options.points} points, {source}", path=options.json)


if __name__ == "__main__":
    main()
