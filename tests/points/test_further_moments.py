"""Axes from further moments: clouds without principal axes have the same forms in every pose."""

import math

import pytest
import torch
from benchmarks.frame.symmetric_clouds import copies, isotropic, made_clouds, noisy, prism, turns, two_alike
from tests.points.test_symmetric_shapes import Lively, ordinary, polygon, poses, tied, turned
from torch import Tensor

from adacanon import Canonicalized
from adacanon.data.modelnet import load_modelnet
from adacanon.points import Rotations
from adacanon.points.frames import AGREE, settled_axes, variances_differ
from adacanon.points.rotations import axis_frames

UP = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)
MADE = made_clouds()
SPACED = torch.randn(6, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def set_of_forms(cloud: Tensor) -> Tensor:
    """The 24 forms of a cloud, each as sums over its points of six waves, which know no order, (24, 6)."""
    forms = (axis_frames(cloud[None])[0] @ cloud.T).mT
    return (forms @ SPACED.T).sin().sum(1)


@pytest.mark.parametrize("name", MADE)
def test_symmetric_clouds_have_the_same_24_forms_in_every_pose(name: str) -> None:
    cloud = MADE[name]
    expected = set_of_forms(cloud)
    for pose in poses()[:4]:
        found = set_of_forms(cloud @ pose.mT)
        assert torch.cdist(found, expected).min(1).values.max() < 1e-4
        assert torch.cdist(expected, found).min(1).values.max() < 1e-4


@pytest.mark.parametrize("made_of", [two_alike, isotropic], ids=["two variances", "three"])
def test_of_ordinary_clouds_whose_variances_agree_are_unique(made_of: object) -> None:
    for cloud in ordinary(torch.float64, count=4, points=30):
        alike = made_of(cloud)  # type: ignore[operator]
        x = turned(alike, poses()[:8])
        assert not variances_differ(x, roundings=AGREE).all(1).any()
        found = settled_axes(x)
        assert found.unique.all()
        back = found.axes @ poses()[:8].to(found.axes)
        frames = axis_frames(alike[None]).flatten(2)[0]
        assert torch.cdist(back.flatten(1), frames).min(1).values.max() < 1e-6


@pytest.mark.parametrize("size", [1e-7, 1e-6, 1e-4, 1e-2])
def test_errors_of_any_size_do_not_bring_the_pose_back(size: float) -> None:
    model = Canonicalized(Lively(), Rotations()).eval()
    for number, cloud in enumerate(MADE.values()):
        scores = model(turned(noisy(cloud, size, seed=number).float(), poses()[:6]))
        assert scores.std(0).max() < 5e-3


def test_the_mean_breaks_symmetries_because_rotations_are_about_the_origin() -> None:
    corners = prism(3, 1.3)
    assert not settled_axes(corners[None]).unique.item()
    assert settled_axes((corners + torch.tensor([0.3, 0.1, 0.2], dtype=torch.float64))[None]).unique.item()


@pytest.mark.parametrize("height", [0.0, 1.0])
def test_an_antiprism_is_told_by_the_rim_that_is_nearer_to_the_origin(height: float) -> None:
    """Its rims cancel in every fourth moment; away from the origin they are not alike."""
    quarter = math.pi / 4
    twisted = torch.tensor([math.cos(quarter), math.sin(quarter), -0.7], dtype=torch.float64)
    cloud = torch.cat([polygon(4) + 0.7 * UP, copies(twisted[None], turns(4))]) + height * UP
    model = Canonicalized(Lively(), Rotations()).double().eval()
    assert model(turned(cloud, poses()[:10])).std(0).max() < 1e-6


def test_a_choice_between_directions_that_are_not_alike_is_not_settled() -> None:
    found = settled_axes(turned(tied(), poses()[:10]))
    assert not found.settled.any()
    assert not found.unique.any()


def test_clouds_of_a_batch_do_not_see_each_other() -> None:
    cloud, other = MADE["square table"], ordinary(torch.float64, count=1, points=128)[0]
    both = settled_axes(torch.stack([cloud, other]))
    torch.testing.assert_close(both.axes[0], settled_axes(cloud[None]).axes[0])
    torch.testing.assert_close(both.axes[1], settled_axes(other[None]).axes[0])


@pytest.mark.data
def test_no_test_shape_of_modelnet10_needs_them() -> None:
    assert variances_differ(load_modelnet(10, 128).test.points, roundings=AGREE).all()
