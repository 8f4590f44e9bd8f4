"""One training step and one evaluation of every network on clouds, relative to PointNet.

Networks of the published sizes on random clouds; PointNet++ and RS-CNN with a quarter of their centres and twice
their radii, to suit 256 points. Medians of interleaved steps in one run.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.baselines.learned_canonicalization import LearnedCanonicalization, cn_dgcnn, cn_pointnet
from adacanon.baselines.pca_frames import PCAAligned, PCAFrameAveraged
from adacanon.baselines.vn_networks import VNDGCNN, VNPointNet
from adacanon.baselines.vn_segmentation import VNDGCNNSegmentation, VNPointNetSegmentation
from adacanon.points import (
    DGCNN,
    RSCNN,
    Balls,
    DeepSet,
    DGCNNSegmentation,
    PointNet,
    PointNet2,
    PointNetSegmentation,
)
from benchmarks import measure

CLASSES, CATEGORIES = 40, 16

CLASSIFICATION: dict[str, Callable[[], nn.Module]] = {
    "PointNet": lambda: PointNet(CLASSES),
    "DeepSet": lambda: DeepSet(CLASSES),
    "PointNet++": lambda: PointNet2(CLASSES, levels=(Balls(128, 0.4, 32), Balls(32, 0.8, 64))),
    "RS-CNN": lambda: RSCNN(CLASSES, levels=(Balls(128, 0.46, 48), Balls(32, 0.64, 64))),
    "DGCNN": lambda: DGCNN(CLASSES),
    "VN-PointNet": lambda: VNPointNet(CLASSES),
    "VN-DGCNN": lambda: VNDGCNN(CLASSES),
    "CN-PointNet": lambda: cn_pointnet(CLASSES),
    "CN-DGCNN": lambda: cn_dgcnn(CLASSES),
    "PCA PointNet": lambda: PCAAligned(PointNet(CLASSES)),
    "PCA-FA PointNet": lambda: PCAFrameAveraged(PointNet(CLASSES)),
}
SEGMENTATION: dict[str, Callable[[], nn.Module]] = {
    "PointNet, parts": PointNetSegmentation,
    "DGCNN, parts": DGCNNSegmentation,
    "VN-PointNet, parts": VNPointNetSegmentation,
    "VN-DGCNN, parts": VNDGCNNSegmentation,
    "CN-PointNet, parts": lambda: LearnedCanonicalization(PointNetSegmentation()),
    "CN-DGCNN, parts": lambda: LearnedCanonicalization(DGCNNSegmentation()),
}


def step(model: nn.Module, inputs: tuple[Tensor, ...]) -> None:
    """Forward and backward pass in training mode."""
    model.train().zero_grad()
    scores = model(*inputs).flatten(0, -2)
    functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long)).backward()


@torch.no_grad()
def evaluation(model: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor:
    return model.eval()(*inputs)


def main() -> None:
    parser = measure.options(__doc__ or "")
    every = [*CLASSIFICATION, *SEGMENTATION]
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--points", type=int, default=256)
    parser.add_argument("--networks", nargs="+", choices=every, default=every)
    parser.add_argument("--clock", choices=measure.CLOCKS, default="wall", help="processor: undisturbed by other jobs")
    options = measure.start(parser)
    torch.manual_seed(options.seed)
    clouds = 0.4 * torch.randn(options.batch, options.points, 3)
    shapes = torch.eye(CATEGORIES)[torch.randint(CATEGORIES, (options.batch,))]
    models = {name: build() for name, build in (CLASSIFICATION | SEGMENTATION).items() if name in options.networks}
    models.setdefault("PointNet", CLASSIFICATION["PointNet"]())
    timed: dict[str, Callable[[], object]] = {}
    for name, model in models.items():
        inputs = (clouds, shapes) if name in SEGMENTATION else (clouds,)
        timed[f"{name} step"] = partial(step, model, inputs)
        timed[f"{name} evaluation"] = partial(evaluation, model, inputs)
    seconds = measure.medians(timed, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    rows = [
        {
            "network": name,
            "parameters": sum(p.numel() for p in model.parameters()),
            "step, s": seconds[f"{name} step"],
            "over PointNet": seconds[f"{name} step"] / seconds["PointNet step"],
            "evaluation, s": seconds[f"{name} evaluation"],
            "evaluation over PointNet": seconds[f"{name} evaluation"] / seconds["PointNet evaluation"],
        }
        for name, model in models.items()
    ]
    title = f"{options.batch} clouds of {options.points} points, {options.threads} threads, {options.clock} time"
    measure.report(rows, title=title, path=options.json)


if __name__ == "__main__":
    main()
