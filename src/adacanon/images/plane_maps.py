"""Families of affine maps of the plane, and products of them (paper: appendix "Additional Examples of Continuous Prior
Maximization").
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from adacanon.arguments import set_real_numbers
from adacanon.core.answers import Carried, Kind
from adacanon.core.family import Family, Searches
from adacanon.core.pictures import Pixels, in_turn
from adacanon.core.pytree import Tree, map_tensors
from adacanon.core.space import Space
from adacanon.errors import InputError
from adacanon.images.averaging import smaller
from adacanon.images.checks import check_images
from adacanon.images.chunks import images_at_once
from adacanon.images.light_network import light_network
from adacanon.images.resampling import Outside, cut_disc, inverse, warp
from adacanon.images.words import map_in_words
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.ranker import Ranker
from adacanon.spaces.finite import Finite
from adacanon.spaces.product import Product

CANDIDATES = 48
"""Of the search that is used where none is named, in steps of 7.5 degrees for rotations."""

LEAST_VIEW = 196
"""Pixels of the view on which a light network orders candidates, at least."""


class PlaneMaps(Family):
    r"""Maps :math:`A_u` of the plane, acting on images by :math:`(\kappa_u g)(x) = g(A_u^{-1}x)`.

    Conventions are those of ``images/resampling.py``.

    Example:
        >>> from adacanon.images import Rotations
        >>> family = Rotations()
        >>> isinstance(family, PlaneMaps), family.points, family.maps(torch.zeros(1)).shape
        (True, Circle(), torch.Size([1, 2, 3]))
    """

    @property
    def moves_pixels(self) -> bool:
        return True

    @property
    @abstractmethod
    def outside(self) -> Outside:
        """What lies outside the image."""

    @property
    @abstractmethod
    def points(self) -> Space:
        """The transformations, the same for all images."""

    @abstractmethod
    def maps(self, u: Tree) -> Tensor:
        """The maps :math:`A_u` of parameters (pairs, *point), as (pairs, 2, 3)."""

    def prepare(self, g: Any) -> Tensor:
        images = check_images(type(self).__name__, g)
        return cut_disc(images) if self.outside == "disc" else images

    def space(self, g: Tensor) -> Space:
        return self.points

    def transform(self, g: Tensor, u: Tree, owner: Tensor) -> Tensor:
        return warp(g[owner], self.maps(u), outside=self.outside)

    @property
    def carries(self) -> frozenset[Kind]:
        return frozenset({"invariant", "maps"})

    def act(self, u: Tree, answers: Tensor, kind: Kind) -> Carried:
        """The inverse warp. A map of ones goes along, and tells which share of every pixel has a source."""
        if kind != "maps":
            return super().act(u, answers, kind)
        ones = torch.ones_like(answers[:, :1])
        back = warp(torch.cat([answers, ones], 1), inverse(self.maps(u)), outside="zero")
        return Carried(back[:, :-1], back[:, -1:])

    def describe(self, g: Tensor, u: Tree, owner: Tensor) -> list[str]:
        side = min(g.shape[-2:])
        maps = self.maps(u).tolist()
        return [map_in_words([row[:2] for row in rows], [row[2] for row in rows], side) for rows in maps]

    def picture(self, form: Tensor) -> Pixels:
        return Pixels(form)

    def coarse(self, g: Tensor, size: int) -> Tensor:
        """A smaller image of ``size`` pixels in all; maps mean the same on it."""
        return smaller(g, size)

    def ranker(self, g: Tensor, outputs: int, network: Callable[[Tensor], Tensor] | None = None) -> Ranker:
        """Two convolutions on an image of a quarter of the side, of 14 x 14 pixels at least."""
        size = max(LEAST_VIEW, g.shape[-2] * g.shape[-1] // 16)
        return Ranker(light_network(g.shape[1], outputs), outputs, size=size).to(g)

    def chunk_size(self, g: Tensor) -> int:
        return images_at_once(g)

    def searches(self) -> Searches:
        """A fixed set that holds the identity. Not on coarse views: many networks take images of one size only."""
        return GridSearch(points=covering_set(self.points, CANDIDATES)), None


class Composed(PlaneMaps):
    r"""A product of families: :math:`A_{(u_1, \dots, u_n)} = A_{u_n} \cdots A_{u_1}`, the first one acts first.

    The maps are multiplied and the image is resampled once. All factors must agree on what lies outside.

    Example:
        >>> from adacanon.images import Rotations, Translations
        >>> Composed(Rotations(), Translations(0.1))
        Composed(Rotations(outside='zero'), Translations(reach=0.1, outside='zero'))
    """

    def __init__(self, *factors: PlaneMaps) -> None:
        if not factors or not all(isinstance(factor, PlaneMaps) for factor in factors):
            raise InputError(
                f"Composed takes families of maps of the plane, got {', '.join(map(repr, factors)) or 'none'}. "
                "Hint: Composed(Rotations(), Translations(0.1)); for other families adacanon.Composition"
            )
        if len({factor.outside for factor in factors}) > 1:
            raise InputError(
                "Composed resamples once, so its factors must agree on what lies outside, "
                f"got {', '.join(factor.outside for factor in factors)}"
            )
        self.factors = factors

    def __repr__(self) -> str:
        return f"Composed({', '.join(map(repr, self.factors))})"

    @property
    def outside(self) -> Outside:
        return self.factors[0].outside

    @property
    def points(self) -> Product:
        return Product(*(factor.points for factor in self.factors))

    def describe(self, g: Tensor, u: Tree, owner: Tensor) -> list[str]:
        """What the factors do, one after the other."""
        each = [factor.describe(g, v, owner) for factor, v in zip(self.factors, u, strict=True)]
        return [in_turn(words) for words in zip(*each, strict=True)]

    def maps(self, u: Tree) -> Tensor:
        return reduce(_after, (factor.maps(v) for factor, v in zip(self.factors, u, strict=True)))


def plane_maps(linear: Iterable[Tensor], shift: Tensor | None = None) -> Tensor:
    """Maps (pairs, 2, 3) of the four entries of their linear part, row by row, and of shifts (pairs, 2) if there are
    any.
    """
    matrix = torch.stack(list(linear), dim=-1).unflatten(-1, (2, 2))
    shift = matrix.new_zeros(matrix.shape[:-1]) if shift is None else shift
    return torch.cat([matrix, shift.unsqueeze(-1)], dim=-1)


def covering_set(space: Space, count: int) -> Tree:
    """About ``count`` points that cover a space shared by all inputs, its identity first."""
    points = space.cover(None if isinstance(space, Finite) else count)
    identity = map_tensors(lambda leaf: leaf.unsqueeze(0), space.identity())
    if float(space.distance(points, identity).min()) == 0:
        return points
    return map_tensors(lambda e, others: torch.cat([e, others]), identity, points)


def check_reach(family: Family, name: str, *, below: float = torch.inf) -> None:
    """Refuse a reach that is negative, or so large that maps are no longer invertible."""
    set_real_numbers(family, name)
    reach = getattr(family, name)
    if not 0 <= reach < below:
        limit = "" if below == torch.inf else f" and below {below:g}, so that all maps are invertible"
        raise InputError(f"{type(family).__name__} needs {name} from zero{limit}, got {name}={reach}")


def _after(first: Tensor, second: Tensor) -> Tensor:
    """The map that applies ``first`` and then ``second``."""
    first, second = (maps.to(torch.promote_types(first.dtype, second.dtype)) for maps in (first, second))
    product = second[..., :2] @ first
    return torch.cat([product[..., :2], product[..., 2:] + second[..., 2:]], dim=-1)
