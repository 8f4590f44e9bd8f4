"""Families made of other families."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.pytree import Tree, batch_size
from adacanon.core.space import Space
from adacanon.spaces.product import Product


@dataclass(frozen=True)
class Composition(Family):
    r"""Two symmetries at once: :math:`\kappa_{(u,v)} = \kappa^{\text{second}}_v \circ \kappa^{\text{first}}_u`.

    The first family maps inputs to inputs; the second acts on its result. Compositions nest.

    Example:
        >>> from adacanon.images import Dilations, Rotations
        >>> Composition(Rotations(), Dilations()).space(torch.zeros(1, 3, 8, 8)).sample(2)[0].shape
        torch.Size([2])
    """

    first: Family
    second: Family

    @property
    def moves_pixels(self) -> bool:
        return self.first.moves_pixels or self.second.moves_pixels

    def prepare(self, g: Any) -> Tree:
        return self.second.prepare(self.first.prepare(g))

    def space(self, g: Tree) -> Space:
        return Product(self.first.space(g), self.second.space(g))

    def chunk_size(self, g: Tree) -> int | None:
        return self.first.chunk_size(g)

    def transform(self, g: Tree, u: Tree, owner: Tensor) -> Tree:
        inner = self.first.transform(g, u[0], owner)
        rows = torch.arange(batch_size(inner), device=owner.device)
        return self.second.transform(inner, u[1], rows)
