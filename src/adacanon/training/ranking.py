"""How well scores rank: area under the ROC curve and average precision, by the definitions of OGB.

Both are means over tasks. A task counts if it has positive and negative samples; a missing label, NaN, counts neither
as positive nor as negative.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from adacanon.errors import InputError, ShapeError


def roc_auc(scores: Tensor, labels: Tensor) -> float:
    r"""The mean over tasks of :math:`P(s_+ > s_-) + \tfrac12 P(s_+ = s_-)` for a random positive and a random negative
    sample.

    Args:
        scores: (samples, tasks), larger where a label is likelier.
        labels: (samples, tasks) of 0 and 1, NaN where one is missing.

    Example:
        >>> scores, labels = torch.tensor([[0.1], [0.4], [0.4], [0.8]]), torch.tensor([[0.0], [0.0], [1.0], [1.0]])
        >>> roc_auc(scores, labels)
        0.875
    """
    return _mean_over_tasks(_roc_auc, scores, labels)


def average_precision(scores: Tensor, labels: Tensor) -> float:
    r"""The mean over tasks of :math:`\sum_n (R_n - R_{n-1}) P_n`, with precision P and recall R at every distinct score
    from the largest down.

    Args:
        scores: (samples, tasks), larger where a label is likelier.
        labels: (samples, tasks) of 0 and 1, NaN where one is missing.

    Example:
        >>> scores, labels = torch.tensor([[0.9], [0.8], [0.3]]), torch.tensor([[1.0], [0.0], [1.0]])
        >>> round(average_precision(scores, labels), 4)  # 1/2 * 1 + 1/2 * 2/3
        0.8333
    """
    return _mean_over_tasks(_average_precision, scores, labels)


def class_accuracy(scores: Tensor, labels: Tensor) -> float:
    """The share of samples whose largest score is that of their class.

    Example:
        >>> class_accuracy(torch.tensor([[2.0, 1.0], [0.0, 1.0]]), torch.tensor([0, 0]))
        0.5
    """
    return float((scores.argmax(-1) == labels).double().mean())


METRICS: dict[str, Callable[[Tensor, Tensor], float]] = {
    "roc_auc": roc_auc,
    "average_precision": average_precision,
    "accuracy": class_accuracy,
}
"""By the names that data sets give them; larger is better."""


def _mean_over_tasks(metric: Callable[[Tensor, Tensor], Tensor], scores: Tensor, labels: Tensor) -> float:
    if scores.dim() != 2 or scores.shape != labels.shape:
        raise ShapeError(
            f"Scores and labels must both be of shape (samples, tasks), got {tuple(scores.shape)} and "
            f"{tuple(labels.shape)}. Hint: scores.unsqueeze(1) for a single task"
        )
    scores, labels = scores.detach().double().cpu(), labels.detach().double().cpu()
    _check(scores, labels)
    found = [metric(s, y) for s, y in map(_known, scores.T, labels.T) if bool((y == 1).any()) and bool((y == 0).any())]
    if not found:
        raise InputError("No task has both positive and negative samples. Hint: give more samples")
    return float(torch.stack(found).mean())


def _check(scores: Tensor, labels: Tensor) -> None:
    if bool(scores.isnan().any()):
        raise InputError("Scores must be numbers to be ranked, but some are NaN. Hint: lower the learning rate")
    if bool((~labels.isnan() & (labels != 0) & (labels != 1)).any()):
        raise InputError("Labels must be 0, 1 or NaN where one is missing. Hint: (labels + 1) / 2 for -1 and 1")


def _known(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    known = ~labels.isnan()
    return scores[known], labels[known]


def _roc_auc(scores: Tensor, labels: Tensor) -> Tensor:
    """From the ranks of the positive samples; equal scores share their ranks."""
    order = scores.sort().values
    below, upto = (torch.searchsorted(order, scores, right=right).double() for right in (False, True))
    ranks = (below + upto + 1) / 2
    positive, negative = labels.sum(), (1 - labels).sum()
    return (ranks[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * negative)


def _average_precision(scores: Tensor, labels: Tensor) -> Tensor:
    order = scores.argsort(descending=True)
    scores, hits = scores[order], labels[order].cumsum(0)
    last = torch.cat([scores[1:] != scores[:-1], torch.ones(1, dtype=torch.bool)])  # of equal scores
    found, seen = hits[last], torch.arange(1, len(scores) + 1, dtype=torch.float64)[last]
    gained = found.diff(prepend=found.new_zeros(1))
    return (gained * found / seen).sum() / labels.sum()
