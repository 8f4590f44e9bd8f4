"""Balls around centres that cover a cloud: what PointNet++ and RS-CNN look at in every level."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.arguments import set_real_numbers, set_whole_numbers
from adacanon.errors import InputError
from adacanon.points.neighbours import ball_query, farthest_points
from adacanon.takes import in_order


@dataclass(frozen=True)
class Groups:
    """Centres of clouds and the points in the balls around them; points are numbered through the whole batch.

    Shape:
        positions (batch, centres, 3), centres (batch * centres, 3), points (batch * points, 3),
        members (batch * centres, count)
    """

    positions: Tensor
    centres: Tensor
    points: Tensor
    members: Tensor

    def around_their_means(self) -> "Groups":
        """Every cloud moved by the mean of its centres to zero, where differences between its points lose nothing to
        rounding; these are the same, so the mean gets no gradient.
        """
        origin = self.positions.detach().mean(1, keepdim=True)
        positions, clouds = self.positions - origin, self.points.unflatten(0, (len(origin), -1)) - origin
        return Groups(positions, positions.flatten(0, 1), clouds.flatten(0, 1), self.members)


@dataclass(frozen=True)
class Balls:
    """``centres`` points that are farthest from each other, and up to ``count`` points within ``radius`` of each.

    Places that are left over repeat the nearest point. Which points are chosen depends neither on the order of
    points nor on the pose (:mod:`~adacanon.points.neighbours`).

    Example:
        >>> groups = Balls(centres=4, radius=0.5, count=8).group(torch.rand(2, 32, 3))
        >>> groups.positions.shape, groups.members.shape
        (torch.Size([2, 4, 3]), torch.Size([8, 8]))
    """

    centres: int
    radius: float
    count: int

    def __post_init__(self) -> None:
        set_whole_numbers(self, "centres", "count", least=0)
        set_real_numbers(self, "radius")
        if not (self.centres > 0 and self.radius > 0 and self.count > 0):
            raise InputError(f"Balls need centres, radius and count above zero, got {self}")

    def group(self, points: Tensor, mask: Tensor | None = None) -> Groups:
        """points (batch, points, 3), mask (batch, points) or None; the rows hold padding too, as zeros."""
        points = points if mask is None else points.masked_fill(~mask.unsqueeze(2), 0)
        chosen = farthest_points(points, self.centres, mask=mask)
        centres = points.gather(1, chosen.unsqueeze(2).expand(-1, -1, points.shape[2]))
        members = ball_query(points, centres, self.radius, self.count, mask=mask)
        first = torch.arange(len(points), device=points.device)[:, None, None] * points.shape[1]
        return Groups(centres, centres.flatten(0, 1), points.flatten(0, 1), (members + first).flatten(0, 1))


def balls(owner: str, name: str, value: Any) -> tuple[Balls, ...]:
    """A check of an argument that takes one :class:`Balls` for every level."""
    levels = in_order(owner, name, value, what="Balls")
    if not all(isinstance(level, Balls) for level in levels):
        raise InputError(
            f"{owner} expects {name} to be Balls in a sequence, got {value!r}. Hint: (Balls(512, 0.2, 32),)"
        )
    return levels
