"""Which samples are whose, when several processes share a batch or an evaluation."""

from collections.abc import Sequence

import torch
from torch import Tensor

SMALLEST = 2
"""Samples of a process at least: a batch normalization in training needs two."""


def own_rows(rows: Tensor, rank: int, world: int) -> Tensor:
    """The samples of a batch that one of several processes learns from: an equal share, one after the other.

    A batch that is too small to be shared is everybody's: equal gradients have the right mean.

    Example:
        >>> own_rows(torch.arange(5), 0, 2), own_rows(torch.arange(5), 1, 2), own_rows(torch.arange(3), 1, 2)
        (tensor([0, 1, 2]), tensor([3, 4]), tensor([0, 1, 2]))
    """
    return rows.tensor_split(world)[rank] if len(rows) >= SMALLEST * world else rows


def weight_of(rows: Tensor, rank: int, world: int) -> float:
    r"""By which a process multiplies the mean loss of its samples, so that the mean over processes is the mean over the
    batch: :math:`\frac1w \sum_r \frac{w n_r}{n} \ell_r = \frac1n \sum_r n_r \ell_r`.

    Example:
        >>> weight_of(torch.arange(5), 0, 2), weight_of(torch.arange(3), 0, 2)
        (1.2, 1.0)
    """
    own = own_rows(rows, rank, world)
    return 1.0 if len(own) == len(rows) else len(own) * world / len(rows)


def own_batches(batches: Sequence[Tensor], rank: int, world: int) -> Sequence[Tensor]:
    """The batches that one of several processes evaluates: whole ones, so that scores do not depend on their number.

    With fewer batches than processes everybody evaluates all: it takes no longer.

    Example:
        >>> own_batches(torch.arange(5).split(2), 1, 2)
        [tensor([2, 3])]
    """
    return list(batches[rank::world]) if len(batches) >= world else list(batches)


def in_order(parts: Sequence[Tensor], batches: Sequence[Tensor], world: int) -> Tensor:
    """Scores of all batches in their order, from those of every process.

    Example:
        >>> in_order([torch.tensor([0, 1, 4]), torch.tensor([2, 3])], torch.arange(5).split(2), 2)
        tensor([0, 1, 2, 3, 4])
    """
    places = [torch.cat([*own_batches(_places(batches), rank, world)]) for rank in range(world)]
    return torch.cat(list(parts))[torch.cat(places).argsort().to(parts[0].device)]


def _places(batches: Sequence[Tensor]) -> Sequence[Tensor]:
    """As the batches, with the places of their samples among all."""
    sizes = [len(rows) for rows in batches]
    return torch.arange(sum(sizes)).split(sizes)
