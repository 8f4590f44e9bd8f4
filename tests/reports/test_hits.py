"""Accuracies and their differences: standard errors by resampling, and when a difference counts."""

import math

import pytest
import torch

from adacanon.errors import InputError
from adacanon.reports.hits import Difference, Hits


def drawn(share: float, count: int, seed: int) -> Hits:
    return Hits.of(torch.rand(count, generator=torch.Generator().manual_seed(seed)) < share)


def test_the_standard_error_is_the_spread_over_repetitions() -> None:
    many = [drawn(0.7, 200, seed).accuracy for seed in range(2000)]
    assert torch.tensor(many).std() == pytest.approx(Hits("1" * 140 + "0" * 60).error, rel=0.06)


def test_a_difference_of_methods_that_err_on_the_same_samples_is_sharp() -> None:
    """Sample by sample, its standard error is that of the differences; the two alone would give far more."""
    first, second = Hits("1" * 60 + "0" * 40), Hits("1" * 50 + "0" * 50)
    gaps = torch.tensor([1.0] * 10 + [0.0] * 90)
    difference = Difference.of(first, second)
    assert difference.points == pytest.approx(10)
    assert difference.error == pytest.approx(100 * float(gaps.std(correction=0)) / 10)
    assert difference.error < math.hypot(first.error, second.error) / 2


@pytest.mark.parametrize(
    ("points", "standing"),
    [(5.0, "above"), (4.0, "level with"), (0.0, "level with"), (-4.0, "level with"), (-5.0, "below")],
)
def test_a_difference_counts_beyond_two_standard_errors(points: float, standing: str) -> None:
    assert Difference(points, 2.0).standing == standing


def test_no_difference_at_all_is_level() -> None:
    assert Difference.of(Hits("111"), Hits("111")).standing == "level with"


def test_samples_on_which_only_one_is_right_are_counted() -> None:
    assert Hits("1100").differing(Hits("1010")) == 2


def test_what_is_no_outcome_is_refused() -> None:
    for wrong in ("", "12", "yes"):
        with pytest.raises(InputError, match="a 0 or a 1 for every sample"):
            Hits(wrong)
    with pytest.raises(InputError, match="the same samples, got 2 and 3"):
        Difference.of(Hits("11"), Hits("111"))
