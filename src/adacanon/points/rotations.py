"""Symmetries of space on clouds (paper: section "Anisotropic Point Cloud Networks")."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.family import Searches
from adacanon.errors import InputError
from adacanon.maximizers.anchored import AnchoredSearch
from adacanon.points.cloud_family import CloudFamily, Clouds, coordinates_of, mask_of
from adacanon.points.frames import principal_axes
from adacanon.spaces.circle import Circle
from adacanon.spaces.orthogonal import Orthogonal
from adacanon.spaces.so3 import SO3, rotation_group


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

    def __repr__(self) -> str:
        return f"Rotations({'' if self.vectors == 1 else f'vectors={self.vectors}'})"

    def space(self, g: Clouds) -> SO3:
        return SO3()

    def matrices(self, u: Tensor) -> Tensor:
        return u

    def searches(self) -> Searches:
        """The anchors: few, exactly invariant, and continuous where axes change places (``docs/searches.md``)."""
        return AnchoredSearch(24), None

    def anchor(self, g: Clouds) -> Tensor:
        """See :func:`axis_frames`."""
        return axis_frames(g)


@dataclass(frozen=True, repr=False)
class Isometries(CloudFamily):
    r""":math:`\kappa_U(X) = XU^\top` with rotations and reflections U, the group O(3).

    Normals turn as vectors do: those of a mirrored surface are the mirrored ones.

    Args:
        vectors: of a point, 1 for its coordinates, 2 with a normal.
    """

    vectors: int = 1

    def __repr__(self) -> str:
        return f"Isometries({'' if self.vectors == 1 else f'vectors={self.vectors}'})"

    def space(self, g: Clouds) -> Orthogonal:
        return Orthogonal(3)

    def matrices(self, u: Tensor) -> Tensor:
        return u

    def searches(self) -> Searches:
        """The anchors, as for :class:`Rotations`."""
        return AnchoredSearch(48), None

    def anchor(self, g: Clouds) -> Tensor:
        """The frames of :func:`axis_frames` and their mirror images."""
        frames = axis_frames(g)
        return torch.cat([frames, -frames], 1)


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

    axis: tuple[float, float, float]
    vectors: int = 1

    def __post_init__(self) -> None:
        length = math.hypot(*self.axis) if len(self.axis) == 3 else 0.0
        if not (math.isfinite(length) and length > 0):
            raise InputError(f"An axis is a direction of three finite numbers, not all zero, got {self.axis}")

    def space(self, g: Clouds) -> Circle:
        return Circle()

    def matrices(self, u: Tensor) -> Tensor:
        return rotations_about(self.axis, u)


def axis_frames(g: Clouds) -> Tensor:
    r"""The rotations (batch, 24, 3, 3) that align a cloud with its principal axes in any order and with any signs.

    As a set they do not depend on which axis is the longest. Where two variances cross, the axes change places, which
    permutes the set; along a smooth path through a crossing it is therefore continuous, while each of its elements
    jumps. The first four keep the order of the variances.
    """
    axes = principal_axes(coordinates_of(g), mask_of(g))
    return (rotation_group("cube").to(axes) @ axes.unsqueeze(1)).to(coordinates_of(g).dtype)


def rotations_about(axis: tuple[float, float, float], angles: Tensor) -> Tensor:
    r"""Rodrigues' formula, :math:`R_\theta = aa^\top + \cos\theta\,(I - aa^\top) + \sin\theta\,[a]_\times`, a the unit
    vector of the axis.

    Shape:
        (...) -> (..., 3, 3)
    """
    a = torch.tensor(axis, dtype=torch.float64)
    x, y, z = (a / a.norm()).tolist()
    along = angles.new_tensor([[x * x, x * y, x * z], [x * y, y * y, y * z], [x * z, y * z, z * z]])
    across = angles.new_tensor([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    eye = torch.eye(3, dtype=angles.dtype, device=angles.device)
    cosine, sine = angles.cos()[..., None, None], angles.sin()[..., None, None]
    return along + cosine * (eye - along) + sine * across
