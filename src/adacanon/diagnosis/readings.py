"""What is read off the scores of a classifier: accuracy, confidence, calibration."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence: their share of all, mean confidence and accuracy, in percent."""

    share: float
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Reading:
    r"""Of one classifier on some inputs, in percent.

    Attributes:
        accuracy: with its standard error over samples in ``error``.
        confidence: mean of the largest probability.
        calibration_error: :math:`\sum_b \mathrm{share}_b |\mathrm{accuracy}_b - \mathrm{confidence}_b|` over bins of
            equal width (expected calibration error).
        bins: those that are not empty.
    """

    accuracy: float
    error: float
    confidence: float
    calibration_error: float
    bins: tuple[Bin, ...]


def reading(scores: Tensor, labels: Tensor) -> Reading:
    """Of scores (samples, classes), whose softmax are the probabilities."""
    confidence, predicted = scores.double().softmax(-1).max(-1)
    right = (predicted == labels).double()
    bins = tuple(_bins(confidence, right))
    return Reading(
        accuracy=100 * float(right.mean()),
        error=standard_error(right),
        confidence=100 * float(confidence.mean()),
        calibration_error=sum(b.share * abs(b.accuracy - b.confidence) for b in bins) / 100,
        bins=bins,
    )


def standard_error(values: Tensor) -> float:
    """Of the mean of values, in percent."""
    return 100 * float(values.double().std()) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def _bins(confidence: Tensor, right: Tensor) -> list[Bin]:
    place = (confidence * BINS).long().clamp(max=BINS - 1)
    found = []
    for number in range(BINS):
        inside = place == number
        if bool(inside.any()):
            share = float(inside.double().mean())
            found.append(Bin(100 * share, 100 * float(confidence[inside].mean()), 100 * float(right[inside].mean())))
    return found


def share_changed(first: Tensor, second: Tensor) -> float:
    """Of predictions that differ between two arrays of scores (samples, classes), in percent."""
    return 100 * float((first.argmax(-1) != second.argmax(-1)).double().mean())


def difference(first: Tensor, second: Tensor, labels: Tensor) -> tuple[float, float]:
    """Accuracy by the second scores minus that by the first, in points, and its standard error, sample by sample."""
    gained = (second.argmax(-1) == labels).double() - (first.argmax(-1) == labels).double()
    return 100 * float(gained.mean()), standard_error(gained)


def log_probabilities(outputs: Tensor) -> Tensor:
    """Scores whose softmax gives back the probabilities that a network returned."""
    return outputs.clamp(min=torch.finfo(outputs.dtype).tiny).log()


def are_probabilities(outputs: Tensor) -> bool:
    """Whether rows (samples, classes) are non-negative and sum to one."""
    sums = outputs.double().sum(-1)
    return outputs.shape[-1] > 1 and float(outputs.min()) >= 0 and bool(((sums - 1).abs() < 1e-3).all())
