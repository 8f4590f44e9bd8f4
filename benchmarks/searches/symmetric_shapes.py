"""Clouds with symmetry in random poses: how many answers a rotation changes, how far scores move, and what it costs.

Made clouds whose variances agree exactly, the same with errors of several sizes, test shapes of ModelNet40 that were
stretched until two or three variances agree, and real tables, bottles and bowls. Two networks: a PointNet with random
weights, whose batch statistics and mean scores are those of test shapes, and an AC-PointNet that was trained on
ModelNet40. An answer has changed if it is not the one that most poses of its cloud get. Scores move by the largest
difference between two poses, in units of the deviation of scores between test shapes.

The second table is about paths: a cloud is stretched along one axis and compressed along another one by up to a
hundredth, so that variances which agree half way differ by up to four hundredths before and after. The jump is the
largest change of a score between neighbours; that of a continuous function shrinks with the steps.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon import AnchoredSearch, Canonicalized, WeightedAnchors
from adacanon.core.maximizer import Maximizer
from adacanon.errors import UndeterminedWarning
from adacanon.points import PointNet, Rotations
from adacanon.points.cloud_family import Clouds, coordinates_of, mask_of
from adacanon.points.frames import axes_determined, principal_axes
from adacanon.spaces import SO3
from adacanon.spaces.so3 import rotation_group
from benchmarks.frame import cascade_networks, measure
from benchmarks.frame.symmetric_clouds import isotropic, made_clouds, noisy, two_alike

KINDS = ("table", "bottle", "bowl")
ERRORS = (1e-6, 1e-4, 1e-2)
POINTS = 128
"""Of a test shape."""
WAY = 0.01
STAGES = ((256, 8, 1e-3),)


@dataclass(frozen=True, repr=False)
class PrincipalAxes(Rotations):
    """The 24 frames of principal axes as the eigensolver returns them, also where variances agree."""

    def anchor(self, g: Clouds) -> Tensor:
        points = coordinates_of(g)
        axes = principal_axes(points, mask_of(g))
        return (rotation_group("cube").to(axes) @ axes.unsqueeze(1)).to(points.dtype)

    def determined_for_scores(self, g: Clouds) -> Tensor:
        return axes_determined(coordinates_of(g), mask_of(g))


SEARCHES: dict[str, tuple[Rotations, Maximizer, float]] = {
    "principal axes alone": (PrincipalAxes(), AnchoredSearch(24), 0.0),
    "the default": (Rotations(), AnchoredSearch(24), 0.0),
    "weighted anchors, temperature 1": (Rotations(), WeightedAnchors(), 1.0),
}


def rows(options: argparse.Namespace) -> Iterator[measure.Row]:
    """One for each network, group of clouds and search."""
    poses = SO3().sample(options.poses, generator=torch.Generator().manual_seed(options.seed))
    subject = _subject(options)
    groups = groups_of(subject, options.shapes)
    for name, network in networks(subject, options).items():
        for search, (family, maximizer, temperature) in SEARCHES.items():
            model = Canonicalized(network, family, maximizer, temperature=temperature).eval()
            unit = _scores(model, ordinary(subject, options.shapes)).std(0).mean().clamp(min=1e-12)
            for group, clouds in groups.items():
                row = {"network": name, "clouds": group, "search": search}
                yield {**row, **measured(model, clouds, poses, float(unit))}


def paths(options: argparse.Namespace) -> Iterator[measure.Row]:
    """One for each cloud and search, of the trained network."""
    subject = _subject(options)
    others = ordinary(subject, options.shapes)
    clouds = {"square table": made_clouds()["square table"], "a test shape, two alike": two_alike(others[0])}
    for search, (family, maximizer, temperature) in SEARCHES.items():
        model = Canonicalized(subject.model.network, family, maximizer, temperature=temperature).eval()
        unit = float(_scores(model, others).std(0).mean().clamp(min=1e-12))
        for name, cloud in clouds.items():
            jumps = {f"jump, {n} steps": largest_jump(model, cloud, n) / unit for n in options.steps}
            yield {"network": "trained", "path": name, "search": search, **jumps}


def largest_jump(model: Canonicalized, cloud: Tensor, steps: int) -> float:
    """The largest change of a score between neighbours on the path."""
    scales = torch.linspace(-WAY, WAY, steps, dtype=torch.float64)
    stretched = torch.ones(steps, 1, 3, dtype=torch.float64)
    axes = principal_axes(cloud[None])[0]
    stretched[:, 0, 1], stretched[:, 0, 2] = 1 + scales, 1 - scales
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeterminedWarning)
        scores = _scores(model, ((cloud @ axes.mT) * stretched).float())
    return float(scores.diff(dim=0).abs().max())


@torch.no_grad()
def measured(model: Canonicalized, clouds: list[Tensor], poses: Tensor, unit: float) -> measure.Row:
    """The figures of a model on some clouds in some poses."""
    changed, moved, evaluations, told = [], [], [], []
    for cloud in clouds:
        turned = cloud.float() @ poses.float().mT
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndeterminedWarning)
            found = model.canonicalize(turned)
        answers = found.logits.argmax(1)
        assert found.determined is not None
        changed.append(float((answers != answers.mode().values).double().mean()))
        moved.append(float((found.logits.amax(0) - found.logits.amin(0)).max()) / unit)
        evaluations.append(found.evaluations)
        told.append(float((~found.determined).double().mean()))
    count = len(clouds)
    return {
        "shapes": count,
        "changed, %": 100 * sum(changed) / count,
        "of the worst, %": 100 * max(changed),
        "moved": sum(moved) / count,
        "at most": max(moved),
        "evaluations": sum(evaluations) / count,
        "reported, %": 100 * sum(told) / count,
    }


def groups_of(subject: cascade_networks.Subject, shapes: int) -> dict[str, list[Tensor]]:
    """Clouds by what is special about them."""
    made, others = list(made_clouds().values()), list(ordinary(subject, shapes))
    groups = {"made, exact": made}
    for size in ERRORS:
        groups[f"made, errors of {size:.0e}"] = [noisy(cloud, size, seed=i) for i, cloud in enumerate(made)]
    groups["test shapes, two variances alike"] = [two_alike(cloud) for cloud in others]
    groups["test shapes, three alike"] = [isotropic(cloud) for cloud in others]
    for kind in KINDS:
        groups[f"{kind}s"] = list(_of_class(subject, kind, shapes))
    groups["test shapes"] = others
    return groups


def ordinary(subject: cascade_networks.Subject, shapes: int) -> Tensor:
    """Test shapes of all classes."""
    return subject.samples[_some(subject.split.test, shapes), :POINTS]


def networks(subject: cascade_networks.Subject, options: argparse.Namespace) -> dict[str, PointNet]:
    """One of random weights, and a trained one."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        at_random = PointNet(40, dropout=0.0).train()
        for parameter in at_random.parameters():
            parameter.requires_grad_(False)
        clouds = ordinary(subject, 256)
        for _ in range(40):
            at_random(clouds)
        at_random.eval()
        last = [module for module in at_random.modules() if isinstance(module, torch.nn.Linear)][-1]
        last.bias -= at_random(clouds).mean(0)
    return {"random weights": at_random, "trained": subject.model.network}  # type: ignore[dict-item]


def _subject(options: argparse.Namespace) -> cascade_networks.Subject:
    stages = ((32, 0, 1e-3),) if options.quick else STAGES
    make: Callable[[], Any] = lambda: PointNet(40)  # noqa: E731
    return cascade_networks.clouds_of(cascade_networks.seeded(make), "AC-PointNet", classes=40, stages=stages)


def _of_class(subject: cascade_networks.Subject, kind: str, shapes: int) -> Tensor:
    label = cascade_networks.modelnet(40, 32).class_names.index(kind)
    index = subject.split.test
    return subject.samples[_some(index[subject.labels[index] == label], shapes), :POINTS]


def _some(index: Tensor, count: int) -> Tensor:
    return index[:: max(1, len(index) // count)][:count]


@torch.no_grad()
def _scores(model: Canonicalized, clouds: Tensor) -> Tensor:
    return torch.cat([model(rows) for rows in clouds.split(32)])


def main(arguments: list[str] | None = None) -> list[measure.Row]:
    parser = measure.section_options(__doc__, quick={"poses": 2, "shapes": 2, "steps": [3, 5]})
    parser.add_argument("--poses", type=int, default=8, help="random rotations of every cloud")
    parser.add_argument("--shapes", type=int, default=6, help="test shapes of each kind")
    parser.add_argument("--steps", type=int, nargs="+", default=[33, 129], help="clouds on a path")
    parser.add_argument("--only", choices=("poses", "paths"), default=None, help="one of the two tables")
    options = measure.start(parser, arguments)
    found = [] if options.only == "paths" else list(_shown(rows(options)))
    if found:
        title = f"{options.poses} poses of every cloud, in float32; trained on 256 points of a fourth of ModelNet40"
        measure.report(found, title=title, path=options.json and options.json / "symmetric_shapes.json")
    if options.only != "poses":
        on_paths = list(_shown(paths(options)))
        title = "Largest change of a score between neighbours, in deviations of scores between test shapes"
        measure.report(on_paths, title=title, path=options.json and options.json / "symmetric_paths.json")
        found += on_paths
    return found


def _shown(found: Iterator[measure.Row]) -> Iterator[measure.Row]:
    for row in found:
        print({key: measure.text(value) for key, value in row.items()}, flush=True)
        yield row


if __name__ == "__main__":
    main()
