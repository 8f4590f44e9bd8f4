"""Where the classes of an answer stand."""

from torch import Tensor

from adacanon.core.prior import Prior
from adacanon.core.shared_priors import Confidence, PlacePrior


def class_axis(prior: Prior, answers: Tensor) -> int | None:
    """Of answers (inputs, ...), the axis of the classes, counted without that of the inputs; None if the prior does
    not say that there are classes, as for vectors and numbers.

    Example:
        >>> import torch
        >>> from adacanon import ClassScore, NegativeEntropy
        >>> class_axis(ClassScore(), torch.zeros(2, 5)), class_axis(NegativeEntropy(axis=1), torch.zeros(2, 5, 8, 8))
        (0, 0)
        >>> class_axis(NegativeEntropy(), torch.zeros(2, 100, 5)), class_axis(Confidence(), torch.zeros(2, 3))
        (1, None)
    """
    if not prior.shared:
        return 0
    if not isinstance(prior, PlacePrior) or isinstance(prior, Confidence):
        return None
    axis = prior.axis if prior.axis > 0 else answers.dim() + prior.axis
    return axis - 1 if answers.shape[axis] > 1 else None
