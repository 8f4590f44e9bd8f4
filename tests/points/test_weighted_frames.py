"""Weighted frames: symmetric shapes get one answer in all poses, and nothing jumps where variances cross."""

import math

import pytest
import torch
from tests.points.test_symmetric_shapes import SYMMETRIC, Lively, cube, ordinary, polygon, poses, turned
from torch import Tensor

from adacanon import AnchoredSearch, Canonicalized, WeightedAnchors
from adacanon.core.soft import RunningSoftMaximum, soft_maximum, soft_weights
from adacanon.errors import SpaceError
from adacanon.families import Composition
from adacanon.points import Isometries, Rotations
from adacanon.points.weighted_frames import weighted_frames
from adacanon.testing import check_maximizer

NOT_DETERMINED = ("one point, repeated", "polygon of 1000 corners")
SHAPES = [name for name in SYMMETRIC if name not in (*NOT_DETERMINED, "two points", "points on a line")]


def isotropic(points: int = 64) -> Tensor:
    x = ordinary(torch.float64, 1, points)[0] ** 3
    x = x - x.mean(0)
    variances, axes = torch.linalg.eigh(x.mT @ x)
    return x @ axes / variances.sqrt()


def model(temperature: float, family: Rotations | Isometries | None = None) -> Canonicalized:
    return Canonicalized(Lively(), family or Rotations(), WeightedAnchors(), temperature=temperature).double().eval()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("name", [*SHAPES, "isotropic"])
def test_symmetric_shapes_get_one_answer_in_all_poses(name: str, temperature: float) -> None:
    shape = isotropic() if name == "isotropic" else SYMMETRIC[name]
    found = model(temperature).canonicalize(turned(shape, poses()[:10]))
    assert found.determined is not None
    assert found.determined.all()
    assert found.logits.std(0).max() < 1e-7


def test_isometries_have_the_mirror_images_too() -> None:
    x = turned(cube(), torch.cat([poses()[:4], -poses()[4:8]]))
    assert model(1.0, Isometries())(x).std(0).max() < 1e-7


@pytest.mark.parametrize("name", NOT_DETERMINED)
def test_what_remains_is_reported(name: str) -> None:
    with pytest.warns(UserWarning, match="no axes of their own"):
        found = model(1.0).canonicalize(turned(SYMMETRIC[name], poses()[:3]))
    assert found.determined is not None
    assert not found.determined.any()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_clouds_with_axes_of_their_own_have_the_24_frames(temperature: float) -> None:
    x = ordinary(torch.float64) * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    plain = Canonicalized(Lively(), Rotations(), AnchoredSearch(24), temperature=temperature).double().eval()
    found = model(temperature).canonicalize(x)
    torch.testing.assert_close(found.logits, plain(x))
    torch.testing.assert_close(model(temperature)(x), plain(x))
    assert found.evaluations == 24


def test_only_symmetric_shapes_of_a_batch_cost_more() -> None:
    box = cube() * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    for temperature in (0.0, 1.0):
        assert model(temperature).canonicalize(torch.stack([box, cube()])).evaluations == (24 + 48) / 2


def test_padding_does_not_matter() -> None:
    x = torch.cat([cube(), torch.full((3, 3), 7.0, dtype=torch.float64)])
    frames, weights, _ = weighted_frames(x[None], (torch.arange(11) < 8)[None])
    own, own_weights, _ = weighted_frames(cube()[None])
    distance, match = torch.cdist(frames.flatten(2), own.flatten(2))[0].min(1)
    assert distance.max() < 1e-6
    assert len(set(match.tolist())) == 48
    torch.testing.assert_close(weights[0], own_weights[0, match])


def largest_jump(network: Canonicalized, steps: int) -> float:
    """Along a path of clouds on which two variances cross, and a shear lets them come to rest there for a moment."""
    t = torch.linspace(-0.02, 0.02, steps, dtype=torch.float64)
    shape = torch.cat([polygon(5) * 0.8, isotropic(24) * 3])
    shape = shape - shape.mean(0)
    variances, axes = torch.linalg.eigh(shape.mT @ shape)
    shape = shape @ axes / variances.sqrt()
    path = torch.zeros(steps, 3, 3, dtype=torch.float64)
    path[:, 0, 0], path[:, 1, 1], path[:, 2, 2] = 1 + t, 1 - t, torch.tensor(2.0)
    path[:, 0, 1] = path[:, 1, 0] = torch.where(t > 0, t, 0.0)
    with torch.no_grad():
        answers = network(shape @ path)
    return float(answers.diff(dim=0).abs().max())


def test_with_a_temperature_nothing_jumps_where_variances_cross() -> None:
    soft = [largest_jump(model(1.0), steps) for steps in (101, 801)]
    assert soft[1] < soft[0] / 4
    frames = Canonicalized(Lively(), Rotations(), AnchoredSearch(24), temperature=1.0).double().eval()
    jumps = [largest_jump(frames, steps) for steps in (101, 801)]
    assert jumps[1] > 0.9 * jumps[0]


@pytest.mark.parametrize("temperature", [0.0, 0.3, 2.0, math.inf])
def test_weights_are_those_of_repeated_candidates(temperature: float) -> None:
    v = ordinary(torch.float64, 1, 3)[0]
    repeated = v[[0, 1, 1, 2, 2, 2]]
    counts = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64) / 6
    expected = soft_maximum(repeated, temperature)
    torch.testing.assert_close(soft_maximum(v, temperature, counts=counts), expected)
    running = RunningSoftMaximum(temperature)
    running.add(v[:1], counts[:1])
    running.add(v[1:], counts[1:])
    torch.testing.assert_close(running.result(), expected)
    if temperature:
        weights = soft_weights(repeated, temperature)
        summed = torch.stack([weights[0], weights[1:3].sum(0), weights[3:].sum(0)])
        torch.testing.assert_close(soft_weights(v, temperature, counts=counts), summed)


def test_gradients_are_those_of_the_answers() -> None:
    network = model(1.0)
    x = torch.stack([cube(), cube() * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)])
    with torch.no_grad():
        before = network(x)
    torch.testing.assert_close(network(x), before)
    network(x).sum().backward()
    assert all(parameter.grad is not None for parameter in network.network.parameters())


def test_families_without_weighted_anchors_are_refused() -> None:
    with pytest.raises(SpaceError, match="no weighted anchors"):
        Canonicalized(Lively(), Composition(Rotations(), Rotations()), WeightedAnchors())(ordinary())


def test_the_search_keeps_the_laws_of_searches() -> None:
    check_maximizer(WeightedAnchors())
