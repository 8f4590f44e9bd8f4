"""Vertices and triangles of a shape, and points drawn from its surface."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from adacanon.errors import DataError

NO_TRIANGLES = np.empty((0, 3), np.int64)


@dataclass(frozen=True)
class Surface:
    """What a file of a shape holds.

    Attributes:
        vertices: (n, 3) of float64.
        triangles: indices of vertices, (m, 3); none for a file of points alone.
    """

    vertices: np.ndarray
    triangles: np.ndarray = field(default_factory=lambda: NO_TRIANGLES)


def checked_surface(file: Path, vertices: np.ndarray, polygons: Iterable[Sequence[int] | np.ndarray] = ()) -> Surface:
    """A surface whose coordinates are finite and whose polygons name vertices that are there."""
    if len(vertices) == 0:
        raise DataError(f"{file}: expected points, got none")
    bad = int((~np.isfinite(vertices)).any(1).sum())
    if bad:
        raise DataError(f"{file}: expected finite coordinates, {bad} of {len(vertices)} points have others")
    try:
        triangles = triangles_of(polygons)
    except OverflowError as error:
        raise DataError(f"{file}: faces must name vertices 0 to {len(vertices) - 1}, got {error}") from error
    if triangles.size and not (triangles.min() >= 0 and triangles.max() < len(vertices)):
        raise DataError(
            f"{file}: faces must name vertices 0 to {len(vertices) - 1}, got {triangles.min()} to {triangles.max()}"
        )
    return Surface(np.ascontiguousarray(vertices, np.float64), triangles)


def triangles_of(polygons: Iterable[Sequence[int] | np.ndarray]) -> np.ndarray:
    """Convex polygons as fans of triangles (m, 3); those with fewer than three corners have no area.

    Example:
        >>> triangles_of([[0, 1, 2, 3], [4, 5]]).tolist()
        [[0, 1, 2], [0, 2, 3]]
    """
    fans = [(p[0], p[i], p[i + 1]) for p in polygons for i in range(1, len(p) - 1)]
    return np.array(fans, np.int64).reshape(-1, 3)


def areas(surface: Surface) -> np.ndarray:
    """Of all triangles, (m,)."""
    a, b, c = (surface.vertices[surface.triangles[:, corner]] for corner in range(3))
    area: np.ndarray = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    return area


def points_of_surface(file: Path, surface: Surface, count: int, *, generator: torch.Generator) -> Tensor:
    r"""Points (count, 3), uniform by area.

    A triangle is drawn by its area. In it, :math:`(1-\sqrt r)a + \sqrt r(1-s)b + \sqrt r s\,c` is uniform for uniform
    :math:`r, s \in [0, 1]`.
    """
    area = torch.from_numpy(areas(surface))
    if not float(area.sum()) > 0:
        raise DataError(f"{file}: expected faces with an area, got {len(area)} faces without any. Hint: leave --faces")
    edge = area.cumsum(0)
    drawn = torch.rand(count, dtype=torch.float64, generator=generator) * edge[-1]
    triangle = torch.searchsorted(edge, drawn, right=True).clamp(max=int(area.nonzero()[-1]))
    r, s = torch.rand(2, count, 1, dtype=torch.float64, generator=generator)
    corners = torch.from_numpy(surface.vertices[surface.triangles[triangle.numpy()]])
    a, b, c = corners.unbind(1)
    return (1 - r.sqrt()) * a + r.sqrt() * (1 - s) * b + r.sqrt() * s * c
