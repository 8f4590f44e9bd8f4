"""How far the probabilities that a network names are from how often it is right."""

import torch
from torch import Tensor
from torch.nn import functional

from adacanon.errors import ShapeError

BINS = 15


def calibration_error(scores: Tensor, labels: Tensor, *, bins: int = BINS) -> float:
    r"""The expected calibration error of softmax probabilities, in percent:
    :math:`\sum_b \frac{n_b}{n} |\text{accuracy}_b - \text{confidence}_b|` over equal bins of the largest probability.

    Args:
        scores: (samples, classes).
        labels: class indices, (samples,).

    Example:
        >>> calibration_error(torch.zeros(4, 2), torch.tensor([0, 0, 0, 1]))  # says 50 %, is right in 75 %
        25.0
    """
    if scores.dim() != 2 or labels.shape != scores.shape[:1]:
        raise ShapeError(
            "calibration_error expects scores (samples, classes) and labels (samples,), "
            f"got {tuple(scores.shape)} and {tuple(labels.shape)}"
        )
    confidence, predicted = scores.double().softmax(1).max(1)
    place = (confidence * bins).long().clamp(max=bins - 1)
    gaps = (predicted == labels).double() - confidence
    return 100 * float(gaps.new_zeros(bins).index_add_(0, place, gaps).abs().sum()) / len(labels)


def scaled_calibration_error(scores: Tensor, labels: Tensor, *, bins: int = BINS) -> float:
    """The calibration error after the scores were multiplied by the one number that fits best.

    Each half of the samples is measured with the number that fits the other half, and the two errors are averaged. The
    plain error mostly says how large the scores are, which a temperature changes by itself.

    Example:
        >>> scores = 100 * torch.tensor([[1.0, 0.0]]).repeat(8, 1)  # says 100 %, is right in 75 %
        >>> labels = torch.tensor([0, 0, 0, 0, 0, 0, 1, 1])
        >>> round(calibration_error(scores, labels)), round(scaled_calibration_error(scores, labels))
        (25, 0)
    """
    halves = [slice(start, None, 2) for start in (0, 1)]
    errors = [
        calibration_error(scores[own] * best_scale(scores[other], labels[other]), labels[own], bins=bins)
        for own, other in (halves, halves[::-1])
    ]
    return sum(errors) / 2


def best_scale(scores: Tensor, labels: Tensor) -> float:
    """The positive number by which scores have to be multiplied for the smallest cross-entropy.

    Its logarithm is looked for on a grid from 1/1000 to 1000, which is then refined twice.
    """
    centre, width = 0.0, 3.0
    for _ in range(3):
        exponents = torch.linspace(centre - width, centre + width, 61, dtype=torch.float64)
        losses = [functional.cross_entropy(scores.double() * 10**x, labels) for x in exponents.tolist()]
        centre, width = float(exponents[torch.stack(losses).argmin()]), width / 20
    return 10**centre
