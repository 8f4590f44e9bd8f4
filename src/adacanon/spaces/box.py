"""Boxes: points are vectors (..., n) between two corners."""

from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.arguments import real_number, whole_number
from adacanon.core.space import Space
from adacanon.errors import InputError, ShapeError
from adacanon.takes import in_order


@dataclass(frozen=True)
class Box(Space):
    r""":math:`\prod_i [\text{low}_i, \text{high}_i]` with the Euclidean distance.

    Args:
        low: the lower corner.
        high: the upper corner.
        neutral: the point that stands for no transformation; the centre if not given.

    Example:
        >>> box = Box((0.0, 0.0), (1.0, 2.0))
        >>> box.sample(5).shape, box.project(torch.tensor([3.0, 1.0])).tolist(), box.identity().tolist()
        (torch.Size([5, 2]), [1.0, 1.0], [0.5, 1.0])
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    neutral: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for corner in ("low", "high", *(("neutral",) if self.neutral is not None else ())):
            object.__setattr__(self, corner, in_order("Box", corner, getattr(self, corner), what="numbers"))
        if not self.low or len(self.low) != len(self.high) or (self.neutral and len(self.neutral) != len(self.low)):
            raise ShapeError(
                f"A box needs corners of one length, got low={self.low}, high={self.high}, neutral={self.neutral}"
            )
        for corner in ("low", "high", *(("neutral",) if self.neutral else ())):
            numbers = tuple(real_number("Box", corner, x) for x in getattr(self, corner))
            object.__setattr__(self, corner, numbers)
        if any(a > b for a, b in zip(self.low, self.high, strict=True)):
            raise InputError(f"A box needs low <= high in every coordinate, got low={self.low}, high={self.high}")
        if self.neutral and not all(a <= x <= b for a, x, b in zip(self.low, self.neutral, self.high, strict=True)):
            raise InputError(f"The neutral point must lie in the box, got neutral={self.neutral}")

    @property
    def diameter(self) -> float:
        return float((self._corner(self.high) - self._corner(self.low)).norm())

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        return self._from_unit(torch.rand(count, len(self.low), generator=generator, dtype=torch.float64))

    def project(self, u: Tensor) -> Tensor:
        low, high = self._corner(self.low).to(u), self._corner(self.high).to(u)
        return torch.minimum(torch.maximum(u, low), high)

    def tangent(self, u: Tensor, v: Tensor) -> Tensor:
        """Directions that leave the box at an active side are removed."""
        low, high = self._corner(self.low).to(u), self._corner(self.high).to(u)
        leaves = ((u <= low) & (v < 0)) | ((u >= high) & (v > 0))
        return torch.where(leaves, 0.0, v)

    def retract(self, u: Tensor, v: Tensor) -> Tensor:
        return self.project(u + v)

    def norm(self, v: Tensor) -> Tensor:
        return v.norm(dim=-1)

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        return (u - v).norm(dim=-1)

    def identity(self) -> Tensor:
        if self.neutral is None:
            return (self._corner(self.low) + self._corner(self.high)) / 2
        return self._corner(self.neutral)

    def cover(self, count: int | None = None) -> Tensor:
        """The additive recurrence with the generalised golden ratio, which spreads any number of points evenly."""
        count = whole_number("Box.cover", "count", count, least=1, hint="GridSearch(64)")
        dimension = len(self.low)
        ratio = 2.0
        for _ in range(64):
            ratio = (1 + ratio) ** (1 / (dimension + 1))
        slopes = ratio ** -torch.arange(1, dimension + 1, dtype=torch.float64)
        steps = torch.arange(1, count + 1, dtype=torch.float64).unsqueeze(1)
        return self._from_unit((0.5 + steps * slopes) % 1)

    def _from_unit(self, x: Tensor) -> Tensor:
        low, high = self._corner(self.low), self._corner(self.high)
        return low + (high - low) * x

    @staticmethod
    def _corner(values: tuple[float, ...]) -> Tensor:
        return torch.tensor(values, dtype=torch.float64)
