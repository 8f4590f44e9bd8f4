"""Calibration and changes of scores, against plain loops."""

import pytest
import torch
from torch import Tensor

from adacanon.training.score_metrics import calibration_error, largest_change, mean_change


def by_a_loop(scores: Tensor, labels: Tensor, bins: int) -> float:
    total = 0.0
    for b in range(bins):
        right, sure = [], []
        for row, label in zip(scores.double().softmax(1).tolist(), labels.tolist(), strict=True):
            if b / bins <= max(row) < (b + 1) / bins or (b == bins - 1 and max(row) == 1):
                sure.append(max(row))
                right.append(float(row.index(max(row)) == label))
        total += abs(sum(right) - sum(sure))
    return 100 * total / len(labels)


@pytest.mark.parametrize("size", [0.1, 1.0, 100.0])
def test_the_calibration_error_is_that_of_the_formula(size: float, generator: torch.Generator) -> None:
    scores = size * torch.randn(200, 4, generator=generator)
    labels = torch.randint(4, (200,), generator=generator)
    assert calibration_error(scores, labels) == pytest.approx(by_a_loop(scores, labels, 15))


def test_a_classifier_that_knows_how_often_it_is_right_is_calibrated() -> None:
    scores = torch.tensor([0.8, 0.2]).log().repeat(10, 1)
    assert calibration_error(scores, torch.tensor([0] * 8 + [1] * 2)) == pytest.approx(0, abs=1e-4)
    assert calibration_error(scores, torch.tensor([1] * 8 + [0] * 2)) == pytest.approx(60, abs=1e-4)


def test_changes_are_in_units_of_the_spread(generator: torch.Generator) -> None:
    scores = torch.randn(50, 3, generator=generator)
    assert mean_change(scores, scores) == 0
    assert mean_change(7 * scores, 7 * scores + 7) == pytest.approx(mean_change(scores, scores + 1), rel=1e-5)
    paths = torch.zeros(2, 4, 3)
    paths[0, 2:, 1] = 5.0
    expected = 2.5 / float(scores.std(0).mean())
    assert largest_change(paths, scores) == pytest.approx(expected)
