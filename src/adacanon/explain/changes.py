"""How far answers are from what they were before the input was moved."""

from dataclasses import dataclass

import torch
from torch import Tensor

SURE = 0.999
"""Pixels of which less than this share has a source are not compared."""


@dataclass(frozen=True)
class Change:
    """How the answer for one input changed, over all moves.

    Attributes:
        classes: the share of answers, or of points and pixels, that got another class; None if there are no classes.
        size: of class scores, the largest change as a share of the distance between the best and the worst class; of
            other answers, the length of the change as a share of the length of the answer. The mean over moves.
    """

    classes: float | None
    size: float


def change(before: Tensor, after: Tensor, axis: int | None, known: Tensor | None = None) -> Change:
    """Compare one answer (...) with those after moves (moves, ...).

    Args:
        axis: of the classes in the answer; None if it has none.
        known: the share of each part of the answers that is known, of a shape that broadcasts to theirs; all if None.

    Example:
        >>> before, after = torch.tensor([0.0, 4.0]), torch.tensor([[0.0, 4.0], [5.0, 4.0]])
        >>> change(before, after, 0)
        Change(classes=0.5, size=0.625)
        >>> change(torch.tensor([3.0, 4.0]), torch.tensor([[3.0, 3.0]]), None)
        Change(classes=None, size=0.2)
    """
    before, after = before.double().cpu(), after.double().cpu()
    seen = torch.ones_like(after, dtype=torch.bool)
    if known is not None:
        seen = (known.cpu() > SURE).expand_as(after)
    size = _size(before, after, seen, scores=before.dim() == 1 and axis is not None)
    return Change(None if axis is None else _other_classes(before, after, axis, seen), size)


def _size(before: Tensor, after: Tensor, seen: Tensor, *, scores: bool) -> float:
    difference = torch.where(seen, after - before, 0.0).flatten(1)
    if scores:
        return float(difference.abs().amax(1).mean()) / (float(before.max() - before.min()) or 1.0)
    length = torch.where(seen, before, 0.0).flatten(1).norm(dim=1)
    return float((difference.norm(dim=1) / length.clamp(min=1e-12)).mean())


def _other_classes(before: Tensor, after: Tensor, axis: int, seen: Tensor) -> float:
    another = after.argmax(axis + 1) != before.argmax(axis)
    counted = another[seen.all(axis + 1)]
    return float(counted.double().mean()) if len(counted) else 0.0
