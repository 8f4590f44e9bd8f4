r"""Layers on the edges of a neighbour graph, computed at its points.

An edge joins a centre :math:`a_i` with a neighbour :math:`p_j`, and a linear layer on it is
:math:`z_{ij} = U a_i + V p_j`: two products per point instead of one per edge, of which there are k times as many. Also
the statistics of z over all edges need no edges,

.. math:: \bar z = U \bar a + V \bar p, \qquad \mathrm{Var}(z) = \mathrm{diag}\bigl(U\,\mathrm{Cov}(a, a)\,U^\top
    + 2\,U\,\mathrm{Cov}(a, p)\,V^\top + V\,\mathrm{Cov}(p, p)\,V^\top\bigr),

where points count as often as they are neighbours, and :math:`\mathrm{Cov}(a, p)` takes one sum over the neighbours of
every centre.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from adacanon.points.normalized_linear import running_statistics, track
from adacanon.points.recomputed import is_large

CACHED_CENTRES = 64
"""Centres whose neighbours are compared together; more of them fall out of a processor's cache."""

INDEX_BITS = 29
"""Bits of a float64 that a float32 leaves empty."""


def folded_edges(
    norm: nn.BatchNorm1d, U: Tensor, V: Tensor, centres: Tensor, points: Tensor, neighbours: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    r"""The batch normalization of :math:`z_{ij} = Ua_i + Vp_j` as :math:`U'a_i + V'p_j + b'`.

    In training, with the mean and variance over all edges of the batch, and the running statistics are updated.

    Shape:
        U (outputs, a), V (outputs, p), centres (rows, a), points (any, p), neighbours (rows, k) naming points
        -> (outputs, a), (outputs, p), (outputs,)
    """
    with torch.autocast(centres.device.type, enabled=False):
        if norm.training:
            a, p = centres.to(U.dtype), points.to(V.dtype)
            if is_large(p):
                # nothing is drawn, and the random numbers of other threads stay as they are
                mean, variance = checkpoint(
                    edge_statistics, U, V, a, p, neighbours, use_reentrant=False, preserve_rng_state=False
                )
            else:
                mean, variance = edge_statistics(U, V, a, p, neighbours)
            track(norm, mean.detach(), variance.detach(), neighbours.numel())
        else:
            mean, variance = running_statistics(norm)
        scale = norm.weight * (variance + norm.eps).rsqrt()
        return U * scale[:, None], V * scale[:, None], norm.bias - mean * scale


def edge_statistics(U: Tensor, V: Tensor, centres: Tensor, points: Tensor, neighbours: Tensor) -> tuple[Tensor, Tensor]:
    r"""Mean and (biased) variance of :math:`Ua_i + Vp_j` over all edges; shapes as in :func:`folded_edges`."""
    rows, k = neighbours.shape
    share = torch.bincount(neighbours.flatten(), minlength=len(points)).to(points.dtype).div_(rows * k)[:, None]
    mean_a, mean_p = centres.mean(0), (share * points).sum(0)
    a, p = centres - mean_a, points - mean_p
    beside = functional.embedding_bag(neighbours, p, mode="sum") / k
    left, right = U @ (a.T @ a / rows), V @ (p.T @ (share * p))
    across = U @ (a.T @ beside / rows)
    variance = (left * U).sum(1) + 2 * (across * V).sum(1) + (right * V).sum(1)
    return U @ mean_a + V @ mean_p, variance.clamp(min=0)


def largest_neighbours(values: Tensor, neighbours: Tensor) -> Tensor:
    r""":math:`\max_{j \in N(i)} v_j` for every channel; of neighbours that tie, one gets the gradient.

    Shape:
        values (points, channels), neighbours (rows, k) naming points -> (rows, channels)
    """
    if torch.is_grad_enabled() and values.requires_grad:
        return _Gathered.apply(values, winning_neighbours(values.detach(), neighbours))
    if torch.compiler.is_exporting():  # pieces would make the number of rows a constant
        return values[neighbours].amax(1)
    return torch.cat([values[part].amax(1) for part in neighbours.split(CACHED_CENTRES)])


class _Gathered(torch.autograd.Function):
    """``values.gather(0, winners)``, which keeps neither the values nor 64 bits of every winner for its gradient."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, winners: Tensor) -> Tensor:
        ctx.points = len(values)
        ctx.save_for_backward(winners.int() if len(values) < 1 << 31 else winners)
        return values.gather(0, winners)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (gradient,), (winners,) = gradients, ctx.saved_tensors
        return gradient.new_zeros(ctx.points, gradient.shape[1]).scatter_add_(0, winners.long(), gradient), None


def winning_neighbours(values: Tensor, neighbours: Tensor) -> Tensor:
    """The points that attain the maxima, (rows, channels).

    A float32 leaves the last bits of a float64 empty. On a processor, every point writes its number there, and one
    maximum gives values and winners; this is faster than a maximum that keeps track of indices.
    """
    parts = neighbours.split(CACHED_CENTRES)
    if values.device.type != "cpu" or values.dtype != torch.float32 or len(values) >= 1 << INDEX_BITS:
        return torch.cat([part.gather(1, values[part].argmax(1)) for part in parts])
    limit = torch.finfo(values.dtype).max
    bits = values.clamp(-limit, limit).double().view(torch.int64)  # an infinite number with a mark would be none
    marked = (bits | torch.arange(len(values))[:, None]).view(torch.float64)
    return torch.cat([marked[part].amax(1) for part in parts]).view(torch.int64) & ((1 << INDEX_BITS) - 1)


def group_maximum(values: Tensor) -> Tensor:
    """The maximum over the second axis; of members that tie, one gets the gradient.

    Shape:
        (groups, members, channels) -> (groups, channels)
    """
    if torch.is_grad_enabled() and values.requires_grad:
        return values.max(1).values
    return values.amax(1)


def maximum_and_mean(values: Tensor, slope: float = 1.0) -> tuple[Tensor, Tensor]:
    """Both over the second axis, of leaky rectified values; of members that tie, one gets the maximum's gradient.

    Shape:
        (groups, members, channels) -> twice (groups, channels)
    """
    if torch.is_grad_enabled() and values.requires_grad:
        return _MaximumAndMean.apply(values, slope)
    values = _rectified(values, slope)
    return values.amax(1), values.mean(1)


def _rectified(values: Tensor, slope: float) -> Tensor:
    return values if slope == 1.0 else functional.leaky_relu(values, slope)


class _MaximumAndMean(torch.autograd.Function):
    """One gradient of the size of the values is ever held, where autograd would hold three."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, slope: float) -> tuple[Tensor, Tensor]:
        rectified = _rectified(values, slope)
        largest, members = rectified.max(1)
        ctx.slope, ctx.members = slope, values.shape[1]
        ctx.save_for_backward(members, rectified)
        return largest, rectified.mean(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (of_maximum, of_mean), (members, rectified) = gradients, ctx.saved_tensors
        spread = (of_mean / ctx.members)[:, None].repeat(1, ctx.members, 1)
        spread = spread.scatter_add_(1, members[:, None], of_maximum[:, None])
        if ctx.slope != 1.0:
            for i, values in enumerate(rectified):
                spread[i] = torch.where(values > 0, spread[i], spread[i] * ctx.slope)
        return spread, None
