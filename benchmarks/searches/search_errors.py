"""The two errors of every search beside its cost: lost invariance, and the largest jump where principal axes cross.

Invariance error: mean change of the logits under random rotations, relative to their spread over clouds. Jump: the
largest change of a logit between neighbouring clouds of a path, relative to that of alignment with principal axes.
The winner's errors are those of the largest logit alone: a search may be exact for classes in contention only.
Cost: evaluations of the network per cloud, and the time for all clouds in plain forward passes over the same clouds,
medians measured in turn. Coarse views have a quarter of the points. All but the time is the same in every run.
"""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from adacanon import AnchoredSearch, Canonicalized, CoarseToFine, GridSearch, RandomSearch, Restarts, SampleAndRefine
from adacanon.core import Maximizer
from adacanon.maximizers import ClimbStage, CompareStage, successive_halving
from adacanon.maximizers.selection import CandidateSearch
from adacanon.points import Rotations, principal_frames
from adacanon.spaces import SO3, rotation_group
from benchmarks.frame import measure, networks

Function = Callable[[Tensor], Tensor]


TIME = "forward passes"
"""The column that differs from run to run."""


def searches(points: int) -> dict[str, Maximizer]:
    """Those on whole clouds, then those on coarse views first."""
    size = max(1, points // 4)
    return {
        **on_whole_clouds(),
        **coarse_to_fine("random", RandomSearch(48), size=size),
        **coarse_to_fine("covering", GridSearch(48), size=size),
        **coarse_to_fine("anchored", AnchoredSearch(48), size=size),
        "coarse to fine, anchored 48, float32": CoarseToFine(AnchoredSearch(48), size=size, low_precision=False),
    }


def coarse_to_fine(name: str, search: CandidateSearch, *, size: int) -> dict[str, Maximizer]:
    """Straight to the cloud, by way of a view of half its points, and with climbing."""
    return {
        f"coarse to fine, {name} 48": CoarseToFine(search, size=size),
        f"with a middle view, {name} 48": CoarseToFine(search, size, keep=1, stages=(CompareStage(2 * size),)),
        f"successive halving, {name} 48": successive_halving(search, stages=(ClimbStage(size, 2, steps=3),), steps=3),
    }


def on_whole_clouds() -> dict[str, Maximizer]:
    return {
        "fixed random set, 48": RandomSearch(48),
        "covering set, 48": GridSearch(48),
        "icosahedral group, 60": GridSearch(points=rotation_group("icosahedron")),
        "covering set, 512": GridSearch(512),
        "sample then refine, 48 + 3": SampleAndRefine(48, steps=3),
        "sample then refine, 48 + 10": SampleAndRefine(48, steps=10),
        "every candidate refined, 8 + 3": SampleAndRefine(8, steps=3, every=True),
        "every candidate refined, 8 + 1": SampleAndRefine(8, steps=1, every=True),
        "anchored, 48": AnchoredSearch(48),
        "anchored and refined, 48 + 3": AnchoredSearch(48, steps=3),
        "close to the maximum, 4 x (200 + 20)": Restarts(SampleAndRefine(200, steps=20), times=4),
    }


def aligned(network: nn.Module) -> Function:
    """Ordinary canonicalization: the network on the principal frame, with signs from third moments."""

    def outputs(clouds: Tensor) -> Tensor:
        upright = clouds @ principal_frames(clouds)[:, 0].mT
        signs = upright.pow(3).sum(1).sign()
        proper = torch.cat([signs[:, :2], signs[:, :2].prod(1, keepdim=True)], dim=1)
        return network(upright * proper.unsqueeze(1))

    return outputs


def largest(function: Function) -> Function:
    """The largest logit, (clouds, 1)."""
    return lambda clouds: function(clouds).amax(1, keepdim=True)


def invariance_error(function: Function, clouds: Tensor, *, rotations: int, seed: int) -> float:
    """Mean |change| of the logits under rotations, over their standard deviation across clouds."""
    outputs = function(clouds)
    turns = SO3().sample(rotations, generator=torch.Generator().manual_seed(seed)).to(clouds)
    changes = [(function(clouds @ turn.mT) - outputs).abs().mean() for turn in turns]
    return (torch.stack(changes).mean() / outputs.std(0).mean()).item()


def largest_jump(function: Function, path: Tensor) -> float:
    return function(path).diff(dim=0).abs().max().item()


def forward_passes(models: dict[str, Function], clouds: Tensor, options: argparse.Namespace) -> dict[str, float]:
    """Time of every model over that of the network alone."""
    actions: dict[str, Callable[[], Any]] = {name: partial(model, clouds) for name, model in models.items()}
    seconds = measure.medians(actions, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    return {name: seconds[name] / seconds["network alone"] for name in models}


@torch.no_grad()
def measured(options: argparse.Namespace) -> tuple[list[measure.Row], str]:
    """The rows, and what they were measured on."""
    network = networks.random_network(seed=options.seed)
    clouds, source = networks.clouds(options.clouds, options.points, seed=options.seed)
    paths = [networks.crossing_path(n, options.points, seed=options.seed) for n in (options.steps, 4 * options.steps)]
    models: dict[str, Function] = {"network alone": network, "principal axes": aligned(network)}
    models |= {
        name: Canonicalized(network, Rotations(), search, seed=options.seed).eval()
        for name, search in searches(options.points).items()
    }
    passes, unit = forward_passes(models, clouds, options), largest_jump(models["principal axes"], paths[1])
    rows = [
        {
            "search": name,
            "evaluations": model.canonicalize(clouds[:1]).evaluations if isinstance(model, Canonicalized) else 1,
            TIME: passes[name],
            "invariance error": invariance_error(model, clouds, rotations=options.rotations, seed=options.seed),
            "jump": largest_jump(model, paths[0]) / unit,
            "jump, finer path": largest_jump(model, paths[1]) / unit,
            "winner's invariance error": invariance_error(
                largest(model), clouds, rotations=options.rotations, seed=options.seed
            ),
            "winner's jump, finer path": largest_jump(largest(model), paths[1]) / unit,
        }
        for name, model in models.items()
    ]
    title = f"{len(clouds)} clouds of {options.points} points, {source}; jumps relative to principal axes ({unit:.3g})"
    return rows, title


def section(options: argparse.Namespace) -> measure.Section:
    """No headline: the errors are in the table."""
    return {}, measured(options)[0]


def parser() -> argparse.ArgumentParser:
    quick = {"clouds": 2, "points": 16, "rotations": 1, "steps": 2, "repetitions": 1}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.add_argument("--clouds", type=int, default=32)
    parser.add_argument("--points", type=int, default=64)
    parser.add_argument("--rotations", type=int, default=4, help="random rotations per cloud")
    parser.add_argument(
        "--steps", type=int, default=32, help="steps of the coarse path; the fine one has four times as many"
    )
    parser.add_argument("--repetitions", type=int, default=5, help="of which the median time is taken")
    return parser


def main() -> None:
    options = measure.start(parser())
    rows, title = measured(options)
    measure.report(rows, title=title, path=options.json)


if __name__ == "__main__":
    main()
