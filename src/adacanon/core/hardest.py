"""Which forms carry gradients where not all of them do."""

import torch
from torch import Tensor


def hardest(size: Tensor, *, always: Tensor, count: int) -> Tensor:
    """Which pairs (input, class) take part: those that ``always`` do, and then the largest of every input, the second
    largest, and so on, until there are ``count``; of the last round the largest. Every input has one at least.

    Shape:
        (batch, classes) each, sizes in [0, 1] -> (batch, classes)

    Example:
        >>> size = torch.tensor([[0.9, 0.6, 0.2], [0.1, 0.8, 0.7]])
        >>> hardest(size, always=torch.tensor([[True, False, False], [True, False, False]]), count=3).int()
        tensor([[1, 0, 0],
                [1, 1, 0]], dtype=torch.int32)
    """
    rank = torch.where(always, -1.0, size).argsort(dim=1, descending=True).argsort(dim=1)
    chosen = always | (~always.any(dim=1, keepdim=True) & (rank == 0))
    rest = min(count - int(chosen.sum()), int((~chosen).sum()))
    if rest > 0:
        order = torch.where(chosen, torch.inf, rank - size).flatten()
        chosen = chosen.flatten().index_fill(0, order.topk(rest, largest=False).indices, True).view_as(chosen)
    return chosen
