"""What is read off the scores of a classifier beside its accuracy: calibration, and how far scores move."""

import torch
from torch import Tensor

BINS = 15


def calibration_error(scores: Tensor, labels: Tensor, *, bins: int = BINS) -> float:
    r"""The expected calibration error in percent, :math:`\sum_b \frac{n_b}{n} |\mathrm{accuracy}_b -
    \mathrm{confidence}_b|` over bins of equal width of the largest softmax probability. The scores are taken as they
    are: they are not rescaled to be calibrated.

    Shape:
        scores (samples, classes), labels (samples,)

    Example:
        >>> scores = torch.tensor([[0.0, 0.0], [0.0, 0.0], [9.0, -9.0], [9.0, -9.0]])
        >>> round(calibration_error(scores, torch.tensor([0, 0, 0, 1])), 3)  # half sure and right; sure, right once
        50.0
    """
    confidence, predicted = scores.double().softmax(1).max(1)
    excess = (predicted == labels).double() - confidence
    bin_of = (confidence * bins).long().clamp(max=bins - 1)
    sums = torch.zeros(bins, dtype=torch.float64).index_add(0, bin_of.cpu(), excess.cpu())
    return 100 * float(sums.abs().sum()) / len(labels)


def spread(scores: Tensor) -> float:
    """The standard deviation of a score between samples, mean over the classes: the unit in which changes are given."""
    return float(scores.std(0).mean().clamp(min=1e-12))


def mean_change(scores: Tensor, others: Tensor) -> float:
    """The mean change of a score between two sets of scores (samples, classes), in units of their spread.

    Example:
        >>> round(mean_change(torch.tensor([[0.0], [2.0]]), torch.tensor([[0.1], [2.1]])), 4)
        0.0707
    """
    return float((others - scores).abs().mean()) / spread(scores)


def largest_change(paths: Tensor, scores: Tensor) -> float:
    """The largest change of a score between neighbours on a path, mean over the paths, in units of the spread.

    Shape:
        paths (paths, steps, classes), scores (samples, classes)

    Example:
        >>> round(largest_change(torch.tensor([[[0.0], [0.1], [0.4]]]), torch.tensor([[0.0], [2.0]])), 4)
        0.2121
    """
    return float(paths.diff(dim=1).abs().amax((1, 2)).mean()) / spread(scores)
