"""One training step of AC-PointNet against a plain step of the same PointNet, and against Algorithm 1 as written.

PointNet of the published size, 1024 points, 40 classes, 50 draws, batches of 32 ModelNet40 clouds in random poses; at
initialisation, and after training. Medians of interleaved steps in one run. '24 anchors' are the candidates that
the library takes where no search is named, compared on views, with two forms as well; 'soft' is the rule of the rows AC
(soft) of the tables. 'ordinary PointNet' is a plain step of the same architecture from torch's own layers, without our
shortcuts through the maximum.
"""

import argparse
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Objective, one_vs_rest
from adacanon.core.precision import reduced_precision
from adacanon.experiments.clouds.rotated_clouds import modelnet, randomly_rotated
from adacanon.experiments.clouds.searches import FAST, searches
from adacanon.experiments.clouds.soft_clouds import SOFT
from adacanon.maximizers import AnchoredSearch, Calibration, CoarseToFine
from adacanon.points import Rotations
from adacanon.points.pointnet import PointNet
from benchmarks.frame import measure
from benchmarks.frame.naive import naive_step


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


def fast_objective(network: nn.Module, *, draws: int, size: int, samples: int) -> Objective:
    """The training objective with the fast settings."""
    evaluation, training = searches({**FAST, "draws": draws, "size": size}, samples=samples)
    model = Canonicalized(network, Rotations(), evaluation, training_search=training)
    return Objective(model, loss=one_vs_rest, forms=FAST["forms"])


def anchored_objective(network: nn.Module, *, size: int) -> Objective:
    """Two forms among the 24 anchors, which are compared on views."""
    every = AnchoredSearch(24)
    views = CoarseToFine(every, size, contenders=0, pilot=False, calibration=Calibration(4))
    return Objective(Canonicalized(network, Rotations(), every, training_search=views), forms=FAST["forms"])


def soft_objective(network: nn.Module) -> Objective:
    """The rule of the rows AC (soft): four frames and a temperature, gradients through every form."""
    frames = AnchoredSearch(SOFT["frames"], whole=False)
    return Objective(Canonicalized(network, Rotations(), frames, temperature=SOFT["temperature"]))


def steps(
    network: nn.Module, clouds: Tensor, labels: Tensor, options: argparse.Namespace
) -> dict[str, Callable[[], object]]:
    """The steps to be timed, on one network; ours with a memory that knows the clouds."""
    ids = torch.arange(len(clouds))
    objective = fast_objective(network, draws=options.draws, size=options.size, samples=len(clouds))
    objective.train()(clouds, labels, ids)
    anchored = anchored_objective(network, size=options.size).train()
    anchored(clouds, labels)
    soft = soft_objective(network).train()
    ordinary = OrdinaryPointNet(options.classes)
    return {
        "plain": lambda: step(network, lambda: one_vs_rest(network(clouds), labels)),
        "ours": lambda: step(objective, lambda: objective(clouds, labels, ids).loss),
        "anchored": lambda: step(anchored, lambda: anchored(clouds, labels).loss),
        "soft": lambda: step(soft, lambda: soft(clouds, labels).loss),
        "ordinary": lambda: step(ordinary, lambda: one_vs_rest(ordinary(clouds), labels)),
        "naive": lambda: naive_step(network, clouds, labels, draws=options.draws),
    }


def train(network: nn.Module, options: argparse.Namespace) -> None:
    """An epoch of ModelNet40 with the fast settings, or its first steps."""
    data = modelnet(options.classes, options.points).train
    clouds = randomly_rotated(data.points, torch.Generator().manual_seed(options.seed))
    objective = fast_objective(network, draws=options.draws, size=options.size, samples=len(clouds)).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    order = torch.randperm(len(data.labels), generator=torch.Generator().manual_seed(options.seed))
    for rows in order.split(options.batch)[: options.steps]:
        optimizer.zero_grad()
        objective(clouds[rows], data.labels[rows], rows).loss.backward()
        optimizer.step()


def row(name: str, network: nn.Module, clouds: Tensor, labels: Tensor, options: argparse.Namespace) -> measure.Row:
    """All steps in turn, and their ratios."""
    actions = steps(network, clouds, labels, options)
    seconds = measure.medians(actions, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    return {
        "network": name,
        "plain step, s": seconds["plain"],
        "ours over plain": seconds["ours"] / seconds["plain"],
        "24 anchors over plain": seconds["anchored"] / seconds["plain"],
        "soft over plain": seconds["soft"] / seconds["plain"],
        "ours over ordinary PointNet": seconds["ours"] / seconds["ordinary"],
        "naive over ours": seconds["naive"] / seconds["ours"],
    }


def section(options: argparse.Namespace) -> measure.Section:
    """Headlines: our steps over the plain one for both networks, and the smaller advantage over Algorithm 1."""
    torch.manual_seed(options.seed)
    data, network = modelnet(options.classes, options.points).train, PointNet(options.classes)
    chosen = torch.randperm(len(data.labels), generator=torch.Generator().manual_seed(options.seed + 1))
    chosen = chosen[: options.batch]
    clouds, labels = randomly_rotated(data.points[chosen], torch.Generator().manual_seed(0)), data.labels[chosen]
    rows = [row("at initialisation", network, clouds, labels, options)]
    train(network, options)
    after = "after one epoch" if options.steps is None else f"after {options.steps} steps"
    rows.append(row(after, network, clouds, labels, options))
    headline = {
        "pointnet_step_over_plain": {
            f"{search}, {row['network']}": row[column]
            for search, column in (("50 draws", "ours over plain"), ("24 anchors", "24 anchors over plain"))
            for row in rows
        },
        "soft_step_over_plain": {row["network"]: row["soft over plain"] for row in rows},
        "pointnet_naive_over_ours": min(row["naive over ours"] for row in rows),
    }
    return headline, rows


def step(module: nn.Module, loss: Callable[[], Tensor]) -> None:
    """Leave the gradients of a loss in the parameters."""
    module.train()
    module.zero_grad()
    loss().backward()


def parser() -> argparse.ArgumentParser:
    quick = {"repetitions": 1, "steps": 1, "draws": 4, "batch": 4, "points": 64, "size": 16}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=None, help="training between the measurements; None: an epoch")
    parser.add_argument("--classes", type=int, choices=(10, 40), default=40)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--points", type=int, default=1024)
    parser.add_argument("--size", type=int, default=FAST["size"], help="points of the coarse view")
    return parser


def title(options: argparse.Namespace) -> str:
    return (
        f"{options.draws} draws, {options.classes} classes, {options.points} points, batches of {options.batch}; "
        f"coarse view of {options.size} points in {reduced_precision('cpu') or torch.float32}; "
        f"{options.threads} threads, {options.clock} time"
    )


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
