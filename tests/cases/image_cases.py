"""Images and families that the tests of images share."""

import torch
from torch import Tensor

from adacanon.core import Family
from adacanon.images import (
    AffineMaps,
    Composed,
    Dilations,
    PlaneMaps,
    Reflections,
    Rotations,
    Shears,
    Translations,
    Truncations,
    Windows,
)
from adacanon.images.resampling import Outside

OUTSIDE: tuple[Outside, ...] = ("zero", "border", "reflection", "disc")


def images(batch: int = 3, channels: int = 2, height: int = 6, width: int = 9, *, dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(batch, channels, height, width, generator=generator, dtype=torch.float64).to(dtype)


def continuous(outside: Outside = "zero") -> list[PlaneMaps]:
    """The families of maps whose parameters move continuously."""
    return [
        Rotations(outside),
        Translations(0.3, outside),
        Dilations(0.5, 2.0, outside),
        Shears(0.4, outside),
        AffineMaps(0.3, 0.2, outside),
        Composed(Rotations(outside), Dilations(outside=outside), Translations(0.2, outside)),
        Composed(Reflections("both", outside), Composed(Rotations(outside), Shears(outside=outside))),
    ]


def families(outside: Outside = "zero") -> list[Family]:
    finite = [Windows(), Windows(levels=None), Windows(0.4, resize="area")]
    return [*continuous(outside), Reflections("both", outside), Truncations(0.3), *finite]
