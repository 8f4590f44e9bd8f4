"""What is read off the scores of a classifier: accuracy, confidence, calibration."""

import math
from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Predictions of similar confidence: their share of all, mean confidence and accuracy, in percent.

    Example:
        >>> reading(torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0])).bins[0].accuracy
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
        >>> read = reading(torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.tensor([0, 0]))
        >>> read.accuracy, round(read.confidence, 1)
        (50.0, 88.1)
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


@dataclass(frozen=True)
class Order:
    r"""Whether labels count classes as the network does, in percent.

    Attributes:
        chance: :math:`100 / C` for :math:`C` classes, the mean accuracy over all orders of the classes, whatever the
            network and however many samples each class has.
        chance_error: standard error of an accuracy at chance, :math:`100 \sqrt{(1 - 1/C) / (C n)}` for :math:`n`
            samples.
        reordered: accuracy if each output stands for the label that it mostly comes with, at most one output for each.
            Each half of the samples is judged by what the other half shows.
        doubtful: accuracy is not above chance by more than two standard errors, or it is below half of ``reordered``
            and the difference is larger than two standard errors.

    Example:
        >>> order = order_of(torch.eye(3).repeat(4, 1), torch.tensor([1, 2, 0]).repeat(4))
        >>> order.reordered, order.doubtful
        (100.0, True)
    """

    chance: float
    chance_error: float
    reordered: float
    doubtful: bool


def order_of(scores: Tensor, labels: Tensor) -> Order:
    """Of scores (samples, classes)."""
    predicted, share = scores.argmax(-1), 1 / scores.shape[-1]
    chance, chance_error = 100 * share, 100 * math.sqrt(share * (1 - share) / len(labels))
    right = (predicted == labels).double()
    other = _right_if_reordered(predicted, labels)
    accuracy, reordered = 100 * float(right.mean()), 100 * float(other.mean())
    better = reordered - accuracy > 2 * standard_error(other - right)
    doubtful = accuracy <= chance + 2 * chance_error or (better and accuracy < reordered / 2)
    return Order(chance, chance_error, reordered, doubtful)


def _right_if_reordered(predicted: Tensor, labels: Tensor) -> Tensor:
    right = torch.zeros(len(labels), dtype=torch.float64)
    sorted_by_label = labels.argsort(stable=True)
    halves = sorted_by_label[::2], sorted_by_label[1::2]  # about as many samples of each class
    for judged, shown in (halves, halves[::-1]):
        meaning = _labels_of_outputs(predicted[shown].tolist(), labels[shown].tolist())
        meant = torch.tensor([meaning.get(output, -1) for output in predicted[judged].tolist()], dtype=torch.long)
        right[judged] = (meant == labels[judged]).double()
    return right


def _labels_of_outputs(predicted: list[int], labels: list[int]) -> dict[int, int]:
    """The most frequent pairs first, no output and no label twice."""
    counts = Counter(zip(predicted, labels, strict=True))
    meaning: dict[int, int] = {}
    for output, label in sorted(counts, key=lambda pair: (-counts[pair], pair[0] != pair[1])):
        if output not in meaning and label not in meaning.values():
            meaning[output] = label
    return meaning


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
