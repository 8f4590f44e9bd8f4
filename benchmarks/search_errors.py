"""The two errors of every search beside its cost: lost invariance, and the largest jump where principal axes cross.

Invariance error: mean change of the logits under random rotations, relative to their spread over clouds. Jump: the
largest change of a logit between neighbouring clouds of a path, relative to that of alignment with principal axes.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from adacanon import AnchoredSearch, Canonicalized, GridSearch, RandomSearch, Restarts, SampleAndRefine
from adacanon.core import Maximizer
from adacanon.points import Rotations, principal_frames
from adacanon.spaces import SO3, rotation_group
from benchmarks import measure, networks

Function = Callable[[Tensor], Tensor]


def searches() -> dict[str, Maximizer]:
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


def invariance_error(function: Function, clouds: Tensor, *, rotations: int, seed: int) -> float:
    """Mean |change| of the logits under rotations, over their standard deviation across clouds."""
    outputs = function(clouds)
    turns = SO3().sample(rotations, generator=torch.Generator().manual_seed(seed)).to(clouds)
    changes = [(function(clouds @ turn.mT) - outputs).abs().mean() for turn in turns]
    return (torch.stack(changes).mean() / outputs.std(0).mean()).item()


def largest_jump(function: Function, path: Tensor) -> float:
    return function(path).diff(dim=0).abs().max().item()


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--clouds", type=int, default=32)
    parser.add_argument("--points", type=int, default=64)
    parser.add_argument("--rotations", type=int, default=4, help="random rotations per cloud")
    parser.add_argument(
        "--steps", type=int, default=32, help="steps of the coarse path; the fine one has four times as many"
    )
    options = measure.start(parser)
    network = networks.random_network(seed=options.seed)
    clouds, source = networks.clouds(options.clouds, options.points, seed=options.seed)
    paths = [networks.crossing_path(n, options.points, seed=options.seed) for n in (options.steps, 4 * options.steps)]
    models: dict[str, Function] = {"network alone": network, "principal axes": aligned(network)}
    models |= {
        name: Canonicalized(network, Rotations(), search, seed=options.seed).eval()
        for name, search in searches().items()
    }
    with torch.no_grad():
        unit = largest_jump(models["principal axes"], paths[1])
        rows = [
            {
                "search": name,
                "evaluations": model.canonicalize(clouds[:1]).evaluations if isinstance(model, Canonicalized) else 1,
                "invariance error": invariance_error(model, clouds, rotations=options.rotations, seed=options.seed),
                "jump": largest_jump(model, paths[0]) / unit,
                "jump, finer path": largest_jump(model, paths[1]) / unit,
            }
            for name, model in models.items()
        ]
    title = (
        f"{options.clouds} clouds of {options.points} points, {source}; jumps relative to principal axes ({unit:.3g})"
    )
    measure.report(rows, title=title, path=options.json)


if __name__ == "__main__":
    main()
