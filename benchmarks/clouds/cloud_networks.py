"""One training step and one evaluation of every method on clouds, relative to PointNet, beside what it reaches.

Networks of the published sizes on random clouds; PointNet++ and RSCNN with a quarter of their centres and twice their
radii, to suit 256 points. AC rows search and train as in the preset `cpu` of the table `modelnet`. Medians of
interleaved steps in one run. The accuracy is that of `modelnet`, where it has been run. Parts are those of ShapeNet.
"""

import argparse
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.baselines.clouds.learned_canonicalization import LearnedCanonicalization, cn_dgcnn, cn_pointnet
from adacanon.baselines.clouds.pca_frames import PCAAligned, PCAFrameAveraged
from adacanon.baselines.clouds.vn_networks import VNDGCNN, VNPointNet
from adacanon.baselines.clouds.vn_segmentation import VNDGCNNSegmentation, VNPointNetSegmentation
from adacanon.core import Canonicalized, Objective, one_vs_rest
from adacanon.experiments.clouds.modelnet import MODELNET
from adacanon.experiments.clouds.searches import searches
from adacanon.points import (
    DGCNN,
    RSCNN,
    Balls,
    DeepSet,
    DGCNNSegmentation,
    PointNet,
    PointNet2,
    PointNetSegmentation,
    Rotations,
)
from adacanon.runs.run import relevant
from benchmarks.frame import measure

CLASSES, CATEGORIES = 40, 16
RESULTS = Path(__file__).parents[2] / "results"

PLAIN: dict[str, Callable[[], nn.Module]] = {
    "PointNet": lambda: PointNet(CLASSES),
    "DeepSet": lambda: DeepSet(CLASSES),
    "PointNet++": lambda: PointNet2(CLASSES, levels=(Balls(128, 0.4, 32), Balls(32, 0.8, 64))),
    "RSCNN": lambda: RSCNN(CLASSES, levels=(Balls(128, 0.46, 48), Balls(32, 0.64, 64))),
    "DGCNN": lambda: DGCNN(CLASSES),
    "VN-PointNet": lambda: VNPointNet(CLASSES),
    "VN-DGCNN": lambda: VNDGCNN(CLASSES),
    "CN-PointNet": lambda: cn_pointnet(CLASSES),
    "CN-DGCNN": lambda: cn_dgcnn(CLASSES),
    "PCA-PointNet": lambda: PCAAligned(PointNet(CLASSES)),
    "PCA-FA-PointNet": lambda: PCAFrameAveraged(PointNet(CLASSES)),
}
ADAPTED: dict[str, Callable[[], nn.Module]] = {
    "AC-PointNet (paper)": lambda: PointNet(CLASSES),
    "AC-DGCNN (paper)": lambda: DGCNN(CLASSES),
}
"""The networks inside."""

SEGMENTATION: dict[str, Callable[[], nn.Module]] = {
    "PointNet, parts": PointNetSegmentation,
    "DGCNN, parts": DGCNNSegmentation,
    "VN-PointNet, parts": VNPointNetSegmentation,
    "VN-DGCNN, parts": VNDGCNNSegmentation,
    "CN-PointNet, parts": lambda: LearnedCanonicalization(PointNetSegmentation()),
    "CN-DGCNN, parts": lambda: LearnedCanonicalization(DGCNNSegmentation()),
}
BACKBONES = ("DeepSet", "PointNet++", "RSCNN")
RIVALS = (*(name for name in PLAIN if name not in BACKBONES), *ADAPTED)
"""The methods of `modelnet`; augmented rows cost what plain ones do."""


def step(model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    """Forward and backward pass in training mode."""
    model.train().zero_grad()
    scores = model(*inputs).flatten(0, -2)
    functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long)).backward()


def adaptive_step(objective: Objective, clouds: Tensor) -> None:
    """The same with the one-vs-rest loss of a canonicalized network, whose clouds come again and again."""
    objective.train().zero_grad()
    numbers = torch.arange(len(clouds))
    objective(clouds, numbers % CLASSES, numbers).loss.backward()


@torch.no_grad()
def evaluation(model: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    return model.eval()(*inputs)


def adaptive(row: str, clouds: int) -> Objective:
    """As an AC row of the preset `cpu` searches and trains."""
    record, network = MODELNET.row(row), ADAPTED[row]()
    options = record.own_settings("cpu")
    search, training_search = searches(options, samples=clouds)
    model = Canonicalized(network, Rotations(), search, training_search=training_search)
    return Objective(model, loss=one_vs_rest, forms=options.get("forms"))


def accuracy(row: str) -> float | None:
    """The mean over the splits of `modelnet` that were run."""
    runs = MODELNET.runs(rows=(row,)) if row in MODELNET.row_names else []
    records = relevant(runs, RESULTS / f"{MODELNET.name}.jsonl")
    return statistics.fmean(record["metrics"]["accuracy"] for record in records) if records else None


def section(options: argparse.Namespace) -> measure.Section:
    """No headline: the ratios are in the table."""
    torch.manual_seed(options.seed)
    clouds = 0.4 * torch.randn(options.batch, options.points, 3)
    shapes = torch.eye(CATEGORIES)[torch.randint(CATEGORIES, (options.batch,))]
    timed: dict[str, Callable[[], object]] = {}
    parameters: dict[str, int] = {}
    for name in dict.fromkeys(("PointNet", *options.networks)):
        if name in ADAPTED:
            objective = adaptive(name, options.batch)
            model, inputs = objective.model, (clouds,)
            timed[f"{name} step"] = partial(adaptive_step, objective, clouds)
        else:
            model = (PLAIN | SEGMENTATION)[name]()
            inputs = (clouds, shapes) if name in SEGMENTATION else (clouds,)
            timed[f"{name} step"] = partial(step, model, inputs)
        timed[f"{name} evaluation"] = partial(evaluation, model, inputs)
        parameters[name] = sum(p.numel() for p in model.parameters())
    seconds = measure.medians(timed, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    return {}, [
        {
            "network": name,
            "parameters": count,
            "step, s": seconds[f"{name} step"],
            "over PointNet": seconds[f"{name} step"] / seconds["PointNet step"],
            "evaluation, s": seconds[f"{name} evaluation"],
            "evaluation over PointNet": seconds[f"{name} evaluation"] / seconds["PointNet evaluation"],
            "accuracy": accuracy(name),
        }
        for name, count in parameters.items()
    ]


def parser() -> argparse.ArgumentParser:
    few = ["VN-PointNet", "PCA-FA-PointNet", "AC-PointNet (paper)"]
    quick = {"repetitions": 1, "batch": 2, "points": 48, "networks": few}
    parser = measure.section_options(__doc__ or "", quick=quick)
    every = [*PLAIN, *ADAPTED, *SEGMENTATION]
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--points", type=int, default=256)
    parser.add_argument("--networks", nargs="+", choices=every, default=list(RIVALS))
    return parser


def title(options: argparse.Namespace) -> str:
    return f"{options.batch} clouds of {options.points} points, {options.threads} threads, {options.clock} time"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
