"""The spaces :math:`\\mathcal U` over which a prior is maximized (paper: Definition "prior maximization")."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from adacanon.core.pytree import Tree, map_tensors
from adacanon.errors import SpaceError


class Space(ABC):
    r"""A metric space :math:`\mathcal U`, or a batch of them :math:`(\mathcal U_i)_i` (the paper's galaxies).

    A point is a tensor or a tuple of tensors with any leading axes. A batch of spaces has ``members``; its
    points carry the members on the last leading axis, and ``select`` lines the members up with a list of pairs.
    Spaces of unequal sizes pad their points; ``mask`` tells which entries mean something.

    Points are drawn on the CPU in float64, and a draw never depends on which other members are in the batch.

    Example:
        >>> from adacanon.spaces import Circle
        >>> angles = Circle().sample(5, generator=torch.Generator().manual_seed(0))
        >>> angles.shape, float(Circle().distance(angles[0], angles[0]))
        (torch.Size([5]), 0.0)
    """

    @property
    def members(self) -> int | None:
        """Number of spaces in the batch, or None for one space shared by all inputs."""
        return None

    @property
    @abstractmethod
    def diameter(self) -> float | Tensor:
        """A length scale, the unit of refinement steps; shape (members,) for a batch of spaces."""

    @abstractmethod
    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tree:
        """Draw ``count`` points from the natural measure: shape (count, *point) or (count, members, *point)."""

    @abstractmethod
    def project(self, u: Tree) -> Tree:
        """The nearest point of the space."""

    @abstractmethod
    def tangent(self, u: Tree, v: Tree) -> Tree:
        """The part of the ambient direction ``v`` that is tangent to the space at ``u``."""

    @abstractmethod
    def retract(self, u: Tree, v: Tree) -> Tree:
        """Walk from ``u`` along the tangent direction ``v``, staying on the space."""

    @abstractmethod
    def norm(self, v: Tree) -> Tensor:
        """Length of a tangent direction; a step of length t moves a distance of about t."""

    @abstractmethod
    def distance(self, u: Tree, v: Tree) -> Tensor:
        """Distance over the leading axes: geodesic, or chordal where geodesics have no closed form."""

    @abstractmethod
    def identity(self) -> Tree:
        """The neutral transformation, (*point) or (members, *point)."""

    def select(self, owner: Tensor) -> "Space":
        """The spaces of the inputs ``owner``, one per pair."""
        return self

    def mask(self) -> Tree | None:
        """Which entries of a point mean something, or None if all do."""
        return None

    def cover(self, count: int | None = None) -> Tree:
        """A deterministic, evenly spread set of ``count`` points."""
        raise SpaceError(f"{self!r} has no covering set. Hint: use RandomSearch, or give GridSearch its points")

    def compose(self, u: Tree, v: Tree) -> Tree:
        """The transformation that applies ``v`` first and ``u`` after it."""
        raise SpaceError(f"{self!r} is not a group. Hint: anchored searches need a space with compose()")


def candidates(space: Space, points: Tree, batch: int) -> Tree:
    """Give points (count, ...) the shape (count, batch, ...), without copying those shared by all inputs."""
    if space.members is not None:
        return points
    return map_tensors(lambda leaf: leaf.unsqueeze(1).expand(-1, batch, *leaf.shape[1:]), points)
