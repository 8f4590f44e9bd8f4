"""Search over a finite or covering set."""

from dataclasses import dataclass, field

import torch

from adacanon.core.maximizer import Found, Landscape, Maximizer
from adacanon.core.pytree import Tree
from adacanon.core.space import candidates
from adacanon.maximizers.selection import best_of, split_blocks


@dataclass(frozen=True)
class GridSearch(Maximizer):
    """The best of a fixed set: all elements of a finite space, a covering set of ``size`` points, or given ``points``.

    Example:
        >>> from adacanon.spaces import rotation_group
        >>> GridSearch(points=rotation_group("icosahedron"))
        GridSearch(size=None)
    """

    size: int | None = None
    points: Tree | None = field(default=None, repr=False)

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Found:
        points = landscape.space.cover(self.size) if self.points is None else self.points
        placed = candidates(landscape.space, landscape.place(points), landscape.batch)
        return best_of(landscape, split_blocks(placed))
