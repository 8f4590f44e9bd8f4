r"""Upper left blocks of orthogonal matrices: all that truncated coefficients :math:`U^\top C` see of :math:`U`.

Write :math:`C = QR` with orthonormal :math:`Q \in \mathbb R^{M\times r}`. The first J rows of :math:`U^\top C` are
:math:`XR`, where :math:`X = (U^\top Q)_{1..J}` is the J x r block of a Haar frame. The set of all such X is

- the unit ball of the spectral norm, if M >= J + r;
- the matrices with at least J + r - M singular values equal to one and the others at most one, if J < M < J + r;
- orthonormal frames, if M <= J.

Points and their refinement do not grow with the graph that they stand for; only the draws look at M numbers each.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from adacanon.core.space import Space
from adacanon.errors import InputError, ShapeError
from adacanon.spaces.orthogonal import positive_qr

_ROWS_PER_DRAW = 64

_SAFE_MARGIN = 8
"""With fewer rows than columns and this many more, a Gram matrix is too ill-conditioned for a Cholesky factor."""

_SURE = 1e-4
"""A singular value below this, or below this share of the largest, has no direction that could be relied on: its
square is a difference of numbers that carry the rounding of the largest."""


class OrthogonalBlocks(Space):
    r""":math:`\prod_k \{(U_k)_{1..J_k,\,1..r_k} : U_k \in O(M_k)\}`, one product of blocks per input.

    Points have shape (bands, J, width) with J the largest :math:`J_k`, zero outside the mask.

    Args:
        sizes: the dimensions :math:`M_k` of each input, (members, bands).
        rows: :math:`J_k` per band.
        columns: :math:`r_k` of each input, (members, bands), or one number T that stands for :math:`\min(M_k, T)`.
        width: the largest :math:`r_k` that a point has room for; draws for fewer columns begin those for more.
        dtype: of the draws, which are computed in float64.

    Example:
        >>> blocks = OrthogonalBlocks(torch.tensor([[5, 1], [3, 8]]), rows=(2, 2), columns=3)
        >>> blocks.sample(10).shape  # draws, inputs, bands, rows, width
        torch.Size([10, 2, 2, 2, 3])
    """

    def __init__(
        self,
        sizes: Tensor,
        *,
        rows: tuple[int, ...],
        columns: int | Tensor,
        width: int | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        if sizes.dim() != 2 or sizes.shape[1] != len(rows):
            raise ShapeError(
                f"OrthogonalBlocks expects sizes of shape (members, {len(rows)}), got {tuple(sizes.shape)}"
            )
        self.sizes = sizes
        self.rows = rows
        self.dtype = dtype
        self.columns = sizes.clamp(max=columns) if isinstance(columns, int) else columns
        self.width = width or (columns if isinstance(columns, int) else max(1, int(columns.max())))
        if min(rows) < 1 or self.width < 1 or (sizes.numel() and int(sizes.min()) < 0):
            raise InputError(f"OrthogonalBlocks needs positive rows and columns, got rows={rows}, columns={columns}")
        if self.columns.shape != sizes.shape or bool((self.columns > sizes.clamp(max=self.width)).any()):
            raise ShapeError(f"OrthogonalBlocks has at most min(M, {self.width}) columns per block, got {columns}")

    def __repr__(self) -> str:
        return f"OrthogonalBlocks(bands={len(self.rows)}, rows={self.rows}, width={self.width})"

    @property
    def members(self) -> int:
        return int(self.sizes.shape[0])

    @property
    def diameter(self) -> Tensor:
        """Two isometries of rank q are at most 2 sqrt(q) apart."""
        return 2 * torch.minimum(self._height(), self.columns).sum(-1).clamp(min=1).sqrt()

    def select(self, owner: Tensor) -> "OrthogonalBlocks":
        chosen = copy.copy(self)
        chosen.sizes, chosen.columns, chosen._mask = self.sizes[owner], self.columns[owner], self._mask[owner]
        return chosen

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        """Blocks of Haar matrices; each band has its own stream, and equal dimensions share their draws."""
        seeds = torch.randint(2**62, (len(self.rows),), generator=generator).tolist()
        table = _table(tuple(seeds), count, self.rows, self.width, self.dtype)
        return table.blocks(self.sizes.cpu(), self.columns.cpu()).transpose(0, 1).mT

    def project(self, u: Tensor) -> Tensor:
        """Clip the singular values to at most one and raise to one those that must be."""
        mask = self.mask().to(u)
        return self._reshaped(u * mask) * mask

    def _reshaped(self, u: Tensor) -> Tensor:
        must = self._forced(min(u.shape[-2:]), u.device).expand(*u.shape[:-2], -1)
        if max(self.rows) != 2 or u.shape[-1] < 2:
            return _by_svd(u, must)
        close, sure = _two_rows_to_set(u, must)
        if bool(sure.all()):
            return close
        return close.index_put((~sure,), _by_svd(u[~sure], must[~sure]))

    def tangent(self, u: Tensor, v: Tensor) -> Tensor:
        """All directions: the set has corners, where more singular values are one than must be, and no tangent spaces
        there. Steps go in the ambient space and ``retract`` projects them back.
        """
        return v * self.mask().to(v)

    def retract(self, u: Tensor, v: Tensor) -> Tensor:
        return self.project(u + v)

    def norm(self, v: Tensor) -> Tensor:
        return v.flatten(-3).norm(dim=-1)

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        """Chordal: the Frobenius norm of the difference."""
        return self.norm(u - v)

    def identity(self) -> Tensor:
        eye = torch.eye(max(self.rows), self.width, dtype=torch.float64)
        return eye * self.mask().cpu()

    def mask(self) -> Tensor:
        """(members, bands, J, width)"""
        return self._mask

    @cached_property
    def _mask(self) -> Tensor:
        j = torch.arange(max(self.rows), device=self.sizes.device)
        t = torch.arange(self.width, device=self.sizes.device)
        return (j[:, None] < self._height()[..., None, None]) & (t < self.columns[..., None, None])

    def _forced(self, values: int, device: torch.device) -> Tensor:
        """Which singular values, in decreasing order, must be one, (members, bands, values): the first J + r - M."""
        count = (self._height() + self.columns - self.sizes).clamp(min=0).unsqueeze(-1).to(device)
        return torch.arange(values, device=device) < count

    def _height(self) -> Tensor:
        """Rows that are not zero, min(J, M), (members, bands)."""
        return torch.minimum(self.sizes, torch.tensor(self.rows, device=self.sizes.device))


@dataclass(frozen=True)
class _Blocks:
    """The transposed blocks of some streams for some shapes, and where they are.

    Attributes:
        place: by dimension and number of columns, the place of a shape; -1 if it is not there.
        stored: (bands, shapes, count, width, J): ``BandRotations.fused`` reads blocks in this order.
    """

    place: Tensor
    stored: Tensor


_Kind = tuple[int, tuple[int, ...], int]
_asked: dict[_Kind, Tensor] = {}
"""Shapes (2, n) that tables were asked for, by count, rows and width; replaced, never changed."""

MOST_EARLIER = 1024
"""Shapes that a table computes because earlier ones were asked for them; those of the smallest dimensions."""


class _Table:
    """The blocks of some streams for all dimensions and numbers of columns that were asked for so far.

    Threads share a table. What it holds is never changed: it is replaced by more, complete, in one assignment. Two
    threads that miss a shape at the same time both compute it, with the same outcome.

    Graphs come in batches, so that shapes come a few at a time, and a decomposition of few costs as much as one of
    many. A table that is asked for a second time therefore computes all that were asked of earlier ones as well.
    """

    def __init__(
        self, seeds: tuple[int, ...], count: int, rows: tuple[int, ...], width: int, dtype: torch.dtype
    ) -> None:
        self.seeds, self.rows = seeds, rows
        place = torch.zeros(1, width + 1, dtype=torch.int64)
        self.known = _Blocks(place, torch.zeros(len(rows), 1, count, width, max(rows), dtype=dtype))

    def blocks(self, sizes: Tensor, columns: Tensor) -> Tensor:
        """Blocks (members, count, bands, width, J) for sizes and columns (members, bands)."""
        known = self.known
        if sizes.numel() == 0:
            return known.stored.new_zeros(*known.stored.shape[2:]).expand(*sizes.shape, -1, -1, -1).transpose(1, 2)
        place = _with_room(known.place, sizes)
        missing = place[sizes, columns] < 0
        if bool(missing.any()):
            shapes = torch.stack([sizes[missing], columns[missing]]).unique(dim=1)
            asked = _together(_asked.get(self._kind, shapes), shapes)
            if known.stored.shape[1] > 1:
                place = _with_room(place, asked[0])
                shapes = _together(shapes, asked[:, place[asked[0], asked[1]] < 0])
            self.known = known = self._extended(_Blocks(place, known.stored), *shapes)
            _asked[self._kind] = asked[:, :MOST_EARLIER]
        rows = known.place[sizes, columns]
        return torch.stack([band.index_select(0, row) for band, row in zip(known.stored, rows.T, strict=True)], dim=2)

    @property
    def _kind(self) -> _Kind:
        _, _, count, width, _ = self.known.stored.shape
        return count, self.rows, width

    def _extended(self, known: _Blocks, sizes: Tensor, columns: Tensor) -> _Blocks:
        """What is known, and the blocks of more pairs of a dimension and a number of columns."""
        _, shapes, count, width, height = known.stored.shape
        more = known.stored.new_zeros(len(self.rows), len(sizes), count, width, height)
        dimensions, dimension = sizes.unique(return_inverse=True)
        inside = (torch.arange(width) < columns[:, None])[:, None, :, None]
        for band, seed, rows in zip(more, self.seeds, self.rows, strict=True):
            blocks = haar_blocks(dimensions.tolist(), count, rows=rows, columns=width, seed=seed)
            band[..., :rows] = blocks.transpose(0, 1).mT[dimension] * inside
        place = known.place.index_put((sizes, columns), torch.arange(shapes, shapes + len(sizes)))
        return _Blocks(place, torch.cat([known.stored, more], dim=1))


def _together(shapes: Tensor, others: Tensor) -> Tensor:
    """Distinct shapes (2, n) in increasing order."""
    return torch.cat([shapes, others], dim=1).unique(dim=1)


def _with_room(place: Tensor, sizes: Tensor) -> Tensor:
    """Places for dimensions up to the largest of ``sizes``."""
    room = max(0, int(sizes.max()) + 1 - len(place))
    return torch.nn.functional.pad(place, (0, 0, 0, room), value=-1)


@lru_cache(maxsize=2)
def _table(seeds: tuple[int, ...], count: int, rows: tuple[int, ...], width: int, dtype: torch.dtype) -> _Table:
    """Batches that are searched with the same draws share them."""
    return _Table(seeds, count, rows, width, dtype)


def forget_draws() -> None:
    """Free the tables of draws; the next search computes them again."""
    _table.cache_clear()
    _asked.clear()


def _by_svd(u: Tensor, must: Tensor) -> Tensor:
    wide = u.float() if u.dtype in (torch.float16, torch.bfloat16) else u  # narrower ones have no decomposition
    left, values, right = torch.linalg.svd(wide, full_matrices=False)
    return ((left * torch.where(must, 1.0, values.clamp(max=1)).unsqueeze(-2)) @ right).to(u.dtype)


def _two_rows_to_set(u: Tensor, must: Tensor) -> tuple[Tensor, Tensor]:
    r"""The projection of 2 x r matrices in closed form, and where it can be relied on.

    With the eigenvalues :math:`\sigma_i^2` of the 2 x 2 matrix :math:`uu^\top`, it is :math:`\big(\bar f I + \tfrac{f_1
    - f_2}2 \begin{pmatrix} c & t\\ t & -c\end{pmatrix}\big) u` with factors :math:`f_i` that make the singular values
    what they should be. A singular value of zero that must become one has no direction.
    """
    x, y = u.double().unbind(-2)
    a, d, b = x.square().sum(-1), y.square().sum(-1), (x * y).sum(-1)
    mean, half = (a + d) / 2, (a - d) / 2
    gap = torch.hypot(half, b)
    sigma = torch.stack([mean + gap, (mean - gap).clamp(min=0)], dim=-1).sqrt()
    f = torch.where(must | (sigma > 1), 1 / sigma.clamp(min=_SURE), 1.0)
    middle, difference = f.sum(-1) / 2, (f[..., 0] - f[..., 1]) / 2
    share = difference / gap.clamp(min=torch.finfo(gap.dtype).tiny)
    cosine, sine = (share * half).unsqueeze(-1), (share * b).unsqueeze(-1)
    middle = middle.unsqueeze(-1)
    rows = torch.stack([(middle + cosine) * x + sine * y, sine * x + (middle - cosine) * y], dim=-2)
    tiny = sigma < _SURE * sigma[..., :1].clamp(min=1)
    sure = ~(must & tiny).any(-1) & ((gap > 0) | (difference == 0))
    return rows.to(u.dtype), sure


def haar_blocks(dimensions: list[int], count: int, *, rows: int, columns: int, seed: int) -> Tensor:
    r"""The upper left blocks of Haar matrices of several dimensions M, from one Gaussian table G.

    With :math:`S_M = \sum_{i\le M} g_i g_i^\top = LL^\top`, the frame is :math:`G_{1..M}L^{-\top}`; only its first rows
    are formed. The entries of G follow from the seed, whatever its size: the block for M depends neither on the
    other dimensions nor on how many columns there are beside its own.

    Args:
        dimensions: increasing M.

    Shape:
        (count, len(dimensions), rows, columns), zero outside min(rows, M) x min(M, columns).
    """
    m = torch.tensor(dimensions)
    g = gaussian_table(max(dimensions), count, columns, seed)
    large = m >= columns + _SAFE_MARGIN
    blocks = g.new_zeros(count, len(dimensions), rows, columns)
    if not bool(large.all()):
        blocks[:, ~large] = _blocks_by_qr(g, m[~large], rows)
    if bool(large.any()):
        blocks[:, large] = _blocks_by_cholesky(g, m[large].tolist(), rows)
    inside = (torch.arange(rows)[:, None] < m[:, None, None]) & (torch.arange(columns) < m[:, None, None])
    return torch.where(inside, blocks, 0.0)


def _blocks_by_qr(g: Tensor, m: Tensor, rows: int) -> Tensor:
    """One decomposition for all: rows beyond M are zero, and the first M columns do not see those after them.

    All have the same height, so that no block is rounded otherwise in other company.
    """
    height = max(g.shape[2] + _SAFE_MARGIN, rows)
    padded = torch.nn.functional.pad(g[:, :height], (0, 0, 0, height - min(height, g.shape[1])))
    stacked = padded.unsqueeze(1) * (torch.arange(height) < m[:, None])[..., None]
    return positive_qr(stacked)[..., :rows, :]


def _blocks_by_cholesky(g: Tensor, dimensions: list[int], rows: int) -> Tensor:
    lower = torch.linalg.cholesky(torch.stack([*_running_grams(g, dimensions)], dim=1))
    head = g[:, :rows].mT.unsqueeze(1).expand(-1, len(dimensions), -1, -1)
    blocks = torch.linalg.solve_triangular(lower, head, upper=False).mT
    return torch.nn.functional.pad(blocks, (0, 0, 0, rows - blocks.shape[2]))


def _running_grams(g: Tensor, dimensions: list[int]) -> Iterator[Tensor]:
    """:math:`S_M` of increasing dimensions: whole parts of the table one after the other, then the rest of M rows. The
    parts are the same for all, so that no sum is rounded otherwise in other company.
    """
    done, whole = 0, g.new_zeros(len(g), g.shape[2], g.shape[2])
    for m in dimensions:
        for start in range(done, m - m % _ROWS_PER_DRAW, _ROWS_PER_DRAW):
            whole = whole + _gram(g[:, start : start + _ROWS_PER_DRAW])
            done = start + _ROWS_PER_DRAW
        yield whole + _gram(g[:, done:m])


def _gram(g: Tensor) -> Tensor:
    return g.mT @ g


def gaussian_table(rows: int, count: int, columns: int, seed: int) -> Tensor:
    """(count, rows, columns): each column has its own stream, read a fixed number of rows at a time."""
    table = torch.empty(columns, -(-max(rows, 1) // _ROWS_PER_DRAW), _ROWS_PER_DRAW, count, dtype=torch.float64)
    for column, part in enumerate(table):
        stream = torch.Generator().manual_seed((seed + column * 0x9E3779B97F4A7C15) % 2**63)
        for block in part:
            block.normal_(generator=stream)
    return table.flatten(1, 2)[:, :rows].permute(2, 1, 0).contiguous()
