"""Rectangles in the unit square: points are corners (..., 4) in the order left, top, right, bottom."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.arguments import set_real_numbers
from adacanon.core.space import Space
from adacanon.errors import InputError
from adacanon.spaces.box import Box


@dataclass(frozen=True)
class Rectangles(Space):
    r"""Rectangles :math:`[x_L, x_R] \times [y_T, y_B] \subset [0, 1]^2` with sides from ``smallest`` to ``largest``, as
    points :math:`(x_L, y_T, x_R, y_B)` with the Euclidean distance (paper: appendix "Truncation Canonicalization").

    An axis of a rectangle is a point of the trapezoid
    :math:`\{(a, b) : 0 \le a,\; b \le 1,\; \text{smallest} \le b - a \le \text{largest}\}`. The neutral rectangle is
    the whole square, or the largest one in the centre if ``largest`` is below 1.

    Example:
        >>> Rectangles(smallest=0.5).sample(3).shape, Rectangles().identity().tolist()
        (torch.Size([3, 4]), [0.0, 0.0, 1.0, 1.0])
        >>> Rectangles(smallest=0.5).project(torch.tensor([-0.5, 0.0, 1.0, 1.0])).tolist()
        [0.0, 0.0, 1.0, 1.0]
    """

    smallest: float = 0.5
    largest: float = 1.0

    def __post_init__(self) -> None:
        set_real_numbers(self, "smallest", "largest")
        if not 0 < self.smallest <= self.largest <= 1:
            raise InputError(
                "Rectangles need sides 0 < smallest <= largest <= 1, as shares of the whole, "
                f"got smallest={self.smallest}, largest={self.largest}"
            )

    @property
    def diameter(self) -> float:
        corners = self._corners(torch.zeros((), dtype=torch.float64))
        return math.sqrt(2) * float(torch.cdist(corners, corners).max())

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        return self._from_unit(torch.rand(count, 4, generator=generator, dtype=torch.float64))

    def project(self, u: Tensor) -> Tensor:
        """Where an axis is not in the trapezoid, the nearest point of its four sides."""
        axes = _axes(u)
        start = self._corners(u)
        along = start.roll(-1, 0) - start
        length = along.square().sum(-1)
        share = ((axes.unsqueeze(-2) - start) * along).sum(-1) / length.clamp(min=torch.finfo(u.dtype).tiny)
        nearest = _nearest(axes, start + share.clamp(0, 1).unsqueeze(-1) * along)
        inside = (self._beyond(axes) <= 0).all(-1, keepdim=True)
        return _corners_of(torch.where(inside, axes, nearest))

    def tangent(self, u: Tensor, v: Tensor) -> Tensor:
        """The nearest direction that does not leave the space; at a side or a corner it is along a side, or zero."""
        axes, directions = _axes(u), _axes(v)
        slack = 16 * torch.finfo(u.dtype).eps
        active = self._beyond(axes) >= -slack
        normals = _normals(u)
        outwards = directions @ normals.mT
        along = directions.unsqueeze(-2) - outwards.unsqueeze(-1) * normals
        choices = torch.cat([directions.unsqueeze(-2), along, torch.zeros_like(along[..., :1, :])], dim=-2)
        leaves = (choices @ normals.mT > slack * directions.norm(dim=-1)[..., None, None]) & active.unsqueeze(-2)
        return _corners_of(_nearest(directions, choices, allowed=~leaves.any(-1)))

    def retract(self, u: Tensor, v: Tensor) -> Tensor:
        return self.project(u + v)

    def norm(self, v: Tensor) -> Tensor:
        return v.norm(dim=-1)

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        return (u - v).norm(dim=-1)

    def identity(self) -> Tensor:
        return self.project(torch.tensor([0.0, 0.0, 1.0, 1.0], dtype=torch.float64))

    def cover(self, count: int | None = None) -> Tensor:
        """The covering set of a cube, carried over by a map that keeps volumes."""
        return self._from_unit(Box((0.0,) * 4, (1.0,) * 4).cover(count))

    def _from_unit(self, x: Tensor) -> Tensor:
        r"""Uniform rectangles of uniform numbers (..., 4): sides :math:`\ell` have a density of :math:`1 - \ell`."""
        spread, place = x.unflatten(-1, (2, 2)).unbind(-1)
        most, least = (1 - self.smallest) ** 2, (1 - self.largest) ** 2
        side = 1 - (most - (most - least) * spread).sqrt()
        low = place * (1 - side)
        return _corners_of(torch.stack([low, low + side], dim=-1))

    def _corners(self, like: Tensor) -> Tensor:
        """Of the trapezoid, (4, 2); side i goes from corner i to the next."""
        s, S = self.smallest, self.largest
        return torch.tensor([[0, s], [0, S], [1 - S, 1], [1 - s, 1]], dtype=like.dtype, device=like.device)

    def _beyond(self, axes: Tensor) -> Tensor:
        """How far points (..., 2) lie beyond each side of the trapezoid, (..., 4)."""
        normals = _normals(axes)
        return axes @ normals.mT - (normals * self._corners(axes)).sum(-1)


def _normals(like: Tensor) -> Tensor:
    """The outer normals of the four sides."""
    h = math.sqrt(0.5)
    return torch.tensor([[-1, 0], [-h, h], [0, 1], [h, -h]], dtype=like.dtype, device=like.device)


def _axes(u: Tensor) -> Tensor:
    """(..., 4) -> (..., 2, 2), both ends of x and both ends of y."""
    return u.unflatten(-1, (2, 2)).mT


def _corners_of(axes: Tensor) -> Tensor:
    return axes.mT.flatten(-2)


def _nearest(x: Tensor, choices: Tensor, *, allowed: Tensor | None = None) -> Tensor:
    """Of choices (..., n, 2) the nearest to x (..., 2)."""
    distance = (choices - x.unsqueeze(-2)).norm(dim=-1)
    if allowed is not None:
        distance = distance.masked_fill(~allowed, torch.inf)
    index = distance.argmin(-1)[..., None, None].expand(*x.shape[:-1], 1, 2)
    return choices.gather(-2, index).squeeze(-2)
