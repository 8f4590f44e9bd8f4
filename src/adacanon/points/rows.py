"""Clouds as rows: the real points of a batch one below the other, padding left out."""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from adacanon.points.checks import check_clouds, check_enough, check_mask
from adacanon.points.edges import group_maximum, maximum_and_mean
from adacanon.points.neighbours import nearest_neighbours


@dataclass(frozen=True)
class Rows:
    r"""How the rows of a batch of clouds, :math:`x_1, \dots, x_R`, belong to its clouds.

    Layers that treat every point alike work on rows, so that padding costs nothing and is seen by no statistics.

    Args:
        batch: clouds.
        points: places per cloud, padding included.
        mask: (batch, points), True for real points; None if all are.

    Example:
        >>> clouds = torch.arange(4.0).view(2, 2, 1)
        >>> rows = Rows(2, 2, torch.tensor([[True, True], [True, False]]))
        >>> rows.of(clouds).flatten().tolist(), rows.mean(rows.of(clouds)).flatten().tolist()
        ([0.0, 1.0, 2.0], [0.5, 2.0])
    """

    batch: int
    points: int
    mask: Tensor | None = None

    def of(self, clouds: Tensor) -> Tensor:
        """(batch, points, ...) -> (rows, ...)"""
        return clouds.flatten(0, 1) if self.mask is None else clouds[self.mask]

    def clouds(self, rows: Tensor) -> Tensor:
        """(rows, ...) -> (batch, points, ...); padding repeats the first real point of its cloud."""
        if self.mask is None:
            return rows.unflatten(0, (self.batch, self.points))
        return rows[padded_by_repetition(self.mask)]

    def neighbours(self, rows: Tensor, k: int) -> Tensor:
        """The k nearest rows of the same cloud, itself included: (rows, channels) -> (rows, k)."""
        found = nearest_neighbours(self.clouds(rows.detach()), k, mask=self.mask)
        return self.names(found)

    def names(self, indices: Tensor) -> Tensor:
        """The rows that indices into the clouds, (batch, points, k), mean: (rows, k)."""
        if self.mask is None:
            first = torch.arange(self.batch, device=indices.device) * self.points
            return (indices + first[:, None, None]).flatten(0, 1)
        places = padded_by_repetition(self.mask)
        return places.gather(1, indices.flatten(1)).view_as(indices)[self.mask]

    def maximum(self, rows: Tensor) -> Tensor:
        """Over the points of every cloud: (rows, channels) -> (batch, channels)."""
        return group_maximum(self.clouds(rows))

    def sum(self, rows: Tensor) -> Tensor:
        """Over the points of every cloud: (rows, ...) -> (batch, ...)."""
        if self.mask is None:
            return self.clouds(rows).sum(1)
        return rows.new_zeros(self.batch, *rows.shape[1:]).index_add(0, self._owner(self.mask), rows)

    def mean(self, rows: Tensor) -> Tensor:
        """Over the points of every cloud: (rows, ...) -> (batch, ...)."""
        if self.mask is None:
            return self.clouds(rows).mean(1)
        count = self.mask.sum(1).to(rows.dtype)
        return self.sum(rows) / count.view(-1, *[1] * (rows.dim() - 1))

    def maximum_and_mean(self, rows: Tensor, slope: float = 1.0) -> tuple[Tensor, Tensor]:
        """Over the points of every cloud, of leaky rectified values: (rows, channels) -> twice (batch, channels)."""
        if self.mask is None:
            return maximum_and_mean(self.clouds(rows), slope)
        rows = functional.leaky_relu(rows, slope)
        return self.maximum(rows), self.mean(rows)

    def spread(self, per_cloud: Tensor, dim: int = 0) -> Tensor:
        """What belongs to a cloud, at each of its points: (batch, ...) -> (rows, ...), or along another axis."""
        if self.mask is None:
            return per_cloud.repeat_interleave(self.points, dim)
        return per_cloud.index_select(dim, self._owner(self.mask))

    def padded(self, rows: Tensor) -> Tensor:
        """(rows, ...) -> (batch, points, ...); padding is zero."""
        if self.mask is None:
            return self.clouds(rows)
        clouds = rows.new_zeros(self.batch, self.points, *rows.shape[1:])
        return clouds.index_put((self.mask,), rows)

    @staticmethod
    def _owner(mask: Tensor) -> Tensor:
        return torch.arange(len(mask), device=mask.device)[:, None].expand_as(mask)[mask]


def checked_rows(caller: str, points: Tensor, mask: Tensor | None, *, channels: int, least: int = 1) -> Rows:
    """The rows of clouds that a network can take, or an error in the name of the network."""
    check_clouds(caller, points, channels, mask=mask)
    if mask is not None:
        check_mask(caller, mask, points, least=least)
    check_enough(caller, points, least)
    batch, places, _ = points.shape
    return Rows(batch, places, mask)


def padded_by_repetition(mask: Tensor) -> Tensor:
    """For every place (batch, points) its row among the real points; padding repeats the first one of its cloud."""
    rows = mask.flatten().cumsum(0).view_as(mask) - 1
    first = rows.gather(1, mask.int().argmax(1, keepdim=True))
    return torch.where(mask, rows, first)
