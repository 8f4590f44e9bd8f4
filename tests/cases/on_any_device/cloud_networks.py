"""Networks and functions on clouds and images, and the rivals on clouds, as plain modules."""

from typing import Any

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds import (
    EGNN,
    VNDGCNN,
    LearnedCanonicalization,
    PCAAligned,
    PCAFrameAveraged,
    VNDGCNNSegmentation,
    VNFeatures,
    VNMeanPool,
    VNPointNet,
    VNPointNetSegmentation,
    aligning_rotations,
    proper_rotations,
)
from adacanon.core.pytree import Tree
from adacanon.images import Preprocessing, ResNet18, UNet, area_average, warp
from adacanon.points import (
    DGCNN,
    RSCNN,
    Balls,
    DeepSet,
    DGCNNSegmentation,
    PairNetwork,
    PointNet,
    PointNet2,
    PointNetSegmentation,
    ball_query,
    farthest_points,
    multiset_distance,
    nearest_neighbours,
    padded_clouds,
    principal_frames,
)
from cases.image_cases import images
from cases.on_any_device.case import CLASSES, Case, Move, of_network
from cases.on_any_device.families import clouds, mask

LEVELS = (Balls(6, 0.9, 4), Balls(3, 1.5, 3))
CONTEXT: tuple[Any, Any] = ((2, 2, 3), (3, 2))


def _categories() -> Tensor:
    return torch.eye(2)[[0, 1, 0]]


def _atoms() -> Tensor:
    return torch.eye(4)[torch.arange(30).reshape(3, 10) % 4]


def _pointnet() -> PointNet:
    return PointNet(CLASSES, widths=(8, 16), head=(8,))


CLASSIFIERS: dict[str, Any] = {
    "DeepSet": lambda: DeepSet(CLASSES, widths=(8, 8), head=(8,)),
    "DeepSet, mean": lambda: DeepSet(CLASSES, widths=(8,), head=(8,), pooling="mean", batch_norm=False),
    "PointNet": _pointnet,
    "PointNet without normalization": lambda: PointNet(CLASSES, widths=(8, 16), head=(8,), batch_norm=False),
    "PointNet2": lambda: PointNet2(CLASSES, levels=LEVELS, widths=((6, 6), (8, 8)), last=(8,), head=(8,)),
    "RSCNN": lambda: RSCNN(CLASSES, levels=LEVELS, widths=(8, 8, 8), head=(8,)),
    "DGCNN": lambda: DGCNN(CLASSES, k=4, widths=(6, 8), aggregation=12, head=(8,)),
    "VNPointNet": lambda: VNPointNet(CLASSES, k=4, widths=(3, 3, 4, 4), context=CONTEXT, head=(8,)),
    "VNDGCNN": lambda: VNDGCNN(CLASSES, k=4, widths=(3, 3), aggregation=4, head=(8,)),
    "VNFeatures": lambda: VNFeatures(k=4, widths=(3, 3)),
    "LearnedCanonicalization": lambda: LearnedCanonicalization(_pointnet(), k=4, channels=3),
    "PCAAligned": lambda: PCAAligned(_pointnet()),
    "PCAFrameAveraged": lambda: PCAFrameAveraged(_pointnet()),
}

SEGMENTATION: dict[str, Any] = {
    "PointNetSegmentation": lambda: PointNetSegmentation(4, categories=2, widths=(6, 6, 8), head=(8, 6)),
    "DGCNNSegmentation": lambda: DGCNNSegmentation(4, categories=2, k=4, width=6, aggregation=8, head=(8, 6)),
    "VNPointNetSegmentation": lambda: VNPointNetSegmentation(
        4, categories=2, k=4, widths=(3, 3, 3, 3, 4, 4), context=CONTEXT, head=(8, 6)
    ),
    "VNDGCNNSegmentation": lambda: VNDGCNNSegmentation(
        4, categories=2, k=4, width=3, aggregation=4, embedded=6, head=(8, 6)
    ),
}

MOLECULES: dict[str, Any] = {
    "PairNetwork": lambda: PairNetwork(2, features=4, width=6, filters=2, layers=2, hidden=4),
    "EGNN": lambda: EGNN(2, features=4, width=6, layers=2),
    "EGNN, vectors": lambda: EGNN(3, features=4, width=6, layers=2, answers="vectors"),
}

PICTURES: dict[str, Any] = {
    "UNet": (lambda: UNet(CLASSES, channels=3, widths=(4, 6)), 8),
    "Preprocessing": (lambda: nn.Sequential(Preprocessing(8), nn.Conv2d(3, 2, 3)), 6),
}


def _functions(move: Move) -> dict[str, Tree]:
    points, real = move(clouds()), move(mask())
    chosen = farthest_points(points, 4)
    centres = points.gather(1, chosen.unsqueeze(2).expand(-1, -1, 3))
    batch, padding = padded_clouds([points[0], points[1, :4]])
    return {
        "farthest points": (chosen, farthest_points(points, 4, mask=real)),
        "neighbours": (nearest_neighbours(points, 3), nearest_neighbours(points, 3, mask=real)),
        "neighbours of others": nearest_neighbours(points, 3, queries=centres, mask=real),
        "balls": (ball_query(points, centres, 0.8, 3), ball_query(points, centres, 0.8, 3, mask=real)),
        "frames": (principal_frames(points), principal_frames(points, real)),
        "distance": multiset_distance(points[0], points[1]),
        "padded": (batch, padding),
        "poses": (aligning_rotations(points, real), proper_rotations(points[:, :3])),
        "pooled": VNMeanPool()(points.reshape(3, 2, 3, 5)),
    }


def _resampled(move: Move) -> dict[str, Tree]:
    pictures = move(images(2, 3, 6, 8, dtype=torch.float32))
    maps = move(torch.tensor([[[0.8, 0.1, 0.0], [-0.1, 0.9, 0.2]]]).expand(2, -1, -1))
    rectangles = move(torch.tensor([[0.1, 0.2, 0.5, 0.6], [0.0, 0.0, 1.0, 0.7]]))
    return {"warped": warp(pictures, maps), "averages": area_average(pictures, rectangles, size=(3, 4))}


CASES: dict[str, Case] = {
    **{f"network {name}": of_network(build, lambda: (clouds(),)) for name, build in CLASSIFIERS.items()},
    **{
        f"network {name}, padded": of_network(build, lambda: (clouds(), mask()))
        for name, build in CLASSIFIERS.items()
        if name in ("DeepSet", "PointNet", "PointNet2", "RSCNN", "DGCNN", "VNPointNet", "VNDGCNN")
    },
    **{f"network {name}": of_network(build, lambda: (clouds(), _categories())) for name, build in SEGMENTATION.items()},
    **{
        f"network {name}, padded": of_network(build, lambda: (clouds(), _categories(), mask()))
        for name, build in SEGMENTATION.items()
    },
    **{f"network {name}": of_network(build, lambda: (clouds(), _atoms(), mask())) for name, build in MOLECULES.items()},
    **{
        f"network {name}": of_network(build, lambda side=side: (images(2, 3, side, side, dtype=torch.float32),))
        for name, (build, side) in PICTURES.items()
    },
    "network ResNet18": of_network(
        lambda: ResNet18(CLASSES), lambda: (images(2, 3, 33, 33, dtype=torch.float32),), checkpoint=False
    ),
    "functions of clouds": _functions,
    "functions of images": _resampled,
}
