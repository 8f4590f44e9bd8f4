"""Rotations of point clouds (paper: section "Anisotropic Point Cloud Networks")."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adacanon.core.family import Family, Searches
from adacanon.errors import InputError, ShapeError
from adacanon.maximizers.coarse_to_fine import CoarseToFine
from adacanon.maximizers.random_search import RandomSearch
from adacanon.points.frames import principal_frames
from adacanon.points.neighbours import farthest_points
from adacanon.spaces.so3 import SO3

DRAWS = 50
"""Of the searches that are used where none is named."""

_EXPECTED = "Rotations expects a tensor of points of shape (batch, points, 3)"


@dataclass(frozen=True)
class Rotations(Family):
    r""":math:`\kappa_R(X) = XR^\top` for clouds X of shape (batch, points, 3), whose rows are points."""

    def prepare(self, g: Any) -> Tensor:
        if not isinstance(g, Tensor):
            raise ShapeError(f"{_EXPECTED}, got {type(g).__name__}. Hint: torch.as_tensor(points)")
        if g.dim() != 3 or g.shape[-1] != 3:
            hint = "add the batch, points[None]" if g.dim() == 2 else "move the coordinates last, points.mT"
            raise ShapeError(f"{_EXPECTED}, got {tuple(g.shape)}. Hint: {hint}")
        if g.shape[0] > 0 and g.shape[1] == 0:
            raise ShapeError(f"{_EXPECTED}, got clouds without points. Hint: drop them from the data set")
        if not g.is_floating_point():
            raise InputError(f"Rotations expects floating-point coordinates, got {g.dtype}. Hint: points.float()")
        return g

    def space(self, g: Tensor) -> SO3:
        return SO3()

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return g[owner] @ u.mT

    def anchor(self, g: Tensor) -> Tensor:
        return principal_frames(g)

    def searches(self) -> Searches:
        """Coarse to fine; in training on the whole cloud, for coarse views cost accuracy there (``docs/speed.md``)."""
        return CoarseToFine(RandomSearch(DRAWS)), RandomSearch(DRAWS)

    def coarse(self, g: Tensor, size: int) -> Tensor:
        """The farthest points, a set that depends neither on their order nor on the pose."""
        if size >= g.shape[1]:
            return g
        return g.gather(1, farthest_points(g, size).unsqueeze(2).expand(-1, -1, 3))
