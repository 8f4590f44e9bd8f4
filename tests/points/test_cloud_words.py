"""Rotations and reflections in words, against roma and against the matrices that the words describe."""

import math
import re

import pytest
import roma
import torch
from torch import Tensor

from adacanon.points import AxisRotations, Isometries, Rotations
from adacanon.points.words import isometry_in_words
from adacanon.spaces import SO3

CLOUD = torch.zeros(1, 4, 3)
OWNER = torch.zeros(1, dtype=torch.int64)


def numbers(text: str) -> tuple[float, Tensor]:
    """The angle and the axis in a text."""
    found = re.fullmatch(r"turned by (-?\d+)° about the axis \((.*)\)", text)
    assert found, text
    return float(found[1]), torch.tensor([float(x) for x in found[2].split(",")])


@pytest.mark.parametrize("seed", range(5))
def test_angle_and_axis_are_those_of_roma(seed: int) -> None:
    rotation = SO3().sample(1, generator=torch.Generator().manual_seed(seed))
    vector = roma.rotmat_to_rotvec(rotation)[0]
    degrees, axis = numbers(Rotations().describe(CLOUD, rotation, OWNER)[0])
    assert degrees == pytest.approx(math.degrees(float(vector.norm())), abs=0.5)
    assert axis.tolist() == pytest.approx((vector / vector.norm()).tolist(), abs=0.006)


@pytest.mark.parametrize("degrees", [1, 179.9, 180])
def test_small_turns_and_half_turns_have_their_axes(degrees: float) -> None:
    axis = torch.tensor([2.0, -1.0, 2.0], dtype=torch.float64) / 3
    rotation = roma.rotvec_to_rotmat(math.radians(degrees) * axis)
    told, direction = numbers(isometry_in_words(rotation))
    assert told == round(degrees)
    assert min((direction - axis).norm(), (direction + axis).norm()) < 0.01
    assert degrees == 180 or (direction - axis).norm() < 0.01


def test_a_turn_by_nothing_is_told_as_such() -> None:
    assert isometry_in_words(torch.eye(3)) == "as it is"
    assert isometry_in_words(roma.rotvec_to_rotmat(torch.tensor([0.0, 0.001, 0.0]))) == "as it is"


def test_reflections_are_told_by_their_plane_or_by_the_centre() -> None:
    normal = torch.tensor([0.6, 0.0, 0.8])
    mirror = torch.eye(3) - 2 * torch.outer(normal, normal)
    text = isometry_in_words(mirror)
    assert re.fullmatch(r"mirrored in the plane across \((-?)0\.60, 0\.00, \g<1>0\.80\)".replace(r"\g<1>", "-?"), text)
    assert isometry_in_words(-torch.eye(3)) == "mirrored through the centre"
    rotation = roma.rotvec_to_rotmat(torch.tensor([0.0, math.radians(40), 0.0]))
    expected = "mirrored through the centre and turned by 40° about the axis (0.00, 1.00, 0.00)"
    assert Isometries().describe(CLOUD, -rotation[None], OWNER) == [expected]


def test_turns_about_one_axis_keep_its_direction_and_have_a_sign() -> None:
    family = AxisRotations((0, 2, 0))
    angles = torch.tensor([math.radians(-37), 0.001])
    told = family.describe(CLOUD, angles, torch.zeros(2, dtype=torch.int64))
    assert told == ["turned by -37° about the axis (0.00, 1.00, 0.00)", "as it is"]


def test_the_picture_of_a_padded_cloud_says_which_points_are_real() -> None:
    cloud, mask = torch.randn(5, 6), torch.tensor([True, True, True, False, False])
    picture = Rotations(vectors=2).picture((cloud, mask, torch.zeros(5, 2)))
    assert picture.coordinates.equal(cloud[:, :3])
    assert picture.real is mask
    assert Rotations().picture(cloud[:, :3]).real is None
