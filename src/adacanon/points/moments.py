"""Mean and covariance of many rows, without a copy of them."""

from typing import Any

import torch
from torch import Tensor

CACHED_ROWS = 4096
"""Rows that are centred together, in the cache of a processor."""


def moments(rows: Tensor) -> tuple[Tensor, Tensor]:
    r""":math:`\mu = \frac1n\sum_i x_i` and :math:`C = \frac1n\sum_i (x_i - \mu)(x_i - \mu)^\top`.

    Shape:
        (rows, columns) -> (columns,), (columns, columns)
    """
    return _Moments.apply(rows)


class _Moments(torch.autograd.Function):
    r"""With gradients m of the mean and G of the covariance, that of a row is
    :math:`\frac1n\bigl(m + (G + G^\top)(x_i - \mu)\bigr)`: one product and a constant.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> tuple[Tensor, Tensor]:
        mean = rows.mean(0)
        covariance = rows.new_zeros(rows.shape[1], rows.shape[1])
        for part in rows.split(CACHED_ROWS):
            centred = part - mean
            covariance.addmm_(centred.T, centred)
        covariance /= len(rows)
        ctx.save_for_backward(rows, mean)
        return mean, covariance

    @staticmethod
    def backward(ctx: Any, by_mean: Tensor, by_covariance: Tensor) -> Tensor:
        rows, mean = ctx.saved_tensors
        both = (by_covariance + by_covariance.T) / len(rows)
        return torch.addmm(by_mean / len(rows) - mean @ both, rows, both)
