"""Search over a finite or covering set."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace

import torch

from adacanon.arguments import MOST, set_whole_numbers
from adacanon.core.landscape import Landscape
from adacanon.core.pytree import Tree, slice_rows, tensors
from adacanon.core.space import candidates
from adacanon.errors import InputError, ShapeError
from adacanon.maximizers.selection import CandidateSearch, split_blocks


@dataclass(frozen=True)
class GridSearch(CandidateSearch):
    """The best of a fixed set: all elements of a finite space, a covering set, or given points.

    Args:
        candidates: size of the covering set; None takes all elements of a finite space.
        points: the candidates themselves, in place of a covering set.

    Example:
        >>> from adacanon.spaces import rotation_group
        >>> GridSearch(points=rotation_group("icosahedron"))
        GridSearch(candidates=None)
    """

    candidates: int | None = None
    _: KW_ONLY
    points: Tree | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        hint = "GridSearch(points=rotation_group('cube')) for points of your own"
        set_whole_numbers(self, "candidates", least=1, most=MOST, optional=True, hint=hint)
        if self.points is not None and not tensors(self.points):
            raise InputError(f"GridSearch takes points as tensors, got {type(self.points).__name__}. Hint: {hint}")

    def propose(self, landscape: Landscape, generator: torch.Generator) -> Iterator[Tree]:
        points = landscape.space.cover(self.candidates) if self.points is None else self.points
        self._check_fit(landscape)
        for block in split_blocks(points):
            yield candidates(landscape.space, landscape.place(block), landscape.batch)

    def with_budget(self, budget: float, landscape: Landscape) -> "GridSearch":
        """Of all elements of a finite space the first ones."""
        count = max(1, int(budget))
        if self.candidates is not None or self.points is not None:
            return self.limited(count)
        return replace(self, points=slice_rows(landscape.space.cover(), 0, count))

    def _check_fit(self, landscape: Landscape) -> None:
        """Points of one's own must be points of the space."""
        if self.points is None or landscape.space.members is not None:
            return
        wanted = [tuple(leaf.shape) for leaf in tensors(landscape.space.identity())]
        came = [tuple(leaf.shape[1:]) for leaf in tensors(self.points)]
        if came != wanted:
            raise ShapeError(
                f"GridSearch has points of shape {came}, expected {wanted} for {landscape.space!r}. "
                "Hint: GridSearch(points=...) takes (count, *point)"
            )

    def limited(self, count: int) -> "GridSearch":
        if self.points is not None:
            return replace(self, points=slice_rows(self.points, 0, count))
        return replace(self, candidates=count if self.candidates is None else min(count, self.candidates))
