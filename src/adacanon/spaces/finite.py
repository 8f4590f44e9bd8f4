"""Finite sets: points are indices (...,)."""

from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.arguments import set_whole_numbers
from adacanon.core.space import Space
from adacanon.errors import InputError


@dataclass(frozen=True)
class Finite(Space):
    """The indices 0 .. size - 1 with the discrete distance; the family says what each index does, 0 being neutral.

    Example:
        >>> Finite(4).cover().tolist(), Finite(4).project(torch.tensor([2.4, 9.0])).tolist()
        ([0, 1, 2, 3], [2, 3])
    """

    size: int

    def __post_init__(self) -> None:
        set_whole_numbers(self, "size", least=1, most=2**53)

    @property
    def diameter(self) -> float:
        return 1.0

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        return torch.randint(self.size, (count,), generator=generator)

    def project(self, u: Tensor) -> Tensor:
        return u.round().long().clamp(0, self.size - 1) if u.is_floating_point() else u.clamp(0, self.size - 1)

    def tangent(self, u: Tensor, v: Tensor) -> Tensor:
        return torch.zeros_like(v)

    def retract(self, u: Tensor, v: Tensor) -> Tensor:
        return u

    def norm(self, v: Tensor) -> Tensor:
        return v.abs().to(torch.get_default_dtype())

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        return (u != v).to(torch.get_default_dtype())

    def identity(self) -> Tensor:
        return torch.zeros((), dtype=torch.int64)

    def cover(self, count: int | None = None) -> Tensor:
        """All elements."""
        if count not in (None, self.size):
            raise InputError(f"A finite set is covered by all its {self.size} elements, got a size of {count}")
        return torch.arange(self.size)
