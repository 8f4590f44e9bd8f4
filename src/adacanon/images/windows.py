"""Pixel-aligned square windows (paper: appendix "Truncation Canonicalization", Implementation)."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from adacanon.arguments import is_name, set_real_numbers, set_whole_numbers
from adacanon.core.family import Family, Searches
from adacanon.core.pictures import Pixels
from adacanon.errors import InputError, UnknownNameError
from adacanon.images.averaging import interpolations, overlaps, resized
from adacanon.images.checks import check_images
from adacanon.images.chunks import images_at_once
from adacanon.images.truncations import IN_TRAINING, TEMPERATURE, check_side
from adacanon.images.words import window_in_words
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.subset import SubsetSearch
from adacanon.spaces.finite import Finite

Resize = Literal["bilinear", "area"]

DRAWS = 50
"""Of the search over all windows, where none is named."""


MOST_LEVELS = 1000
"""More sides than windows of an image could have."""


@dataclass(frozen=True)
class Windows(Family):
    r""":math:`T_{(i_0, j_0, s)}(X) = R_s(C_{(i_0, j_0, s)}(X))`: cut a window of :math:`\lfloor sN \rfloor` pixels, a
    share :math:`s \in [\text{smallest}, \text{largest}]` of the side, and resize it to the whole grid.

    A finite set; points are indices, 0 being the whole image if ``largest`` is 1. The windows of an image have its
    proportions. There are no coarse views: on a smaller grid the windows would be others. Use :class:`Truncations`.

    Args:
        smallest: side of a window, as a share of the image.
        largest: side of a window.
        levels: number of sides, evenly spaced from ``largest`` to ``smallest``. Side number k, counted from 1, has
            k x k evenly spaced windows. The default has 1 + 4 + 9 + 16 + 25 = 55 windows, of sides 32, 28, 24, 20 and
            16 on a grid of 32. None takes all windows of all sides, 1785 on that grid.
        resize: "bilinear" interpolation, or "area" for exact averages as in the theory.

    Example:
        >>> Windows().space(torch.zeros(1, 3, 32, 32)), Windows(levels=None).space(torch.zeros(1, 3, 32, 32))
        (Finite(size=55), Finite(size=1785))
    """

    smallest: float = 0.5
    largest: float = 1.0
    levels: int | None = 5
    resize: Resize = "bilinear"

    def __post_init__(self) -> None:
        set_real_numbers(self, "smallest", "largest")
        if not 0 < self.smallest <= self.largest <= 1:
            raise InputError(
                "Windows need sides 0 < smallest <= largest <= 1, as shares of the image, "
                f"got smallest={self.smallest}, largest={self.largest}"
            )
        set_whole_numbers(self, "levels", least=1, most=MOST_LEVELS, optional=True, hint="None for all windows")
        if not is_name(self.resize, Resize):
            raise UnknownNameError(f"resize must be one of {', '.join(get_args(Resize))}, got {self.resize!r}")

    def prepare(self, g: Any) -> Tensor:
        images = check_images("Windows", g)
        check_side("Windows", self.smallest, images)
        return images

    def windows(self, height: int, width: int) -> Tensor:
        """Top, left, height and width of every window (count, 4) of images of this size, the largest first."""
        return _windows(height, width, self.smallest, self.largest, self.levels)

    @property
    def moves_pixels(self) -> bool:
        return True

    def space(self, g: Tensor) -> Finite:
        return Finite(len(self.windows(g.shape[2], g.shape[3])))

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        height, width = g.shape[-2:]
        top, left, rows, columns = self.windows(height, width).to(g.device)[u].unbind(1)
        return resized(g[owner], self._weights(top, rows, height), self._weights(left, columns, width))

    def describe(self, g: Tensor, u: Tensor, owner: Tensor) -> list[str]:
        height, width = g.shape[-2:]
        chosen = self.windows(height, width)[u.cpu()].tolist()
        return [window_in_words(top, left, rows, columns, (height, width)) for top, left, rows, columns in chosen]

    def picture(self, form: Tensor) -> Pixels:
        return Pixels(form)

    def chunk_size(self, g: Tensor) -> int:
        return images_at_once(g)

    def searches(self) -> Searches:
        """All windows of the levels, in training some of them, others at every step; of all windows some at random."""
        if self.levels is None:
            return RandomSearch(DRAWS), RandomSearch(IN_TRAINING)
        return GridSearch(), SubsetSearch(GridSearch(), IN_TRAINING)

    def temperature(self) -> float:
        """As for :class:`Truncations`."""
        return TEMPERATURE

    def _weights(self, first: Tensor, count: Tensor, pixels: int) -> Tensor:
        if self.resize == "bilinear":
            return interpolations(first, count, pixels)
        return overlaps(first.double() / pixels, (first + count).double() / pixels, pixels, pixels)


@lru_cache(maxsize=64)
def _windows(height: int, width: int, smallest: float, largest: float, levels: int | None) -> Tensor:
    least, most = (_floor(side * height) for side in (smallest, largest))
    every: dict[tuple[int, int, int, int], None] = {}  # on a small grid, levels may share windows
    for number, rows in _sides(most, least, levels):
        columns = max(1, rows * width // height)
        tops, lefts = _starts(height - rows, number), _starts(width - columns, number)
        every |= dict.fromkeys((top, left, rows, columns) for top in tops for left in lefts)
    with torch.inference_mode(False):  # it is kept for calls outside of it too
        return torch.tensor(list(every))


def _sides(most: int, least: int, levels: int | None) -> list[tuple[int | None, int]]:
    """Sides from the largest down, each with the number of its windows along an axis; None for all."""
    if levels is None:
        return [(None, side) for side in range(most, least - 1, -1)]
    steps = torch.linspace(most, least, levels, dtype=torch.float64).tolist()
    return [(number, round(side)) for number, side in enumerate(steps, start=1)]


def _starts(room: int, number: int | None) -> list[int]:
    """Evenly spaced whole numbers from 0 to ``room``, all of them if no number is given; a single one is central."""
    if number is None:
        return list(range(room + 1))
    return [room // 2] if number == 1 else [round(room * i / (number - 1)) for i in range(number)]


def _floor(x: float) -> int:
    """Shares such as 0.29 of 100 pixels must not lose one to rounding."""
    return math.floor(x + 1e-9)
