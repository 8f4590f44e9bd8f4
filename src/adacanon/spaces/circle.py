"""The circle: points are angles (...,) in [-pi, pi)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.arguments import whole_number
from adacanon.core.space import Space


@dataclass(frozen=True)
class Circle(Space):
    r"""Angles :math:`\theta \in \mathbb R / 2\pi`, with the shorter arc as distance.

    Example:
        >>> Circle().cover(4).tolist() == [0, math.pi / 2, -math.pi, -math.pi / 2]
        True
        >>> round(float(Circle().distance(torch.tensor(3.0), torch.tensor(-3.0))), 4)
        0.2832
    """

    @property
    def diameter(self) -> float:
        return math.pi

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        return self.project(2 * math.pi * torch.rand(count, generator=generator, dtype=torch.float64))

    def project(self, u: Tensor) -> Tensor:
        angle = (u + math.pi).remainder(2 * math.pi) - math.pi
        return torch.where(angle >= math.pi, -math.pi, angle)

    def tangent(self, u: Tensor, v: Tensor) -> Tensor:
        return v

    def retract(self, u: Tensor, v: Tensor) -> Tensor:
        return self.project(u + v)

    def norm(self, v: Tensor) -> Tensor:
        return v.abs()

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        return self.project(u - v).abs()

    def identity(self) -> Tensor:
        return torch.zeros((), dtype=torch.float64)

    def compose(self, u: Tensor, v: Tensor) -> Tensor:
        return self.project(u + v)

    def cover(self, count: int | None = None) -> Tensor:
        """``count`` equally spaced angles, from zero."""
        count = whole_number("Circle.cover", "count", count, least=1, hint="GridSearch(64)")
        return self.project(2 * math.pi * torch.arange(count, dtype=torch.float64) / count)
