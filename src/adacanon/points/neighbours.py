r"""Farthest-point sampling, nearest neighbours and ball queries, exact, in plain torch.

What is chosen depends on the distances alone, so neither on the order of points nor on a rotation or translation of a
cloud, ties and rounding aside. Masks (batch, points) are True for real points; padding is never chosen.
Distances are not differentiated: indices come out, and the caller gathers with gradients. Squares must fit into
float32: coordinates between 1e-15 and 1e15 do, in whatever unit.
"""

import operator
from collections.abc import Iterator

import torch
from torch import Tensor

from adacanon.errors import InputError, ShapeError
from adacanon.points.checks import check_clouds, check_finite, check_mask

FEW_CHANNELS = 8
"""Up to here a sum of squared differences is as fast as the expanded square, and has no cancellation."""

SORTED_COLUMNS = range(128, 385)
"""Lengths of rows that numpy sorts faster than torch selects from, by 3 to 4 times at 256."""


DISTANCES_AT_ONCE = 1 << 16
"""Small clouds are handled several at a time, up to this many distances: twice as fast for 32 points."""

MOST_DISTANCES = 1 << 24
"""Large clouds are handled some queries at a time: a table of all distances of 100,000 points would have 40 GB."""


@torch.no_grad()
def farthest_points(points: Tensor, count: int, *, mask: Tensor | None = None) -> Tensor:
    r"""Indices :math:`i_1, i_2, \dots` with :math:`i_{k+1} \in \arg\max_i \min_{j \le k} \|x_i - x_{i_j}\|`.

    The first one is the point farthest from the centroid (implementations that start at a random or at the first
    point give another subset for another order). Of points that tie, the first is taken. No index comes twice, also
    where points coincide.

    Shape:
        (batch, points, channels) -> (batch, count)

    Example:
        >>> line = torch.tensor([[[0.0], [1.0], [2.0], [10.0]]])
        >>> farthest_points(line, 2).tolist()
        [[3, 0]]

    Reference:
        Eldar, Lindenbaum, Porat & Zeevi, "The farthest point strategy for progressive image sampling", 1997.
    """
    check_clouds("farthest_points", points, mask=mask)
    count = _checked_count("farthest_points", "count", count, points, mask)
    axes = _without_padding(_at_least_float32(points), mask).permute(2, 0, 1).contiguous()
    difference, latest = torch.empty_like(axes), torch.empty_like(axes[0])
    torch.sum(torch.sub(axes, _centroids(axes, mask), out=difference).square_(), 0, out=latest)
    distance = torch.full_like(latest, torch.inf)  # to the chosen points; below zero for what cannot be chosen
    if mask is not None:
        distance.masked_fill_(~mask, -1)
        latest.masked_fill_(~mask, -1)
    chosen = latest.argmax(1, keepdim=True)
    indices = [chosen]
    for _ in range(count - 1):
        torch.sub(axes, axes.gather(2, chosen.expand(len(axes), -1, 1)), out=difference)
        torch.sum(difference.square_(), 0, out=latest)
        torch.minimum(distance, latest, out=distance).scatter_(1, chosen, -1)
        chosen = distance.argmax(1, keepdim=True)
        indices.append(chosen)
    return torch.cat(indices, 1)


@torch.no_grad()
def nearest_neighbours(points: Tensor, k: int, *, queries: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
    r"""The k points nearest to every query, nearest first; ties in no particular order.

    Without ``queries`` these are the points themselves; every point is then its own first neighbour, unless others
    coincide with it.

    Shape:
        points (batch, points, channels), queries (batch, queries, channels) -> (batch, queries, k)

    Example:
        >>> line = torch.tensor([[[0.0], [1.0], [3.0]]])
        >>> nearest_neighbours(line, 2).tolist()
        [[[0, 1], [1, 0], [2, 1]]]
    """
    check_clouds("nearest_neighbours", points, mask=mask)
    queries = points if queries is None else queries
    _check_queries("nearest_neighbours", "queries", queries, points)
    k = _checked_count("nearest_neighbours", "k", k, points, mask)
    return _nearest(points, queries, k, mask)[1]


@torch.no_grad()
def ball_query(points: Tensor, centres: Tensor, radius: float, count: int, *, mask: Tensor | None = None) -> Tensor:
    r"""Up to ``count`` points with :math:`\|x_i - c\| \le \mathrm{radius}`, nearest first.

    Places that are left over repeat the nearest point, which changes no maximum over the ball. If the ball is empty,
    which cannot be where the centre is one of the points, all places hold the nearest point outside.
    PointNet++ takes the first points of the ball by index instead: where the ball holds more than ``count``,
    that choice depends on the order of points, and this one does not.

    Shape:
        points (batch, points, channels), centres (batch, centres, channels) -> (batch, centres, count)

    Example:
        >>> line = torch.tensor([[[0.0], [1.0], [3.0]]])
        >>> ball_query(line, line[:, :1], radius=2.0, count=3).tolist()
        [[[0, 1, 0]]]
    """
    check_clouds("ball_query", points, mask=mask)
    _check_queries("ball_query", "centres", centres, points)
    if not _is_whole(count):
        raise InputError(f"ball_query expects count to be a whole number, got {count!r}")
    count = int(count)
    if not (radius > 0 and count > 0):
        raise InputError(f"ball_query needs a radius and a count above zero, got {radius} and {count}")
    if mask is not None:
        check_mask("ball_query", mask, points)
    squared, nearest = _nearest(points, centres, min(count, points.shape[1]), mask)
    within = torch.where((squared <= radius * radius) & squared.isfinite(), nearest, nearest[..., :1])
    repeated = within[..., :1].expand(-1, -1, count - within.shape[-1])
    return torch.cat([within, repeated], -1)


def squared_distances(queries: Tensor, points: Tensor) -> Tensor:
    r""":math:`\|q_i - x_j\|^2` within every cloud.

    :math:`|q|^2 - 2q^\top x + |x|^2` loses the distances that are small beside :math:`|x|`. So few channels are
    summed directly; many are expanded in float64 around the centroid. Inputs in float64 are always summed directly.

    Shape:
        (batch, queries, channels), (batch, points, channels) -> (batch, queries, points)
    """
    if points.shape[-1] > FEW_CHANNELS and points.dtype != torch.float64:
        centre = points.double().mean(1, keepdim=True)
        q, x = queries.double() - centre, points.double() - centre
        norms = q.square().sum(-1, keepdim=True) + x.square().sum(-1).unsqueeze(1)
        return torch.baddbmm(norms, q, x.mT, alpha=-2).float().clamp_(min=0)
    q, x = _at_least_float32(queries), _at_least_float32(points)
    squared = q.new_zeros(*q.shape[:2], x.shape[1])
    for a, b in zip(q.unbind(-1), x.unbind(-1), strict=True):
        difference = a.unsqueeze(2) - b.unsqueeze(1)
        squared.addcmul_(difference, difference)
    return squared


def smallest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k smallest entries of every row, sorted, and their columns: ``topk``, but faster for k above columns / 64.

    There ``topk`` no longer sorts partially. The entries of a row are written as a table with eight lines; a column
    of the table that holds one of the k smallest entries is among the k columns with the smallest minima. So
    one selection among an eighth of the entries and one among 8k are enough. Rows of some hundred entries are sorted
    as a whole.

    Shape:
        (rows, columns) -> (rows, k), (rows, k)
    """
    lines, columns = 8, values.shape[1]
    if values.device.type == "cpu" and values.dtype == torch.float32 and columns in SORTED_COLUMNS and k >= lines:
        return _first_of_sorted(values, k)
    if 64 * k <= columns or lines * k > columns or columns % lines:
        found = values.topk(k, largest=False)
        return found.values, found.indices
    table = values.view(len(values), lines, -1)
    kept = table.amin(1).topk(k, largest=False, sorted=False).indices
    found = table.gather(2, kept[:, None].expand(-1, lines, -1)).flatten(1).topk(k, largest=False)
    return found.values, found.indices // k * table.shape[2] + kept.gather(1, found.indices % k)


def _first_of_sorted(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """A float32 leaves 29 bits of a float64 empty: columns written there come along when numpy sorts."""
    limit = torch.finfo(values.dtype).max
    bits = values.clamp(-limit, limit).double().view(torch.int64)  # an infinite number with a mark would be none
    marked = (bits | torch.arange(values.shape[1])).view(torch.float64)
    marked.numpy().sort(axis=1)
    indices = marked[:, :k].contiguous().view(torch.int64) & ((1 << 29) - 1)
    return values.gather(1, indices), indices


def _nearest(points: Tensor, queries: Tensor, k: int, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Squared distances and indices (batch, queries, k)."""
    batch, count, _ = queries.shape
    squared = queries.new_empty(batch, count, k, dtype=_at_least_float32(points[:0]).dtype)
    indices = torch.empty_like(squared, dtype=torch.long)
    clouds, at = _without_padding(points, mask), queries.to(points.dtype)
    if mask is None and torch.compiler.is_exporting():  # pieces would make the size of the batch a constant
        return squared_distances(at, clouds).topk(k, largest=False)
    for part, rows in _pieces(batch, count, points.shape[1]):
        table = squared_distances(at[part, rows], clouds[part])
        if mask is not None:
            table.masked_fill_(~mask[part].unsqueeze(1), torch.inf)
        values, columns = smallest(table.flatten(0, 1), k)
        squared[part, rows] = values.view_as(squared[part, rows])
        indices[part, rows] = columns.view_as(indices[part, rows])
    return squared, indices


def _pieces(batch: int, queries: int, points: int) -> Iterator[tuple[slice, slice]]:
    """Clouds and their queries that are handled at a time: some clouds with all queries, or one cloud with some."""
    clouds = max(1, DISTANCES_AT_ONCE // (queries * points or 1))
    at_once = queries if queries * points <= MOST_DISTANCES else max(1, MOST_DISTANCES // points)
    for first in range(0, batch, clouds):
        for start in range(0, queries, max(1, at_once)):
            yield slice(first, first + clouds), slice(start, start + at_once)


def _centroids(axes: Tensor, mask: Tensor | None) -> Tensor:
    """(channels, batch, 1), in float64 so that the order of points hardly matters."""
    real = axes.shape[-1] if mask is None else mask.sum(1, keepdim=True)
    return (axes.sum(-1, keepdim=True, dtype=torch.float64) / real).to(axes.dtype)


def _without_padding(points: Tensor, mask: Tensor | None) -> Tensor:
    """Zeros for padding, whatever it was, so that it spoils no sum."""
    return points if mask is None else points.masked_fill(~mask[..., None], 0)


def _at_least_float32(points: Tensor) -> Tensor:
    return points if points.dtype in (torch.float32, torch.float64) else points.float()


def _check_queries(caller: str, name: str, queries: Tensor, points: Tensor) -> None:
    batch, _, channels = points.shape
    if not isinstance(queries, Tensor):
        raise ShapeError(f"{caller} expects {name} as a tensor, got {type(queries).__name__}. Hint: torch.as_tensor")
    if queries.dim() != 3 or queries.shape[0] != batch or queries.shape[2] != channels:
        raise ShapeError(
            f"{caller} expects {name} of shape ({batch}, {name}, {channels}) for points of shape "
            f"{tuple(points.shape)}, got {tuple(queries.shape)}. Hint: one batch and the same coordinates"
        )
    if queries is not points:
        check_finite(caller, queries, None)


def _is_whole(count: object) -> bool:
    """An integer of Python, numpy or torch; tensors with a fraction raise when they are asked."""
    try:
        return not isinstance(count, bool) and operator.index(count) is not None  # type: ignore[arg-type]
    except TypeError:
        return False


def _checked_count(caller: str, name: str, count: int, points: Tensor, mask: Tensor | None) -> int:
    whole = _is_whole(count)
    if not (whole and 0 < int(count) <= points.shape[1]):
        hint = "ask for fewer" if whole else "a whole number"
        raise InputError(
            f"{caller} expects {name} in 1..{points.shape[1]}, the points of a cloud, got {count!r}. Hint: {hint}"
        )
    if mask is not None:
        check_mask(caller, mask, points, least=int(count))
    return int(count)
