"""Synthetic data sets of clouds: rods and discs, and shapes whose parts are their halves."""

import torch

from adacanon.data.modelnet import Clouds, ModelNet
from adacanon.data.shapenet import CATEGORIES, PARTS, ShapeNetParts, Shapes

POINTS = 48


def rods_and_discs(samples: int, seed: int, points: int = POINTS) -> Clouds:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(samples) % 2
    scales = torch.tensor([[1.0, 0.1, 0.1], [0.7, 0.7, 0.1]])[labels]
    x = torch.randn(samples, points, 3, generator=generator) * scales[:, None]
    return Clouds(x / x.norm(dim=2).amax(1)[:, None, None], labels, tuple(map(str, range(samples))))


def small_modelnet(train: int = 8, test: int = 6) -> ModelNet:
    return ModelNet(rods_and_discs(train, 0), rods_and_discs(test, 1), ("rod", "disc"))


def small_shapenet(train: int = 6, test: int = 4) -> ShapeNetParts:
    """Two categories, of which a shape's right half is its first part."""
    parts = torch.zeros(CATEGORIES, PARTS, dtype=torch.bool)
    parts[torch.arange(PARTS) * CATEGORIES // PARTS, torch.arange(PARTS)] = True
    splits = (_shapes(train, 0, parts), _shapes(2, 1, parts), _shapes(test, 2, parts))
    return ShapeNetParts(*splits, tuple(f"category{i}" for i in range(CATEGORIES)), parts)


def _shapes(samples: int, seed: int, parts: torch.Tensor) -> Shapes:
    clouds = rods_and_discs(samples, seed)
    first = parts[clouds.labels].int().argmax(1)
    halves = first.unsqueeze(1) + (clouds.points[..., 0] < 0)
    return Shapes(clouds.points, clouds.labels, halves, clouds.ids)
