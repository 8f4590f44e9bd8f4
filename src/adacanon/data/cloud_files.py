"""Clouds from files of shapes: all of their points, some of them, or points drawn from their faces."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from adacanon.data.off import read_off
from adacanon.data.pcd import read_pcd
from adacanon.data.ply import read_ply
from adacanon.data.surfaces import Surface, points_of_surface
from adacanon.errors import DataError, InputError

READERS: dict[str, Callable[[Path], Surface]] = {".ply": read_ply, ".off": read_off, ".pcd": read_pcd}


@dataclass(frozen=True)
class CloudOptions:
    """How clouds are taken from files.

    Attributes:
        points: draw this many points of every cloud; all of them if None.
        faces: draw points from the faces, uniformly by area, instead of taking vertices.
        normalise: centre every cloud and scale it to radius 1.
    """

    points: int | None = None
    faces: bool = False
    normalise: bool = False

    def check(self) -> None:
        """Refuse numbers of points that mean nothing."""
        if self.points is not None and self.points < 1:
            raise InputError(f"points must be a positive number for every cloud, got {self.points}")
        if self.faces and self.points is None:
            raise InputError("Points are drawn from faces if their number is given. Hint: --faces with --points 1024")


def read_surface(file: Path) -> Surface:
    """The content of a ``.ply``, ``.off`` or ``.pcd`` file.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "triangle.off"
        ...     _ = file.write_text("OFF 3 1 0\\n0 0 0\\n1 0 0\\n0 1 0\\n3 0 1 2\\n")
        ...     read_surface(file).triangles.tolist()
        [[0, 1, 2]]
    """
    return READERS[file.suffix.lower()](file)


def cloud_of(file: Path, surface: Surface, options: CloudOptions, *, generator: torch.Generator) -> Tensor:
    """The points (points, 3) that are asked for, in float32."""
    if options.faces and options.points is not None:
        if not len(surface.triangles):
            raise DataError(
                f"{file}: expected faces, got {len(surface.vertices)} points alone. Hint: leave out --faces"
            )
        return points_of_surface(file, surface, options.points, generator=generator).float()
    points = torch.from_numpy(surface.vertices)
    return some_points(str(file), points.unsqueeze(0), options.points, generator=generator)[0].float()


def some_points(name: str, clouds: Tensor, count: int | None, *, generator: torch.Generator) -> Tensor:
    """So many points of every cloud (clouds, points, 3), drawn without repetition; those of a cloud in their order."""
    if count is None or count == clouds.shape[1]:
        return clouds
    if count > clouds.shape[1]:
        raise DataError(
            f"{name}: expected at least {count} points in a cloud, got {clouds.shape[1]}. Hint: a smaller --points; "
            "--faces draws any number of points from a mesh"
        )
    chosen = torch.rand(clouds.shape[:2], generator=generator).argsort(1)[:, :count].sort(1).values
    return clouds.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 3))


def described_points(options: CloudOptions, *, meshes: bool) -> list[str]:
    """What was done to clouds, in words for a page."""
    number = "all points" if options.points is None else f"{options.points} points of every cloud, drawn at random"
    if options.faces:
        number = f"{options.points} points of every mesh, drawn from its faces uniformly by area"
    elif meshes:
        number += ", taken from the vertices; there are faces too, from which --faces would draw points"
    scale = "every cloud was centred and scaled to radius 1" if options.normalise else "neither centred nor scaled"
    return [number, scale]
