"""Area under the ROC curve and average precision by loops over pairs and thresholds, straight from the definitions."""

import math

from torch import Tensor


def roc_auc_by_pairs(scores: Tensor, labels: Tensor) -> float:
    """The share of pairs of a positive and a negative sample in the right order; equal scores count half."""
    return _mean(_task_auc(s, y) for s, y in _tasks(scores, labels))


def average_precision_by_thresholds(scores: Tensor, labels: Tensor) -> float:
    """Precision times gained recall, over all distinct scores as thresholds from the largest down."""
    return _mean(_task_precision(s, y) for s, y in _tasks(scores, labels))


def _tasks(scores: Tensor, labels: Tensor):
    for s, y in zip(scores.T.tolist(), labels.T.tolist(), strict=True):
        known = [(a, b) for a, b in zip(s, y, strict=True) if not math.isnan(b)]
        if {b for _, b in known} == {0.0, 1.0}:
            yield [a for a, _ in known], [b for _, b in known]


def _mean(values) -> float:
    values = list(values)
    return sum(values) / len(values)


def _task_auc(scores: list[float], labels: list[float]) -> float:
    positive = [s for s, y in zip(scores, labels, strict=True) if y == 1]
    negative = [s for s, y in zip(scores, labels, strict=True) if y == 0]
    right = sum(1.0 if p > n else 0.5 if p == n else 0.0 for p in positive for n in negative)
    return right / (len(positive) * len(negative))


def _task_precision(scores: list[float], labels: list[float]) -> float:
    total, recall, area = sum(labels), 0.0, 0.0
    for threshold in sorted(set(scores), reverse=True):
        chosen = [y for s, y in zip(scores, labels, strict=True) if s >= threshold]
        now = sum(chosen) / total
        area += (now - recall) * sum(chosen) / len(chosen)
        recall = now
    return area
