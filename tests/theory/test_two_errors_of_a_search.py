"""What a finite search loses of the two theorems: invariance, and continuity where principal axes cross.

Both are measured for every kind of search on one network. A fixed set is continuous and only roughly invariant;
candidates anchored to the principal axes in any order are invariant to rounding, and continuous where a smooth path
crosses equal variances, but not where it has a corner there; at equal variances themselves they are invariant, too,
and the answer has no limit; refining the best draw jumps where the best draw changes.
A search close to the true maximum makes both errors small.
"""

from functools import cache

import pytest

from adacanon import AnchoredSearch, GridSearch, RandomSearch, SampleAndRefine
from cases.theory_cases import (
    CloudNetwork,
    bent_path,
    canonicalized,
    crossing_path,
    invariance_error,
    kinked_network,
    largest_change,
    largest_difference,
    pca_canonicalized,
    random_clouds,
    shrinks_with_the_step,
    stretched_cloud,
    symmetric_clouds,
)

NETWORK = CloudNetwork(0)
SEARCHES = {
    "fixed random set": RandomSearch(24),
    "covering set": GridSearch(24),
    "best refined": SampleAndRefine(24, steps=5),
    "every refined once": SampleAndRefine(24, steps=1, every=True),
    "every refined": SampleAndRefine(24, steps=5, every=True),
    "anchored": AnchoredSearch(24),
    "close to the maximum": GridSearch(4096),
}


@cache
def invariance(name: str) -> float:
    return invariance_error(canonicalized(NETWORK, SEARCHES[name]), random_clouds(24), rotations=4)


@cache
def jump(name: str, steps: int = 256) -> float:
    return largest_change(canonicalized(NETWORK, SEARCHES[name]), crossing_path(steps))


@pytest.mark.parametrize("name", ["fixed random set", "covering set"])
def test_a_fixed_set_is_continuous_and_roughly_invariant(name: str) -> None:
    assert shrinks_with_the_step(canonicalized(NETWORK, SEARCHES[name]), crossing_path)
    assert 0.05 < invariance(name) < 1.5


def test_an_anchored_search_is_invariant_to_rounding() -> None:
    assert invariance("anchored") < 1e-12


def test_an_anchored_search_is_continuous_where_axes_change_places() -> None:
    """Each anchor jumps, but the set of all of them does not."""
    assert shrinks_with_the_step(canonicalized(NETWORK, SEARCHES["anchored"]), crossing_path)


def test_an_anchored_search_jumps_where_a_path_has_a_corner_at_equal_axes() -> None:
    model = canonicalized(NETWORK, SEARCHES["anchored"])
    assert largest_change(model, bent_path(4096)) > 0.8 * largest_change(model, bent_path(64)) > 0.01
    assert shrinks_with_the_step(canonicalized(NETWORK, SEARCHES["fixed random set"]), bent_path)


def test_a_cloud_with_equal_variances_has_axes_of_further_moments_and_no_limit() -> None:
    """Rotations do not change the answer there, but it has no limit; more candidates make that smaller."""
    gaps = {}
    for draws in (24, 24 * 64):
        model = canonicalized(NETWORK, AnchoredSearch(draws))
        assert invariance_error(model, symmetric_clouds(24), rotations=4) < 1e-6
        limits = [model(stretched_cloud(1e-6, towards)) for towards in ("axis", "diagonal")]
        gaps[draws] = largest_difference(*limits)
    assert 0.01 < gaps[24] > 2 * gaps[24 * 64]


def test_alignment_with_principal_axes_is_invariant_and_jumps() -> None:
    aligned = pca_canonicalized(NETWORK)
    assert invariance_error(aligned, random_clouds(24)) < 1e-10
    assert largest_change(aligned, crossing_path(4096)) > 0.05


def test_refining_the_best_draw_jumps_where_the_best_draw_changes() -> None:
    model = canonicalized(NETWORK, SEARCHES["best refined"])
    assert not shrinks_with_the_step(model, crossing_path, steps=32)
    assert invariance("best refined") < invariance("fixed random set")


def test_refining_every_draw_once_is_continuous() -> None:
    """Each outcome is the larger of two continuous functions of the input: the start, and one gradient step from it."""
    model = canonicalized(NETWORK, SEARCHES["every refined once"])
    assert shrinks_with_the_step(model, crossing_path, steps=32, halvings=4)


def test_refining_every_draw_is_closer_to_invariance_than_refining_the_best() -> None:
    assert invariance("every refined") < 0.7 * invariance("best refined")


def test_refining_every_draw_is_continuous_where_the_gradient_is() -> None:
    model = canonicalized(NETWORK, SEARCHES["every refined"])
    assert shrinks_with_the_step(model, crossing_path, steps=32, halvings=4)


def test_with_kinks_in_the_network_every_refined_search_jumps_and_a_fixed_set_does_not() -> None:
    """At a kink the gradient jumps, and with it the end of the path; the values on a fixed set do not."""
    kinked = kinked_network(0)
    refined = canonicalized(kinked, SEARCHES["every refined once"])
    assert not shrinks_with_the_step(refined, crossing_path, steps=32, halvings=4)
    assert shrinks_with_the_step(canonicalized(kinked, SEARCHES["fixed random set"]), crossing_path)


def test_a_search_close_to_the_maximum_makes_both_errors_small() -> None:
    assert invariance("close to the maximum") < 0.2 * invariance("fixed random set")
    assert jump("close to the maximum", 64) < 0.3 * largest_change(pca_canonicalized(NETWORK), crossing_path(64))
