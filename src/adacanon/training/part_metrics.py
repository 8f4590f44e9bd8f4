"""How well parts of shapes are found: intersection over union."""

import torch
from torch import Tensor


def predicted_parts(scores: Tensor, own: Tensor) -> Tensor:
    """For every point the part of the largest score among those that its shape's category has.

    Shape:
        scores (shapes, points, parts), own (shapes, parts) of booleans -> (shapes, points)
    """
    return scores.masked_fill(~own.unsqueeze(1), -torch.inf).argmax(-1)


def shape_ious(predicted: Tensor, labels: Tensor, own: Tensor) -> Tensor:
    r"""For every shape the mean over its category's parts p of :math:`|P_p \cap L_p| / |P_p \cup L_p|`; a part that is
    neither predicted nor there counts one.

    Shape:
        predicted and labels (shapes, points), own (shapes, parts) of booleans -> (shapes,)

    Example:
        >>> own = torch.tensor([[True, True, True, False]])
        >>> shape_ious(torch.tensor([[0, 0, 1, 1]]), torch.tensor([[0, 1, 1, 1]]), own)
        tensor([0.7222], dtype=torch.float64)
    """
    ious = torch.zeros(own.shape, dtype=torch.float64, device=predicted.device)
    for part in range(own.shape[1]):
        found, true = predicted == part, labels == part
        union = (found | true).sum(1).double()
        ious[:, part] = torch.where(union > 0, (found & true).sum(1) / union.clamp(min=1), 1.0)
    return (ious * own).sum(1) / own.sum(1)


def category_mean(values: Tensor, categories: Tensor) -> float:
    """The mean over categories of the mean over their shapes, in which rare categories count as much as others."""
    return float(torch.stack([values[categories == kind].mean() for kind in categories.unique()]).mean())


def class_ious(predicted: Tensor, labels: Tensor, classes: int) -> Tensor:
    r"""For every class c :math:`|P_c \cap L_c| / |P_c \cup L_c|` over all places of all samples together, so that rare
    classes count as much as others in their mean; one for a class that is neither predicted nor there.

    Shape:
        predicted and labels of one shape -> (classes,)

    Example:
        >>> class_ious(torch.tensor([[0, 0], [1, 1]]), torch.tensor([[0, 1], [1, 1]]), 3).tolist()
        [0.5, 0.6666666666666666, 1.0]
    """
    found = torch.bincount(labels.flatten() * classes + predicted.flatten(), minlength=classes**2)
    table = found.reshape(classes, classes).double()
    both = table.diagonal()
    union = table.sum(0) + table.sum(1) - both
    return torch.where(union > 0, both / union.clamp(min=1), 1.0)
