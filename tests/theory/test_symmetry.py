r"""Theorem "symmetry preserving prior maximization", part 2: :math:`f\circ\rho_f(\pi(u)g) = f\circ\rho_f(g)`.

Exact where the candidates are a group; on SO(3), as good as the search.
"""

import itertools

from torch import Tensor

from adacanon import GridSearch, RandomSearch, Restarts, SampleAndRefine
from adacanon.core import Maximizer
from adacanon.spaces import SO3, rotation_group
from cases.theory_cases import CloudNetwork, canonicalized, invariance_error, largest_difference, random_clouds, stream

CUBE = rotation_group("cube")


def error_under_group(search: Maximizer, group: Tensor) -> float:
    """The largest change of any output under any element of a finite group."""
    clouds = random_clouds(16)
    model = canonicalized(CloudNetwork(0), search)
    return max(largest_difference(model(clouds @ u.mT), model(clouds)) for u in group)


def test_a_finite_group_is_exactly_preserved() -> None:
    assert error_under_group(GridSearch(points=CUBE), CUBE) < 1e-10


def test_a_subgroup_is_preserved_by_the_larger_group() -> None:
    assert error_under_group(GridSearch(points=CUBE), rotation_group("tetrahedron")) < 1e-10


def test_candidates_that_are_no_group_do_not_preserve_it() -> None:
    draws = SO3().sample(24, generator=stream(0))
    assert error_under_group(GridSearch(points=draws), CUBE) > 0.1


def test_an_incomplete_group_does_not_preserve_it() -> None:
    """Group laws are needed, not just group elements: 20 of the 24 rotations are not enough."""
    assert error_under_group(GridSearch(points=CUBE[:20]), CUBE) > 0.1


def test_the_network_alone_does_not_preserve_it() -> None:
    f, clouds = CloudNetwork(0), random_clouds(16)
    assert max(largest_difference(f(clouds @ u.mT), f(clouds)) for u in CUBE) > 0.1


def test_on_so3_the_error_shrinks_as_the_search_strengthens() -> None:
    f, clouds = CloudNetwork(0), random_clouds(32)
    searches = [
        RandomSearch(1),
        GridSearch(16),
        GridSearch(256),
        GridSearch(4096),
        Restarts(SampleAndRefine(32, steps=30), times=8),
    ]
    errors = [invariance_error(canonicalized(f, search), clouds, rotations=3) for search in searches]
    assert all(stronger < 0.9 * weaker for weaker, stronger in itertools.pairwise(errors)), errors
    assert errors[-1] < 0.02
