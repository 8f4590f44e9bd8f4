"""Shapes put together from boxes and upright cylinders, and points on their surfaces."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

Length = Tensor | float
"""One for each shape, (shapes,), or the same for all."""


class Interval(NamedTuple):
    """From ``low`` to ``high`` along one axis."""

    low: Length
    high: Length


@dataclass(frozen=True)
class Solids:
    """The parts of some shapes; y points upwards. A part of size zero is absent.

    Attributes:
        centres: (shapes, parts, 3).
        sizes: along x, y and z, (shapes, parts, 3); a cylinder has its diameter, its height and its diameter again.
        round: whether a part is a cylinder, (shapes, parts).
    """

    centres: Tensor
    sizes: Tensor
    round: Tensor

    def __len__(self) -> int:
        return len(self.centres)

    def __getitem__(self, index: Tensor) -> "Solids":
        return Solids(self.centres[index], self.sizes[index], self.round[index])

    def areas(self) -> Tensor:
        """Of the faces across x, y and z, (shapes, parts, 3); of a cylinder the mantle, both discs, and nothing."""
        x, y, z = self.sizes.unbind(-1)
        box = 2 * torch.stack([y * z, x * z, x * y], -1)
        cylinder = math.pi * torch.stack([x * y, x * x / 2, torch.zeros_like(x)], -1)
        return torch.where(self.round.unsqueeze(-1), cylinder, box)

    def surface(self, points: int, *, generator: torch.Generator) -> Tensor:
        """Points (shapes, points, 3) that are uniform by area, also where two parts touch."""
        face = torch.multinomial(self.areas().flatten(1), points, replacement=True, generator=generator)
        part, across = face // 3, face % 3
        draws = torch.rand(*face.shape, 3, generator=generator)
        shape = torch.arange(len(self)).unsqueeze(1)
        places = torch.where(self.round[shape, part].unsqueeze(-1), _on_cylinder(draws, across), _on_box(draws, across))
        return self.centres[shape, part] + self.sizes[shape, part] * places


def box(x: Interval, y: Interval, z: Interval) -> Solids:
    """A box in every shape.

    Example:
        >>> one = torch.ones(1)
        >>> box(Interval(-one, one), Interval(0, one), Interval(0, one)).areas().tolist()
        [[[2.0, 4.0, 4.0]]]
    """
    count = max(len(length) for interval in (x, y, z) for length in interval if isinstance(length, Tensor))
    low, high = (torch.stack([torch.as_tensor(side[end]).expand(count) for side in (x, y, z)], -1) for end in (0, 1))
    no = torch.zeros(count, 1, dtype=torch.bool)
    return Solids(((low + high) / 2).unsqueeze(1), (high - low).unsqueeze(1), no)


def cylinder(x: Length, z: Length, diameter: Tensor, y: Interval) -> Solids:
    """An upright cylinder around (x, z) in every shape."""
    half = diameter / 2
    return rounded(box(Interval(x - half, x + half), y, Interval(z - half, z + half)))


def rounded(solids: Solids, where: Tensor | None = None) -> Solids:
    """Cylinders in the place of boxes with a square base, or in the shapes (shapes,) that are named."""
    which = torch.ones(len(solids), dtype=torch.bool) if where is None else where
    return Solids(solids.centres, solids.sizes, which.unsqueeze(1).expand_as(solids.round))


def present(solids: Solids, where: Tensor) -> Solids:
    """The parts in the shapes (shapes,) that are named; in the others they are absent."""
    return Solids(solids.centres, solids.sizes * where[:, None, None], solids.round)


def together(*solids: Solids) -> Solids:
    """Their parts as the parts of one shape."""
    return Solids(*(torch.cat([getattr(one, name) for one in solids], 1) for name in ("centres", "sizes", "round")))


def one_after_another(solids: list[Solids]) -> Solids:
    """All their shapes, with absent parts where a shape has fewer than another."""
    most = max(one.sizes.shape[1] for one in solids)
    return Solids(
        *(torch.cat([_filled(getattr(one, name), most) for one in solids]) for name in ("centres", "sizes", "round"))
    )


def _filled(parts: Tensor, count: int) -> Tensor:
    missing = parts.new_zeros(len(parts), count - parts.shape[1], *parts.shape[2:])
    return torch.cat([parts, missing], 1)


def _on_box(draws: Tensor, across: Tensor) -> Tensor:
    """Points of the cube of side 1 around the origin, on one of the two faces across an axis."""
    ends = (draws > 0.5).to(draws) - 0.5
    return torch.where(torch.nn.functional.one_hot(across, 3).bool(), ends, draws - 0.5)


def _on_cylinder(draws: Tensor, across: Tensor) -> Tensor:
    """Points of the cylinder of diameter and height 1 around the origin: its mantle (0) or one of its discs (1)."""
    turn, height, radius = draws.unbind(-1)
    disc = across == 1
    radius = torch.where(disc, radius.sqrt(), 1.0) / 2
    angle = 2 * math.pi * turn
    y = torch.where(disc, (height > 0.5).to(draws), height) - 0.5
    return torch.stack([radius * angle.cos(), y, radius * angle.sin()], -1)
