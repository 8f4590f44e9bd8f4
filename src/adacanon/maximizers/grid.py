"""Search over a finite or covering set."""

from dataclasses import dataclass, field

import torch

from adacanon.core.maximizer import Found, Landscape, Maximizer
from adacanon.core.pytree import Tree, tensors
from adacanon.core.space import candidates
from adacanon.errors import InputError
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

    def __post_init__(self) -> None:
        tree_of_tensors = self.points is None or bool(tensors(self.points))
        if not tree_of_tensors or not (self.size is None or isinstance(self.size, int)):
            raise InputError(
                f"GridSearch takes a whole number of points or the points themselves, got size={self.size!r}, "
                f"points={type(self.points).__name__}. Hint: GridSearch(points=rotation_group('cube'))"
            )

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Found:
        points = landscape.space.cover(self.size) if self.points is None else self.points
        blocks = (landscape.place(block) for block in split_blocks(points))
        return best_of(landscape, (candidates(landscape.space, block, landscape.batch) for block in blocks))
