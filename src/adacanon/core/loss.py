"""Losses of canonicalized scores: one-vs-rest (paper: appendix "One vs. Rest Classifiers") and cross-entropy."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from adacanon.errors import InputError, ShapeError
from adacanon.notices import warn_caller


def one_vs_rest(logits: Tensor, targets: Tensor) -> Tensor:
    r""":math:`\frac1n \sum_i \sum_{d=1}^D -y_{id}\log\sigma(s_{id}) - (1-y_{id})\log(1-\sigma(s_{id}))`,
    the sum of D binary cross-entropies, averaged over the batch.

    Args:
        logits: class scores :math:`s`.
        targets: class indices, or one label in [0, 1] per class where NaN (in integer arrays, a negative number)
            marks a missing label. Missing labels cost nothing. With a single class, a vector holds its labels.

    Shape:
        logits (batch, classes); targets (batch,) or (batch, classes); the loss is a scalar.

    Example:
        >>> one_vs_rest(torch.zeros(4, 3), torch.tensor([0, 1, 2, 0]))
        tensor(2.0794)
    """
    labels, known = labels_of(logits, targets)
    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return torch.where(known, losses, 0.0).sum() / logits.shape[0]


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Softmax cross-entropy over classes that exclude one another; most networks are trained with it.

    Labels for several classes at once, and a single class, are refused: cross-entropy would take them without a word,
    and mean something else.

    Args:
        logits: class scores.
        targets: class indices.

    Shape:
        logits (batch, classes); targets (batch,); the loss is a scalar.

    Example:
        >>> cross_entropy(torch.zeros(4, 2), torch.tensor([0, 1, 1, 0]))
        tensor(0.6931)
    """
    targets = _as_tensor(targets, logits)
    if logits.dim() == 2 and (targets.dim() > 1 or logits.shape[1] == 1):
        raise ShapeError(
            f"Cross-entropy expects at least two classes and one class index per input, got scores of shape "
            f"{tuple(logits.shape)} and targets of shape {tuple(targets.shape)}. "
            "Hint: for several labels per input, or a single class, loss=one_vs_rest"
        )
    labels_of(logits, targets)
    return functional.cross_entropy(logits, targets.long())


LEAVE_OUT = "leave out samples without a label, keep = {} and objective(g[keep], targets[keep])"
"""What to do where a loss has no place for missing labels."""

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"one-vs-rest": one_vs_rest, "cross-entropy": cross_entropy}
"""By the names that settings of experiments give them."""


def probabilities(logits: Tensor) -> Tensor:
    r"""Per-class probabilities :math:`\sigma(s_d)`; they need not sum to one.

    Example:
        >>> probabilities(torch.zeros(1, 2))
        tensor([[0.5000, 0.5000]])
    """
    return logits.sigmoid()


def predict(logits: Tensor) -> Tensor:
    """The class of the largest score, (batch, classes) -> (batch,).

    Example:
        >>> predict(torch.tensor([[0.1, 0.7], [2.0, -1.0]]))
        tensor([1, 0])
    """
    return logits.argmax(-1)


def labels_of(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Binary labels and which of them are known, both (batch, classes)."""
    if logits.dim() != 2 or logits.shape[0] == 0:
        raise ShapeError(f"A loss of class scores expects logits of shape (batch, classes), got {tuple(logits.shape)}")
    targets = _as_tensor(targets, logits)
    if targets.dim() == 1 and logits.shape[1] == 1:
        targets = targets.unsqueeze(1)
    if targets.dim() == 1 and targets.shape[0] == logits.shape[0]:
        return _one_hot(targets, logits)
    if targets.shape != logits.shape:
        raise ShapeError(
            f"A loss of class scores expects targets of shape ({logits.shape[0]},) or {tuple(logits.shape)}, "
            f"got {tuple(targets.shape)}. Hint: one class index per sample, or one label "
            "for each of the network's number of classes"
        )
    known = ~targets.isnan() if targets.is_floating_point() else targets >= 0
    if not targets.is_floating_point() and not bool(known.all()):
        _warn_of_signs(targets)
    labels = torch.where(known, targets, 0).to(logits.dtype)
    if bool(((labels < 0) | (labels > 1)).any()):
        raise InputError(
            f"Labels must lie in [0, 1], got values up to {labels.max().item()} and down to {labels.min().item()}. "
            "Hint: for class indices give targets of shape (batch,); for the two classes -1 and 1, (labels + 1) / 2; "
            "for missing labels NaN"
        )
    return labels, known


def _as_tensor(targets: Any, logits: Tensor) -> Tensor:
    try:
        found = torch.as_tensor(targets, device=logits.device)
    except (TypeError, ValueError, RuntimeError) as error:  # None, text, lists of unequal lengths
        raise InputError(f"A loss of class scores expects a tensor of targets, got {targets!r}") from error
    if found.is_complex() or found.is_quantized or found.layout != torch.strided:
        raise InputError(
            f"A loss of class scores expects dense targets of real numbers, got {found.dtype} with layout "
            f"{found.layout}. Hint: targets.to_dense(), targets.real"
        )
    return found


def _warn_of_signs(targets: Tensor) -> None:
    """Whole numbers of which none is zero: minus one may mean the negative class, not a missing label."""
    if bool((targets > 0).any()) and not bool((targets == 0).any()):
        warn_caller(
            "No label of the batch is 0, and the negative ones count as missing, so that nothing is learnt from them. "
            "Hint: (labels + 1) // 2 where -1 is the negative class; labels.float() with NaN where they are missing"
        )


def _one_hot(targets: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    classes = logits.shape[1]
    if targets.is_floating_point() or targets.dtype == torch.bool:
        missing = targets.is_floating_point() and bool(targets.isnan().any())
        hint = f"for NaN, {LEAVE_OUT.format('~targets.isnan()')}" if missing else "targets.long()"
        raise InputError(
            f"Class indices must be integers, got {targets.dtype}. Hint: {hint}, or labels of shape (batch, classes)"
        )
    lowest, highest = int(targets.min()), int(targets.max())
    if lowest < 0 or highest >= classes:
        raise InputError(
            f"Class indices must lie in 0..{classes - 1}, got {lowest}..{highest}. "
            f"Hint: {_hint_for_indices(lowest, highest, classes)}"
        )
    labels = torch.zeros_like(logits, requires_grad=False).scatter_(1, targets.long().unsqueeze(1), 1.0)
    return labels, torch.ones_like(labels, dtype=torch.bool)


def _hint_for_indices(lowest: int, highest: int, classes: int) -> str:
    if lowest < 0:
        return (
            f"{LEAVE_OUT.format('targets >= 0')}; where {lowest} is the name of a class, number the classes from 0, "
            "torch.unique(targets, return_inverse=True)[1] for all labels at once"
        )
    if (lowest, highest) == (1, classes):
        return "classes are numbered from 0, targets - 1; or the network's number of classes is too small"
    return f"the network's number of classes must match the labels, which need {highest + 1}"
