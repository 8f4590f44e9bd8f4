"""Families made of other families."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.core.answers import Carried, Kind
from adacanon.core.family import Family
from adacanon.core.pictures import Picture, in_turn
from adacanon.core.pytree import Tree, batch_size
from adacanon.core.space import Space
from adacanon.spaces.product import Product
from adacanon.takes import instance


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

    def __post_init__(self) -> None:
        for name in ("first", "second"):
            instance(Family, "Composition(Rotations(), Dilations())")("Composition", name, getattr(self, name))

    @property
    def moves_pixels(self) -> bool:
        return self.first.moves_pixels or self.second.moves_pixels

    def prepare(self, g: Any) -> Tree:
        return self.second.prepare(self.first.prepare(g))

    def space(self, g: Tree) -> Space:
        return Product(self.first.space(g), self.second.space(g))

    def chunk_size(self, g: Tree) -> int | None:
        return self.first.chunk_size(g)

    @property
    def carries(self) -> frozenset[Kind]:
        return self.first.carries & self.second.carries

    def act(self, u: Tree, answers: Tensor, kind: Kind) -> Carried:
        """What was done last is undone first; the share of a pixel that has a source is carried like an answer."""
        inner = self.second.act(u[1], answers, kind)
        outer = self.first.act(u[0], inner.answers, kind)
        if inner.known is None:
            return outer
        return Carried(outer.answers, self.first.act(u[0], inner.known, kind).answers)

    def real_points(self, g: Tree) -> Tensor | None:
        return self.first.real_points(g)

    def describe(self, g: Tree, u: Tree, owner: Tensor) -> list[str] | None:
        """What both do, one after the other, if both have words."""
        first, second = self.first.describe(g, u[0], owner), self.second.describe(g, u[1], owner)
        if first is None or second is None:
            return None
        return [in_turn(words) for words in zip(first, second, strict=True)]

    def picture(self, form: Tree) -> Picture | None:
        return self.second.picture(form)

    def transform(self, g: Tree, u: Tree, owner: Tensor) -> Tree:
        inner = self.first.transform(g, u[0], owner)
        rows = torch.arange(batch_size(inner), device=owner.device)
        return self.second.transform(inner, u[1], rows)
