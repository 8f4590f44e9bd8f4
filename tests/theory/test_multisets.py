r"""Appendix "Universal Approximation of Multi-Sets Functions": :math:`d([X],[Y]) = \min_s \|X - \rho(s)Y\|` is
a metric, and functions of multisets are continuous in it.
"""

import itertools

import pytest
import torch
from torch import Tensor

from adacanon import RandomSearch
from adacanon.points import multiset_distance
from adacanon.spaces import SO3
from cases.theory_cases import CloudNetwork, canonicalized, random_clouds, stream


def brute_force(x: Tensor, y: Tensor) -> Tensor:
    """The definition, over all N! permutations."""
    return torch.stack([(x - y[list(s)]).norm() for s in itertools.permutations(range(len(y)))]).min()


def arrays(count: int, points: int, seed: int = 0) -> Tensor:
    """Small integer coordinates, so that multisets with repetitions and coincidences occur."""
    return torch.randint(-2, 3, (count, points, 3), generator=stream(seed)).double()


def shuffled(x: Tensor, seed: int = 0) -> Tensor:
    return x[torch.randperm(len(x), generator=stream(seed))]


def is_metric_on_multisets(distance: object, clouds: Tensor) -> bool:
    """Zero exactly on permutations, symmetric, triangle inequality."""
    assert callable(distance)
    d = torch.stack([torch.stack([distance(x, y) for y in clouds]) for x in clouds])
    same = torch.tensor([[sorted(x.tolist()) == sorted(y.tolist()) for y in clouds] for x in clouds])
    triangle = d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-9
    return bool(((d < 1e-9) == same).all() and (d - d.mT).abs().max() < 1e-9 and triangle.all())


def clouds_and_their_permutations() -> Tensor:
    clouds = arrays(8, 4)
    return torch.cat([clouds, torch.stack([shuffled(x, i) for i, x in enumerate(clouds)])])


@pytest.mark.parametrize("points", [1, 2, 5])
def test_it_is_the_minimum_over_all_permutations(points: int) -> None:
    for x, y in zip(arrays(8, points, 1), arrays(8, points, 2), strict=True):
        torch.testing.assert_close(multiset_distance(x, y), brute_force(x, y))


def test_it_is_a_metric() -> None:
    assert is_metric_on_multisets(multiset_distance, clouds_and_their_permutations())


def test_the_distance_of_arrays_is_not_a_metric_on_multisets() -> None:
    """It tells one multiset from itself."""
    assert not is_metric_on_multisets(lambda x, y: (x - y).norm(), clouds_and_their_permutations())


def test_greedy_matching_is_not_a_metric_on_multisets() -> None:
    """Pairing every point with its nearest one is not symmetric, and zero for different multiplicities."""
    assert not is_metric_on_multisets(lambda x, y: torch.cdist(x, y).amin(1).norm(), clouds_and_their_permutations())


def test_a_joint_rotation_changes_nothing() -> None:
    x, y = random_clouds(2, seed=3)
    for u in SO3().sample(8, generator=stream(4)):
        torch.testing.assert_close(multiset_distance(x @ u.mT, shuffled(y) @ u.mT), multiset_distance(x, y))


def test_rotating_one_of_the_two_changes_it() -> None:
    x, y = random_clouds(2, seed=3)
    u = SO3().sample(1, generator=stream(4))[0]
    assert (multiset_distance(x @ u.mT, y) - multiset_distance(x, y)).abs() > 1e-3


def largest_slope(function: object, size: float) -> float:
    """The largest change of a function per multiset distance, over perturbed and shuffled clouds."""
    assert callable(function)
    slopes = []
    for i, x in enumerate(random_clouds(8)):
        y = shuffled(x + size * random_clouds(1, seed=50 + i)[0], i)
        change = (function(x[None]) - function(y[None])).abs().max()
        slopes.append((change / multiset_distance(x, y)).item())
    return max(slopes)


def test_functions_of_multisets_are_continuous_in_it() -> None:
    """A permutation-invariant network and its canonicalization have bounded slopes however close two multisets are."""
    f = CloudNetwork(0)
    for function in (f, canonicalized(f, RandomSearch(16))):
        slopes = [largest_slope(function, size) for size in (1e-1, 1e-3, 1e-6)]
        assert max(slopes) < 2 * max(slopes[0], 1)


def test_functions_of_the_order_are_not_continuous_in_it() -> None:
    weights = torch.randn(12, 1, generator=stream(0), dtype=torch.float64)
    assert largest_slope(lambda clouds: (clouds * weights).sum((1, 2))[:, None], 1e-6) > 1e3
