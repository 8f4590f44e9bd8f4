"""Whether labels count classes as the network does."""

import math
from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.diagnosis.readings import CHANCE, at_least, gains, halves, standard_error


@dataclass(frozen=True)
class Order:
    r"""Whether labels count classes as the network does, in percent.

    Attributes:
        chance: :math:`100 / C` for :math:`C` classes, the mean accuracy over all orders of the classes, whatever the
            network and however many samples each class has.
        chance_error: standard error of an accuracy at chance, :math:`100 \sqrt{(1 - 1/C) / (C n)}` for :math:`n`
            samples.
        constant: accuracy of the best constant guess, which always answers the class ``constant_class``.
        near_chance: accuracy is not beyond that of the best constant guess, by a sign test on the same samples.
            Samples of one class alone cannot tell; for them it is False.
        reordered: accuracy if each output stands for the label that it mostly comes with, at most one output for each.
            Each half of the samples is judged by what the other half shows.
        fits_better: ``reordered`` is above accuracy by more than two standard errors.
        outputs: the label that each output mostly comes with, over all samples; -1 where none is left for it.
        doubtful: ``near_chance``, or another order fits better and accuracy is below half of ``reordered``.

    Example:
        >>> order = order_of(torch.tensor([0, 1, 2]).repeat(4), torch.tensor([1, 2, 0]).repeat(4), classes=3)
        >>> order.reordered, order.outputs, order.doubtful
        (100.0, (1, 2, 0), True)
    """

    chance: float
    chance_error: float
    constant: float
    constant_class: int
    near_chance: bool
    reordered: float
    fits_better: bool
    outputs: tuple[int, ...]
    doubtful: bool


def order_of(predicted: Tensor, labels: Tensor, *, classes: int) -> Order:
    """Of predicted classes (samples,)."""
    share = 1 / classes
    right, other = (predicted == labels).double(), _right_if_reordered(predicted, labels)
    accuracy, reordered = 100 * float(right.mean()), 100 * float(other.mean())
    better = reordered - accuracy > 2 * standard_error(other - right)
    constant = int(torch.bincount(labels, minlength=classes).argmax())
    near = _near_chance(predicted, labels, constant)
    meaning = _labels_of_outputs(predicted.tolist(), labels.tolist())
    return Order(
        chance=100 * share,
        chance_error=100 * math.sqrt(share * (1 - share) / len(labels)),
        constant=100 * float((labels == constant).double().mean()),
        constant_class=constant,
        near_chance=near,
        reordered=reordered,
        fits_better=better,
        outputs=tuple(meaning.get(output, -1) for output in range(classes)),
        doubtful=near or (better and accuracy < reordered / 2),
    )


def _near_chance(predicted: Tensor, labels: Tensor, constant: int) -> bool:
    """By the sign test: samples on which only the network is right, among those on which just one of both is."""
    if len(labels.unique()) == 1:
        return False
    gained = gains(torch.full_like(labels, constant), predicted, labels)
    up, down = int((gained > 0).sum()), int((gained < 0).sum())
    return at_least(up, up + down, 0.5) > CHANCE


def _right_if_reordered(predicted: Tensor, labels: Tensor) -> Tensor:
    right = torch.zeros(len(labels), dtype=torch.float64, device=labels.device)
    both = halves(labels)
    for judged, shown in (both, both[::-1]):
        meaning = _labels_of_outputs(predicted[shown].tolist(), labels[shown].tolist())
        meant = [meaning.get(output, -1) for output in predicted[judged].tolist()]
        right[judged] = (torch.tensor(meant, dtype=torch.long, device=labels.device) == labels[judged]).double()
    return right


def _labels_of_outputs(predicted: list[int], labels: list[int]) -> dict[int, int]:
    """The most frequent pairs first, no output and no label twice."""
    counts = Counter(zip(predicted, labels, strict=True))
    meaning: dict[int, int] = {}
    for output, label in sorted(counts, key=lambda pair: (-counts[pair], pair[0] != pair[1])):
        if output not in meaning and label not in meaning.values():
            meaning[output] = label
    return meaning
