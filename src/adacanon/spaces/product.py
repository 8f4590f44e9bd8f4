"""Products of spaces: points are tuples."""

import math

import torch
from torch import Tensor

from adacanon.core.pytree import Tree, batch_size, map_tensors, take, tensors
from adacanon.core.space import Space, candidates
from adacanon.errors import InputError, ShapeError
from adacanon.spaces.finite import Finite


class Product(Space):
    r""":math:`\mathcal U_1 \times \dots \times \mathcal U_n` with :math:`d(u,v)^2 = \sum_i d_i(u_i,v_i)^2`.

    Factors shared by all inputs and factors that differ between inputs may be mixed.

    Example:
        >>> from adacanon.spaces import Circle
        >>> angles, indices = Product(Circle(), Finite(2)).sample(5)
        >>> angles.shape, indices.shape
        (torch.Size([5]), torch.Size([5]))
    """

    def __init__(self, *factors: Space) -> None:
        if not all(isinstance(factor, Space) for factor in factors):
            raise InputError(
                f"A product takes spaces, got {', '.join(map(repr, factors))}. Hint: Product(Circle(), Finite(2))"
            )
        sizes = {space.members for space in factors} - {None}
        if not factors or len(sizes) > 1:
            raise ShapeError(f"A product needs factors for one batch, got batches of {sorted(sizes)}")  # type: ignore[type-var]
        self.factors = factors

    def __repr__(self) -> str:
        return f"Product({', '.join(map(repr, self.factors))})"

    @property
    def members(self) -> int | None:
        return next((space.members for space in self.factors if space.members is not None), None)

    @property
    def diameter(self) -> float | Tensor:
        return sum((space.diameter**2 for space in self.factors), 0.0) ** 0.5

    def select(self, owner: Tensor) -> "Product":
        return Product(*(space.select(owner) for space in self.factors))

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tree:
        return tuple(self._per_member(space, space.sample(count, generator=generator)) for space in self.factors)

    def project(self, u: Tree) -> Tree:
        return tuple(space.project(a) for space, a in zip(self.factors, u, strict=True))

    def tangent(self, u: Tree, v: Tree) -> Tree:
        return tuple(space.tangent(a, b) for space, a, b in zip(self.factors, u, v, strict=True))

    def retract(self, u: Tree, v: Tree) -> Tree:
        return tuple(space.retract(a, b) for space, a, b in zip(self.factors, u, v, strict=True))

    def norm(self, v: Tree) -> Tensor:
        lengths = [space.norm(a) for space, a in zip(self.factors, v, strict=True)]
        return torch.stack(lengths).norm(dim=0)

    def distance(self, u: Tree, v: Tree) -> Tensor:
        distances = [space.distance(a, b) for space, a, b in zip(self.factors, u, v, strict=True)]
        return torch.stack(torch.broadcast_tensors(*distances)).norm(dim=0)

    def identity(self) -> Tree:
        neutral = [space.identity() for space in self.factors]
        if self.members is None:
            return tuple(neutral)
        return tuple(
            u if space.members is not None else map_tensors(lambda x: x.expand(self.members, *x.shape), u)
            for space, u in zip(self.factors, neutral, strict=True)
        )

    def compose(self, u: Tree, v: Tree) -> Tree:
        return tuple(space.compose(a, b) for space, a, b in zip(self.factors, u, v, strict=True))

    def mask(self) -> Tree | None:
        masks = [space.mask() for space in self.factors]
        if all(mask is None for mask in masks):
            return None
        device = tensors([mask for mask in masks if mask is not None])[0].device
        return tuple(
            map_tensors(lambda x: torch.ones_like(x, dtype=torch.bool, device=device), u) if mask is None else mask
            for mask, u in zip(masks, self.identity(), strict=True)
        )

    def cover(self, count: int | None = None) -> Tree:
        """All combinations of the factors' covering sets, about ``count`` in all."""
        finite = [space for space in self.factors if isinstance(space, Finite)]
        rest = None if count is None else count / math.prod(space.size for space in finite)
        free = len(self.factors) - len(finite)
        size = None if rest is None or not free else max(1, round(rest ** (1 / free)))
        covers = [space.cover(None if isinstance(space, Finite) else size) for space in self.factors]
        index = torch.cartesian_prod(*(torch.arange(batch_size(cover)) for cover in covers)).reshape(-1, len(covers))
        return tuple(self._per_member(s, take(c, i)) for s, c, i in zip(self.factors, covers, index.T, strict=True))

    def _per_member(self, space: Space, points: Tree) -> Tree:
        return points if self.members is None else candidates(space, points, self.members)
