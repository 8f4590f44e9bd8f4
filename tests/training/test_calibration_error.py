"""Calibration errors, against sums by hand."""

import pytest
import torch

from adacanon.errors import ShapeError
from adacanon.training.calibration import best_scale, calibration_error, scaled_calibration_error


def by_hand(scores: torch.Tensor, labels: torch.Tensor, bins: int) -> float:
    """The definition, sample by sample."""
    probabilities = scores.double().softmax(1)
    total = 0.0
    for b in range(bins):
        own = [
            i
            for i, p in enumerate(probabilities)
            if b / bins <= float(p.max()) < (b + 1) / bins or (b == bins - 1 and float(p.max()) == 1)
        ]
        if own:
            right = sum(int(probabilities[i].argmax()) == int(labels[i]) for i in own) / len(own)
            named = sum(float(probabilities[i].max()) for i in own) / len(own)
            total += len(own) / len(labels) * abs(right - named)
    return 100 * total


@pytest.mark.parametrize("bins", [1, 5, 15])
def test_is_what_the_definition_says(bins: int) -> None:
    generator = torch.Generator().manual_seed(0)
    scores = 3 * torch.randn(200, 4, generator=generator)
    labels = torch.randint(4, (200,), generator=generator)
    assert calibration_error(scores, labels, bins=bins) == pytest.approx(by_hand(scores, labels, bins), abs=1e-9)


def test_scaling_the_scores_changes_the_plain_error_alone() -> None:
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(4000, 3, generator=generator)
    labels = torch.multinomial(scores.softmax(1), 1, generator=generator).flatten()
    honest, loud = calibration_error(scores, labels), calibration_error(9 * scores, labels)
    assert honest < 5 < 20 < loud
    assert scaled_calibration_error(9 * scores, labels) == pytest.approx(
        scaled_calibration_error(scores, labels), abs=0.2
    )


@pytest.mark.parametrize("factor", [0.02, 1.0, 50.0])
def test_the_best_scale_is_found(factor: float) -> None:
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn(20_000, 3, generator=generator)
    labels = torch.multinomial(scores.softmax(1), 1, generator=generator).flatten()
    assert factor * best_scale(factor * scores, labels) == pytest.approx(1, abs=0.05)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="labels"):
        calibration_error(torch.zeros(4, 2), torch.zeros(3, dtype=torch.int64))
