"""Convex shapes of the plane, one in each of some scenes: how far a place lies outside of them."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


def turns(angles: Tensor) -> Tensor:
    """Rotation matrices (..., 2, 2), anticlockwise.

    Example:
        >>> turns(torch.tensor(math.pi / 2)).round().tolist()
        [[-0.0, -1.0], [1.0, -0.0]]
    """
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([torch.stack([cos, -sin], -1), torch.stack([sin, cos], -1)], -2)


@dataclass(frozen=True)
class ConvexShapes:
    r"""The intersections of half planes :math:`n \cdot x \le c`, with unit normals n.

    Attributes:
        normals: (scenes, edges, 2).
        offsets: c, (scenes, edges).
    """

    normals: Tensor
    offsets: Tensor

    def distance(self, places: Tensor, index: Tensor) -> Tensor:
        """The largest distance of places (n, places, 2) to an edge, of the scenes ``index``; negative inside."""
        return (places @ self.normals[index].mT - self.offsets[index].unsqueeze(1)).amax(-1)

    def placed(self, centre: Tensor, tilt: Tensor) -> "ConvexShapes":
        """Turned anticlockwise about the origin by ``tilt`` (scenes,), then moved to ``centre`` (scenes, 2)."""
        normals = self.normals @ turns(tilt).mT
        return ConvexShapes(normals, self.offsets + (normals @ centre.unsqueeze(-1)).squeeze(-1))


def rectangles(x: Tensor, y: Tensor, width: Tensor, height: Tensor) -> ConvexShapes:
    """Around (x, y)."""
    normals = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]).expand(len(width), -1, -1)
    return ConvexShapes(normals, torch.stack([width / 2 + x, width / 2 - x, height / 2 + y, height / 2 - y], 1))


def triangles(base: Tensor, width: Tensor, height: Tensor) -> ConvexShapes:
    """Upon a base at the height ``base``, with the tip above its middle, at x = 0."""
    right = torch.nn.functional.normalize(torch.stack([height, width / 2], -1), dim=-1)
    left, down = right * torch.tensor([-1.0, 1.0]), torch.tensor([0.0, -1.0]).expand_as(right)
    sides = right[:, 1] * (base + height)
    return ConvexShapes(torch.stack([right, left, down], 1), torch.stack([sides, sides, -base], 1))


def hexagons(height: Tensor) -> ConvexShapes:
    """Regular ones around the origin, with this distance between opposite edges."""
    directions = torch.arange(6) * math.pi / 3
    normals = torch.stack([directions.cos(), directions.sin()], -1).expand(len(height), -1, -1)
    return ConvexShapes(normals, (height / 2).unsqueeze(1).expand(-1, 6))
