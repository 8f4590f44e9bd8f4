r"""The maximum over the points of a cloud of a linear map, where a PointNet spends most of its time.

The products are never kept: of each row only the largest is used, and only the points that attain one have a gradient.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

CACHED_ROWS = 1024
"""Points that go through the layer together; more of them fall out of a processor's cache. Larger clouds are cut into
pieces."""


def largest_products(clouds: Tensor, weight: Tensor) -> Tensor:
    r""":math:`\max_i w_c \cdot x_i` for every cloud and every row :math:`w_c`; of points that tie, the first gets the
    gradient.

    Shape:
        clouds (batch, points, channels), weight (rows, channels) -> (batch, rows)
    """
    if torch.is_grad_enabled() and (clouds.requires_grad or weight.requires_grad):
        return _LargestProducts.apply(clouds, weight)
    return torch.stack([_maxima(piece, weight) for piece in clouds.split(CACHED_ROWS, 1)]).amax(0)


class _LargestProducts(torch.autograd.Function):
    """Every point gets the sum of the rows that it attains, every row that of the points that attain it."""

    @staticmethod
    def forward(ctx: Any, clouds: Tensor, weight: Tensor) -> Tensor:
        values, winners = _attained(clouds, weight)
        ctx.save_for_backward(clouds, weight, winners)
        return values

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        clouds, weight, winners = ctx.saved_tensors
        if torch.is_grad_enabled():  # a gradient that is to be differentiated again
            factors = [factor for factor in (clouds, weight) if factor.requires_grad]
            found = iter(torch.autograd.grad(_at(clouds, weight, winners), factors, gradient, create_graph=True))
            return tuple(next(found) if factor.requires_grad else None for factor in (clouds, weight))
        by_clouds, by_weight = ctx.needs_input_grad
        place = winners + clouds.shape[1] * torch.arange(len(clouds), device=clouds.device)[:, None]
        return (
            _sums_by_point(place, weight, gradient, clouds.shape) if by_clouds else None,
            _sums_by_row(place, clouds, gradient) if by_weight else None,
        )


def _at(clouds: Tensor, weight: Tensor, winners: Tensor) -> Tensor:
    """The products at the winners, by operations that can be differentiated any number of times."""
    chosen = clouds[torch.arange(len(clouds), device=clouds.device)[:, None], winners]
    return (chosen * weight).sum(-1)


def _sums_by_point(place: Tensor, weight: Tensor, gradient: Tensor, shape: torch.Size) -> Tensor:
    order = place.flatten().argsort()
    counts = torch.bincount(place.flatten(), minlength=shape[0] * shape[1])
    sums = _weighted_sums(weight, order % len(weight), gradient.flatten()[order], counts.cumsum(0) - counts)
    return sums.view(shape)


def _sums_by_row(place: Tensor, clouds: Tensor, gradient: Tensor) -> Tensor:
    start = torch.arange(0, place.numel(), len(clouds), device=place.device)
    return _weighted_sums(clouds.flatten(0, 1), place.T.flatten(), gradient.T.flatten(), start)


def _weighted_sums(rows: Tensor, index: Tensor, factors: Tensor, start: Tensor) -> Tensor:
    """Sums of ``factors * rows[index]`` over the stretches that begin at ``start``."""
    dtype = torch.promote_types(rows.dtype, torch.float32)
    return functional.embedding_bag(
        index, rows.to(dtype), start, mode="sum", per_sample_weights=factors.to(dtype).contiguous()
    )


def _maxima(clouds: Tensor, weight: Tensor) -> Tensor:
    """The largest products (batch, rows) of clouds, as many at a time as the cache holds."""
    if torch.compiler.is_exporting():  # a program for any number of clouds cannot depend on it
        return (clouds @ weight.T).amax(1)
    points = clouds.shape[1]
    parts = clouds.split(max(1, CACHED_ROWS // points))
    return torch.cat([(part.flatten(0, 1) @ weight.T).unflatten(0, (-1, points)).amax(1) for part in parts])


def _attained(clouds: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The largest products (batch, rows), and the points where they are, the first of those that tie."""
    pieces = []
    for piece in clouds.split(CACHED_ROWS, 1):
        points = piece.shape[1]
        parts = piece.split(max(1, CACHED_ROWS // points))
        found = [(weight @ part.flatten(0, 1).T).unflatten(1, (-1, points)).max(2) for part in parts]
        pieces.append((torch.cat([part.values for part in found], 1), torch.cat([part.indices for part in found], 1)))
    values, indices = (torch.stack(tensors) for tensors in zip(*pieces, strict=True))
    best = values.argmax(0, keepdim=True)
    winners = indices.gather(0, best) + CACHED_ROWS * best
    return values.gather(0, best).squeeze(0).T.contiguous(), winners.squeeze(0).T.contiguous()
