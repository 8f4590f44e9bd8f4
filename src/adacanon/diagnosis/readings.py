"""What is read off the answers of a classifier: accuracy, confidence, calibration, and differences of two of them."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

BINS = 10
CHANCE = 0.025
"""A result that chance alone brings about as rarely as this, in one direction, is called beyond chance."""


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence: their share of all, mean confidence and accuracy, in percent.

    Example:
        >>> reading(answers(torch.tensor([[2.0, 0.0], [0.0, 2.0]])), torch.tensor([0, 0])).bins[0].accuracy
        50.0
    """

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

    Example:
        >>> read = reading(answers(torch.tensor([[2.0, 0.0], [0.0, 2.0]])), torch.tensor([0, 0]))
        >>> read.accuracy, round(read.confidence, 1)
        (50.0, 88.1)
    """

    accuracy: float
    error: float
    confidence: float
    calibration_error: float
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Answers:
    """Predicted classes and their probabilities, each (..., samples)."""

    predicted: Tensor
    confidence: Tensor

    def __getitem__(self, place: int) -> "Answers":
        return Answers(self.predicted[place], self.confidence[place])


def answers(scores: Tensor) -> Answers:
    """Of scores (..., samples, classes), whose softmax are the probabilities."""
    return Answers(scores.argmax(-1), scores.double().softmax(-1).amax(-1))


def reading(given: Answers, labels: Tensor) -> Reading:
    """Of answers (samples,)."""
    right = (given.predicted == labels).double()
    bins = tuple(_bins(given.confidence, right))
    return Reading(
        accuracy=100 * float(right.mean()),
        error=standard_error(right),
        confidence=100 * float(given.confidence.mean()),
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
    """Of predicted classes (samples,) that differ, in percent."""
    return 100 * float((first != second).double().mean())


def gains(first: Tensor, second: Tensor, labels: Tensor) -> Tensor:
    """1 where only the second predictions (samples,) are right, -1 where only the first ones are, else 0."""
    return (second == labels).double() - (first == labels).double()


def difference(first: Tensor, second: Tensor, labels: Tensor) -> tuple[float, float]:
    """Accuracy of the second predictions minus that of the first, in points, and its standard error, sample by sample.

    Example:
        >>> difference(torch.tensor([0, 1, 1, 1]), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 1, 0, 1]))
        (25.0, 25.0)
    """
    gained = gains(first, second, labels)
    return 100 * float(gained.mean()), standard_error(gained)


def beyond_chance(gained: Tensor) -> bool:
    """Whether gains -1, 0, 1 of samples are positive in the mean, by more than two standard errors and by the sign
    test, which also holds for few samples.

    Example:
        >>> beyond_chance(torch.ones(5)), beyond_chance(torch.ones(6))
        (False, True)
    """
    up, down = int((gained > 0).sum()), int((gained < 0).sum())
    enough = 100 * float(gained.double().mean()) > 2 * standard_error(gained)
    return enough and at_least(up, up + down, 0.5) <= CHANCE


def at_least(successes: int, trials: int, probability: float) -> float:
    """The chance of so many successes or more among independent trials.

    Example:
        >>> at_least(2, 2, 0.5)
        0.25
    """
    if successes <= 0:
        return 1.0
    counts = torch.arange(successes, trials + 1, dtype=torch.float64)
    known = torch.distributions.Binomial(trials, torch.tensor(probability, dtype=torch.float64))
    return round(min(1.0, float(known.log_prob(counts).exp().sum())), 12)


def halves(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Indices of two halves of the samples, with about as many of each class."""
    by_label = labels.argsort(stable=True)
    return by_label[::2], by_label[1::2]


def log_probabilities(outputs: Tensor) -> Tensor:
    """Scores whose softmax gives back the probabilities that a network returned."""
    return outputs.clamp(min=torch.finfo(outputs.dtype).tiny).log()


def are_probabilities(outputs: Tensor) -> bool:
    """Whether rows (samples, classes) are non-negative and sum to one."""
    sums = outputs.double().sum(-1)
    return outputs.shape[-1] > 1 and float(outputs.min()) >= 0 and bool(((sums - 1).abs() < 1e-3).all())
