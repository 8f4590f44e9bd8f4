"""Mean and covariance of many rows, without a copy of them."""

from typing import Any

import torch
from torch import Tensor

CACHED_ROWS = 4096
"""Rows that are centred together, in the cache of a processor."""


def moments(*parts: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`\mu = \frac1n\sum_i x_i` and :math:`C = \frac1n\sum_i (x_i - \mu)(x_i - \mu)^\top` over the rows of all
    parts.

    Shape:
        (rows, columns), ... -> (columns,), (columns, columns)
    """
    return _Moments.apply(*parts)


class _Moments(torch.autograd.Function):
    r"""With gradients m of the mean and G of the covariance, that of a row is
    :math:`\frac1n\bigl(m + (G + G^\top)(x_i - \mu)\bigr)`: one product and a constant.
    """

    @staticmethod
    def forward(ctx: Any, *parts: Tensor) -> tuple[Tensor, Tensor]:
        count = sum(len(rows) for rows in parts)
        mean = parts[0].mean(0) if len(parts) == 1 else torch.stack([rows.sum(0) for rows in parts]).sum(0) / count
        covariance = mean.new_zeros(len(mean), len(mean))
        for rows in parts:
            for few in rows.split(CACHED_ROWS):
                centred = few - mean
                covariance.addmm_(centred.T, centred)
        covariance /= count
        ctx.save_for_backward(mean, *parts)
        return mean, covariance

    @staticmethod
    def backward(ctx: Any, by_mean: Tensor, by_covariance: Tensor) -> tuple[Tensor, ...]:
        mean, *parts = ctx.saved_tensors
        count = sum(len(rows) for rows in parts)
        both = (by_covariance + by_covariance.T) / count
        constant = by_mean / count - mean @ both
        return tuple(torch.addmm(constant, rows, both) for rows in parts)
