"""Symmetries of space on clouds (paper: section "Anisotropic Point Cloud Networks")."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from numbers import Real

import torch
from torch import Tensor

from adacanon.arguments import set_whole_numbers
from adacanon.core.answers import Kind
from adacanon.core.family import Searches
from adacanon.core.pictures import UNCHANGED
from adacanon.errors import InputError
from adacanon.maximizers.anchored import AnchoredSearch
from adacanon.points.cloud_family import CloudFamily, Clouds, coordinates_of, mask_of
from adacanon.points.frames import centred, differ, principal_axes, settled_axes
from adacanon.points.weighted_frames import weighted_frames
from adacanon.points.words import turn_in_words
from adacanon.spaces.circle import Circle
from adacanon.spaces.orthogonal import Orthogonal
from adacanon.spaces.so3 import SO3, rotation_group

Axis = tuple[float, float, float]

AXIS_ANCHORS = 16
"""Angles about an axis that a cloud is searched at; a multiple of four."""


@dataclass(frozen=True, repr=False)
class Rotations(CloudFamily):
    r""":math:`\kappa_R(X) = XR^\top` with rotations R, the group SO(3); batches as in :class:`CloudFamily`.

    Args:
        vectors: of a point, 1 for its coordinates, 2 with a normal.

    Example:
        >>> clouds, mask = torch.randn(2, 5, 3), torch.ones(2, 5, dtype=torch.bool)
        >>> turned, same = Rotations().transform((clouds, mask), SO3().identity()[None].float(), torch.tensor([1]))
        >>> turned.shape, same.shape
        (torch.Size([1, 5, 3]), torch.Size([1, 5]))
    """

    vectors: int = 1

    def __post_init__(self) -> None:
        set_whole_numbers(self, "vectors", least=1)

    def __repr__(self) -> str:
        return f"Rotations({'' if self.vectors == 1 else f'vectors={self.vectors}'})"

    def space(self, g: Clouds) -> SO3:
        return SO3()

    def matrices(self, u: Tensor) -> Tensor:
        return u

    def searches(self) -> Searches:
        """The anchors: few, invariant where variances differ, and continuous where two cross (``docs/searches.md``)."""
        return AnchoredSearch(24), None

    def anchor(self, g: Clouds) -> Tensor:
        """See :func:`axis_frames`."""
        return axis_frames(coordinates_of(g), mask_of(g))

    def determined(self, g: Clouds) -> Tensor:
        """See :func:`~adacanon.points.frames.settled_axes`."""
        return settled_axes(coordinates_of(g), mask_of(g)).unique

    def determined_for_scores(self, g: Clouds) -> Tensor:
        """Symmetries of a cloud do not matter where its points have nothing but coordinates."""
        found = settled_axes(coordinates_of(g), mask_of(g))
        return found.settled if self._only_coordinates(g) else found.unique

    def weighted_anchor(self, g: Clouds) -> tuple[Tensor, Tensor, Tensor]:
        """See :func:`~adacanon.points.weighted_frames.weighted_frames`."""
        return weighted_frames(coordinates_of(g), mask_of(g))


@dataclass(frozen=True, repr=False)
class Isometries(CloudFamily):
    r""":math:`\kappa_U(X) = XU^\top` with rotations and reflections U, the group O(3).

    Normals turn as vectors do: those of a mirrored surface are the mirrored ones. Answers that are poses are refused:
    the mirror image of a rotation is none.

    Args:
        vectors: of a point, 1 for its coordinates, 2 with a normal.

    Example:
        >>> mirror = torch.diag(torch.tensor([-1.0, 1.0, 1.0]))[None]
        >>> Isometries().transform(torch.ones(1, 2, 3), mirror, torch.tensor([0])).tolist()
        [[[-1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]]]
    """

    vectors: int = 1

    def __post_init__(self) -> None:
        set_whole_numbers(self, "vectors", least=1)

    def __repr__(self) -> str:
        return f"Isometries({'' if self.vectors == 1 else f'vectors={self.vectors}'})"

    @property
    def carries(self) -> frozenset[Kind]:
        return frozenset({"invariant", "vectors"})

    def space(self, g: Clouds) -> Orthogonal:
        return Orthogonal(3)

    def matrices(self, u: Tensor) -> Tensor:
        return u

    def searches(self) -> Searches:
        """The anchors, as for :class:`Rotations`."""
        return AnchoredSearch(48), None

    def anchor(self, g: Clouds) -> Tensor:
        """The frames of :func:`axis_frames` and their mirror images."""
        frames = axis_frames(coordinates_of(g), mask_of(g))
        return torch.cat([frames, -frames], 1)

    def determined(self, g: Clouds) -> Tensor:
        """See :func:`~adacanon.points.frames.settled_axes`."""
        return settled_axes(coordinates_of(g), mask_of(g)).unique

    def determined_for_scores(self, g: Clouds) -> Tensor:
        """Symmetries of a cloud do not matter where its points have nothing but coordinates."""
        found = settled_axes(coordinates_of(g), mask_of(g))
        return found.settled if self._only_coordinates(g) else found.unique

    def weighted_anchor(self, g: Clouds) -> tuple[Tensor, Tensor, Tensor]:
        """The frames of :func:`~adacanon.points.weighted_frames.weighted_frames` and their mirror images."""
        frames, weights, determined = weighted_frames(coordinates_of(g), mask_of(g))
        return torch.cat([frames, -frames], 1), torch.cat([weights, weights], 1) / 2, determined


@dataclass(frozen=True)
class AxisRotations(CloudFamily):
    r""":math:`\kappa_\theta(X) = XR_\theta^\top` with the rotations by angles :math:`\theta` about one axis.

    Args:
        axis: its direction, of any length.
        vectors: of a point, 1 for its coordinates, 2 with a normal.

    Example:
        >>> AxisRotations((0, 1, 0)).matrices(torch.tensor(math.pi / 2)).round().int().tolist()
        [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]
    """

    axis: Axis
    vectors: int = 1

    def __post_init__(self) -> None:
        unit_vector(self.axis)
        set_whole_numbers(self, "vectors", least=1)

    def space(self, g: Clouds) -> Circle:
        return Circle()

    def matrices(self, u: Tensor) -> Tensor:
        return rotations_about(self.axis, u)

    def describe(self, g: Clouds, u: Tensor, owner: Tensor) -> list[str]:
        """The angle with its sign, about the axis as it was given."""
        axis = torch.tensor(unit_vector(self.axis))
        degrees = [round(math.degrees(angle)) for angle in u.tolist()]
        return [UNCHANGED if not angle else turn_in_words(angle, axis) for angle in degrees]

    def searches(self) -> Searches:
        """The anchors, as for :class:`Rotations`."""
        return AnchoredSearch(AXIS_ANCHORS), None

    def anchor(self, g: Clouds) -> Tensor:
        """See :func:`axis_angles`."""
        return axis_angles(coordinates_of(g), self.axis, mask_of(g))

    def determined(self, g: Clouds) -> Tensor:
        """See :func:`angles_determined`."""
        return angles_determined(coordinates_of(g), self.axis, mask_of(g))


def axis_frames(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """The rotations (batch, 24, 3, 3) that align a cloud with its principal axes in any order and with any signs.

    As a set they do not depend on which axis is the longest. Where two variances cross, the axes change places, which
    permutes the set. Along a path that does not come to rest at a crossing it is therefore continuous, while each of
    its elements jumps. Where two variances are equal, further moments decide, see
    :func:`~adacanon.points.frames.settled_axes`. The first four keep the order of the variances where these differ.
    """
    exporting = torch.compiler.is_exporting()  # a program does not look at values
    axes = principal_axes(points, mask) if exporting else settled_axes(points, mask).axes
    return (rotation_group("cube").to(axes) @ axes.unsqueeze(1)).to(points.dtype)


@torch.no_grad()
def axis_angles(points: Tensor, axis: Axis, mask: Tensor | None = None) -> Tensor:
    r"""Sixteen angles (batch, 16), equally spaced, of which one turns the longer principal axis of the cloud's
    projection along the axis into a fixed direction.

    With complex coordinates z in the plane across the axis that direction is :math:`\frac12\arg\sum_i z_i^2`. It is
    defined up to half a turn, and by a quarter turn it changes where two variances cross; the set changes by neither.
    """
    real, imaginary, _ = _second_moments(points, axis, mask)
    if torch.compiler.is_exporting():  # runtimes have the arc tangent in float32 only
        real, imaginary = real.float(), imaginary.float()
    direction = torch.atan2(imaginary, real) / 2
    spaced = 2 * math.pi * torch.arange(AXIS_ANCHORS, dtype=direction.dtype, device=direction.device) / AXIS_ANCHORS
    return Circle().project(spaced - direction.unsqueeze(1)).to(points.dtype)


@torch.no_grad()
def angles_determined(points: Tensor, axis: Axis, mask: Tensor | None = None) -> Tensor:
    r"""Whether the angles of :func:`axis_angles` follow from the cloud, (batch,): the two variances of its projection
    along the axis, :math:`\frac12(\sum_i|z_i|^2 \pm |\sum_i z_i^2|)`, differ by more than rounding.
    """
    real, imaginary, total = _second_moments(points, axis, mask)
    gap = torch.hypot(real, imaginary)
    smaller, larger = (((total + sign * gap) / 2).unsqueeze(1) for sign in (-1, 1))
    return differ(smaller, larger, points, mask).all(1)


def _second_moments(points: Tensor, axis: Axis, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    r"""Real and imaginary part of :math:`\sum_i z_i^2`, and :math:`\sum_i|z_i|^2`, in float64, (batch,) each."""
    x = centred(points, mask)
    along, across = x.new_tensor(unit_vector(axis)), x.new_tensor(_across(unit_vector(axis)))
    a, b = x @ across, x @ torch.linalg.cross(along, across)
    return (a * a - b * b).sum(1), 2 * (a * b).sum(1), (a * a + b * b).sum(1)


@cache
def _across(axis: Axis) -> list[float]:
    """A direction across the axis, the same in every call."""
    along = torch.tensor(axis, dtype=torch.float64)
    return torch.linalg.qr(along[:, None], mode="complete").Q[:, 1].tolist()


def unit_vector(axis: Axis) -> Axis:
    """The direction of an axis of any length, or an error.

    Example:
        >>> unit_vector((0, 0, 1e-200))
        (0.0, 0.0, 1.0)
    """
    numbers = tuple(axis) if isinstance(axis, Iterable) and getattr(axis, "ndim", 1) == 1 else ()
    largest = max(map(abs, numbers)) if len(numbers) == 3 and all(isinstance(n, Real) for n in numbers) else 0.0
    if not (0 < largest < math.inf):
        raise InputError(f"An axis is a direction of three finite numbers, not all zero, got {axis!r}")
    x, y, z = (float(n) / float(largest) for n in numbers)
    length = math.hypot(x, y, z)
    return x / length, y / length, z / length


def rotations_about(axis: Axis, angles: Tensor) -> Tensor:
    r"""Rodrigues' formula, :math:`R_\theta = aa^\top + \cos\theta\,(I - aa^\top) + \sin\theta\,[a]_\times`, a the unit
    vector of the axis.

    Shape:
        (...) -> (..., 3, 3)
    """
    x, y, z = unit_vector(axis)
    along = angles.new_tensor([[x * x, x * y, x * z], [x * y, y * y, y * z], [x * z, y * z, z * z]])
    across = angles.new_tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    eye = torch.eye(3, dtype=angles.dtype, device=angles.device)
    cosine, sine = angles.cos()[..., None, None], angles.sin()[..., None, None]
    return along + cosine * (eye - along) + sine * across
