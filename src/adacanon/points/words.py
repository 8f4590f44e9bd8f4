"""Rotations and reflections of space in words."""

import math

import torch
from torch import Tensor

from adacanon.core.pictures import UNCHANGED

HALF_A_DEGREE = 0.5
"""Angles are told in whole degrees; what rounds to none is none."""


def isometry_in_words(matrix: Tensor) -> str:
    """An orthogonal matrix (3, 3): its angle from 0 to 180 degrees and its axis, by the right-hand rule.

    A matrix with determinant -1 is a reflection in a plane, or the reflection through the centre and a rotation.

    Example:
        >>> isometry_in_words(torch.tensor([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]))
        'turned by 90° about the axis (0.00, 0.00, 1.00)'
        >>> isometry_in_words(torch.diag(torch.tensor([-1.0, 1.0, 1.0])))
        'mirrored in the plane across (1.00, 0.00, 0.00)'
    """
    matrix = matrix.detach().double().cpu()
    if float(torch.linalg.det(matrix)) > 0:
        degrees, axis = angle_and_axis(matrix)
        return UNCHANGED if degrees < HALF_A_DEGREE else turn_in_words(degrees, axis)
    degrees, axis = angle_and_axis(-matrix)
    if degrees > 180 - HALF_A_DEGREE:  # the centre and half a turn: the plane across the axis
        return f"mirrored in the plane across {direction_in_words(axis)}"
    centre = "mirrored through the centre"
    return centre if degrees < HALF_A_DEGREE else f"{centre} and {turn_in_words(degrees, axis)}"


def turn_in_words(degrees: float, axis: Tensor) -> str:
    """An angle about an axis."""
    return f"turned by {degrees:.0f}° about the axis {direction_in_words(axis)}"


def direction_in_words(axis: Tensor) -> str:
    """Three numbers with two decimals, none of them -0.00."""
    return f"({', '.join(f'{round(float(x), 2) + 0.0:.2f}' for x in axis)})"


def angle_and_axis(rotation: Tensor) -> tuple[float, Tensor]:
    r"""Of a rotation (3, 3), the angle in degrees and the unit vector of its axis.

    The quaternion :math:`(\sin\frac\theta2\,a, \cos\frac\theta2)` is exact also near half a turn, where the
    antisymmetric part vanishes. For half a turn either sign of the axis is right.
    """
    import roma

    quaternion = roma.rotmat_to_unitquat(rotation)
    if float(quaternion[3]) < 0:
        quaternion = -quaternion
    length = float(quaternion[:3].norm())
    angle = 2 * math.atan2(length, float(quaternion[3]))
    axis = quaternion[:3] / length if length > 0 else quaternion.new_tensor([0.0, 0.0, 1.0])
    return math.degrees(angle), axis
