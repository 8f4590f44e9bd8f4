"""Rotations, translations, dilations, shears, affine maps and reflections of images."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from adacanon.arguments import is_name, set_real_numbers
from adacanon.errors import InputError, UnknownNameError
from adacanon.images.plane_maps import PlaneMaps, check_reach, plane_maps
from adacanon.images.resampling import Outside, check_outside
from adacanon.images.words import mirror_in_words, shift_in_words, size_in_words, turn_in_words
from adacanon.spaces.box import Box
from adacanon.spaces.circle import Circle
from adacanon.spaces.finite import Finite

Mirrors = Literal["horizontal", "vertical", "both"]


@dataclass(frozen=True)
class Rotations(PlaneMaps):
    r"""Rotations about the centre by any angle :math:`\theta`, anticlockwise.

    Quarter turns of square images are exact: ``GridSearch(4)`` is the group C4.

    Example:
        >>> images = torch.arange(4.0).reshape(1, 1, 2, 2)
        >>> Rotations().transform(images, torch.tensor([math.pi / 2]), torch.tensor([0]))
        tensor([[[[1., 3.],
                  [0., 2.]]]])
    """

    outside: Outside = "zero"

    def __post_init__(self) -> None:
        check_outside(self.outside)

    @property
    def points(self) -> Circle:
        return Circle()

    def maps(self, u: Tensor) -> Tensor:
        cos, sin = u.cos(), u.sin()
        return plane_maps([cos, sin, -sin, cos])

    def describe(self, g: Tensor, u: Tensor, owner: Tensor) -> list[str]:
        return [turn_in_words(angle) for angle in u.tolist()]


@dataclass(frozen=True)
class Translations(PlaneMaps):
    """Shifts (x, y), to the right and downwards, of at most ``reach`` along each axis; the shorter side is 1.

    Example:
        >>> image = torch.arange(4.0).reshape(1, 1, 2, 2)
        >>> Translations(reach=0.5).transform(image, torch.tensor([[0.5, 0.0]]), torch.tensor([0]))[0, 0].tolist()
        [[0.0, 0.0], [0.0, 2.0]]
    """

    reach: float = 0.125
    outside: Outside = "zero"

    def __post_init__(self) -> None:
        check_outside(self.outside)
        check_reach(self, "reach")

    @property
    def points(self) -> Box:
        return Box((-self.reach,) * 2, (self.reach,) * 2)

    def maps(self, u: Tensor) -> Tensor:
        one, zero = torch.ones_like(u[:, 0]), torch.zeros_like(u[:, 0])
        return plane_maps([one, zero, zero, one], u)

    def describe(self, g: Tensor, u: Tensor, owner: Tensor) -> list[str]:
        return [shift_in_words(x, y) for x, y in (min(g.shape[-2:]) * u).tolist()]


@dataclass(frozen=True)
class Dilations(PlaneMaps):
    r"""Dilations :math:`x \mapsto e^u x` with factors between ``smallest`` and ``largest``; points are :math:`(u,)`.

    Example:
        >>> Dilations(smallest=0.5, largest=2.0).maps(torch.tensor([[math.log(2.0)]]))[0].tolist()
        [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    """

    smallest: float = 0.8
    largest: float = 1.25
    outside: Outside = "zero"

    def __post_init__(self) -> None:
        check_outside(self.outside)
        set_real_numbers(self, "smallest", "largest")
        if not 0 < self.smallest <= 1 <= self.largest < math.inf:
            raise InputError(
                f"Dilations need factors 0 < smallest <= 1 <= largest, got smallest={self.smallest}, "
                f"largest={self.largest}"
            )

    @property
    def points(self) -> Box:
        return Box((math.log(self.smallest),), (math.log(self.largest),), neutral=(0.0,))

    def maps(self, u: Tensor) -> Tensor:
        factor = u[:, 0].exp()
        zero = torch.zeros_like(factor)
        return plane_maps([factor, zero, zero, factor])

    def describe(self, g: Tensor, u: Tensor, owner: Tensor) -> list[str]:
        return [size_in_words(factor) for factor in u[:, 0].exp().tolist()]


@dataclass(frozen=True)
class Shears(PlaneMaps):
    r"""Shears :math:`(x, y) \mapsto (x + ay,\; bx + y)` with :math:`|a|, |b| \le \text{reach}`; points are (a, b).

    Example:
        >>> Shears(reach=0.25).maps(torch.tensor([[0.25, 0.0]]))[0].tolist()
        [[1.0, 0.25, 0.0], [0.0, 1.0, 0.0]]
    """

    reach: float = 0.25
    outside: Outside = "zero"

    def __post_init__(self) -> None:
        check_outside(self.outside)
        check_reach(self, "reach", below=1)

    @property
    def points(self) -> Box:
        return Box((-self.reach,) * 2, (self.reach,) * 2)

    def maps(self, u: Tensor) -> Tensor:
        one = torch.ones_like(u[:, 0])
        return plane_maps([one, u[:, 0], u[:, 1], one])


@dataclass(frozen=True)
class AffineMaps(PlaneMaps):
    r"""The affine maps :math:`x \mapsto (I + B)x + t` with entries :math:`|B_{ij}| \le \text{reach}` and
    :math:`|t_i| \le \text{shift}`, a compact set; points are :math:`(B_{11}, B_{12}, B_{21}, B_{22}, t_1, t_2)`.

    Example:
        >>> AffineMaps().maps(torch.tensor([[0.25, 0.0, 0.0, 0.25, 0.125, 0.0]]))[0].tolist()
        [[1.25, 0.0, 0.125], [0.0, 1.25, 0.0]]
    """

    reach: float = 0.25
    shift: float = 0.125
    outside: Outside = "zero"

    def __post_init__(self) -> None:
        check_outside(self.outside)
        check_reach(self, "reach", below=0.5)
        check_reach(self, "shift")

    @property
    def points(self) -> Box:
        corner = (self.reach,) * 4 + (self.shift,) * 2
        return Box(tuple(-x for x in corner), corner)

    def maps(self, u: Tensor) -> Tensor:
        a, b, c, d = u[:, :4].unbind(1)
        return plane_maps([1 + a, b, c, 1 + d], u[:, 4:])


@dataclass(frozen=True)
class Reflections(PlaneMaps):
    """The image and its mirror images: left and right exchanged (horizontal), top and bottom (vertical), or all four
    combinations (both). Points are indices, 0 being the image itself.

    Example:
        >>> image = torch.arange(4.0).reshape(1, 1, 2, 2)
        >>> Reflections().transform(image, torch.tensor([1]), torch.tensor([0]))[0, 0].tolist()
        [[1.0, 0.0], [3.0, 2.0]]
    """

    mirrors: Mirrors = "horizontal"
    outside: Outside = "zero"

    def __post_init__(self) -> None:
        check_outside(self.outside)
        if not is_name(self.mirrors, Mirrors):
            raise UnknownNameError(f"mirrors must be one of {', '.join(get_args(Mirrors))}, got {self.mirrors!r}")

    @property
    def points(self) -> Finite:
        return Finite(4 if self.mirrors == "both" else 2)

    def maps(self, u: Tensor) -> Tensor:
        x, y = self._mirrored(u)
        x, y = (1 - 2 * flag.to(torch.get_default_dtype()) for flag in (x, y))
        return plane_maps([x, torch.zeros_like(x), torch.zeros_like(x), y])

    def describe(self, g: Tensor, u: Tensor, owner: Tensor) -> list[str]:
        return [mirror_in_words(bool(x), bool(y)) for x, y in zip(*self._mirrored(u), strict=True)]

    def _mirrored(self, u: Tensor) -> tuple[Tensor, Tensor]:
        if self.mirrors == "both":
            return u % 2, u // 2
        zero = torch.zeros_like(u)
        return (u, zero) if self.mirrors == "horizontal" else (zero, u)
