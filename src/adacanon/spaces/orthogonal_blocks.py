r"""Upper left blocks of orthogonal matrices: all that truncated coefficients :math:`U^\top C` see of :math:`U`.

Write :math:`C = QR` with orthonormal :math:`Q \in \mathbb R^{M\times r}`. The first J rows of :math:`U^\top C` are
:math:`XR`, where :math:`X = (U^\top Q)_{1..J}` is the J x r block of a Haar frame. The set of all such X is

- the unit ball of the spectral norm, if M >= J + r;
- the matrices with at least J + r - M singular values equal to one and the others at most one, if J < M < J + r;
- orthonormal frames, if M <= J.

Points and their refinement do not grow with the graph that they stand for; only the draws look at M numbers each.
"""

import torch
from torch import Tensor

from adacanon.core.space import Space
from adacanon.errors import InputError, ShapeError
from adacanon.spaces.orthogonal import positive_qr

_ROWS_PER_DRAW = 64


class OrthogonalBlocks(Space):
    r""":math:`\prod_k \{(U_k)_{1..J_k,\,1..r_k} : U_k \in O(M_k)\}`, one product of blocks per input.

    Points have shape (bands, J, width) with J the largest :math:`J_k`, zero outside the mask.

    Args:
        sizes: the dimensions :math:`M_k` of each input, (members, bands).
        rows: :math:`J_k` per band.
        columns: :math:`r_k` of each input, (members, bands), or one number T that stands for :math:`\min(M_k, T)`.
        width: the largest :math:`r_k` that a point has room for.
        drawn: columns of the table behind the draws; a draw for fewer columns is the beginning of one for more.
    """

    def __init__(
        self,
        sizes: Tensor,
        *,
        rows: tuple[int, ...],
        columns: int | Tensor,
        width: int | None = None,
        drawn: int | None = None,
    ) -> None:
        if sizes.dim() != 2 or sizes.shape[1] != len(rows):
            raise ShapeError(
                f"OrthogonalBlocks expects sizes of shape (members, {len(rows)}), got {tuple(sizes.shape)}"
            )
        self.sizes = sizes
        self.rows = rows
        self.columns = sizes.clamp(max=columns) if isinstance(columns, int) else columns
        self.width = width or (columns if isinstance(columns, int) else max(1, int(columns.max())))
        self.drawn = drawn or self.width
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
        return OrthogonalBlocks(
            self.sizes[owner], rows=self.rows, columns=self.columns[owner], width=self.width, drawn=self.drawn
        )

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        """Blocks of Haar matrices; each band has its own stream, and equal dimensions share their draws."""
        seeds = torch.randint(2**62, (len(self.rows),), generator=generator).tolist()
        out = torch.zeros(count, self.members, len(self.rows), max(self.rows), self.width, dtype=torch.float64)
        for k, (seed, rows) in enumerate(zip(seeds, self.rows, strict=True)):
            dimensions, member = self.sizes[:, k].cpu().unique(return_inverse=True)
            stream = torch.Generator().manual_seed(seed)
            table = haar_blocks(
                dimensions.tolist(), count, rows=rows, columns=self.width, drawn=self.drawn, generator=stream
            )
            out[:, :, k, :rows] = table[:, member]
        return out * self.mask().cpu()

    def project(self, u: Tensor) -> Tensor:
        """Clip the singular values to at most one and raise to one those that must be."""
        left, values, right = torch.linalg.svd(u * self.mask().to(u), full_matrices=False)
        values = torch.where(self._forced(values), 1.0, values.clamp(max=1))
        return (left * values.unsqueeze(-2)) @ right * self.mask().to(u)

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
        j = torch.arange(max(self.rows), device=self.sizes.device)
        t = torch.arange(self.width, device=self.sizes.device)
        return (j[:, None] < self._height()[..., None, None]) & (t < self.columns[..., None, None])

    def _forced(self, values: Tensor) -> Tensor:
        """Which of the singular values, in decreasing order, must be one: the first J + r - M."""
        count = (self._height() + self.columns - self.sizes).clamp(min=0).unsqueeze(-1).to(values.device)
        return torch.arange(values.shape[-1], device=values.device) < count

    def _height(self) -> Tensor:
        """Rows that are not zero, min(J, M), (members, bands)."""
        return torch.minimum(self.sizes, torch.tensor(self.rows, device=self.sizes.device))


def haar_blocks(
    dimensions: list[int],
    count: int,
    *,
    rows: int,
    columns: int,
    drawn: int | None = None,
    generator: torch.Generator,
) -> Tensor:
    r"""The upper left blocks of Haar matrices of several dimensions M, from one Gaussian table G.

    With :math:`S_M = \sum_{i\le M} g_i g_i^\top = LL^\top`, the frame is :math:`G_{1..M}L^{-\top}`; only its first rows
    are formed. Rows of G are drawn in order, so the block for M does not depend on the other dimensions.

    Args:
        dimensions: increasing M.
        drawn: columns of G, of which the first ``columns`` are used; the block for fewer begins that for more.

    Shape:
        (count, len(dimensions), rows, columns), zero outside min(rows, M) x min(M, columns).
    """
    g = _gaussian_rows(max(dimensions), count, drawn or columns, generator)[..., :columns]
    blocks = torch.zeros(count, len(dimensions), rows, columns, dtype=torch.float64)
    gram, done = torch.zeros(count, columns, columns, dtype=torch.float64), 0
    for index, m in enumerate(dimensions):
        gram, done = gram + g[:, done:m].mT @ g[:, done:m], m
        height, width = min(rows, m), min(m, columns)
        if m == 0:
            continue
        if m < columns + 8:  # the Gram matrix is too ill-conditioned for a Cholesky factor here
            frame = positive_qr(g[:, :m, :width])[:, :height]
        else:
            lower = torch.linalg.cholesky(gram)
            frame = torch.linalg.solve_triangular(lower, g[:, :height].mT, upper=False).mT
        blocks[:, index, :height, :width] = frame
    return blocks


def _gaussian_rows(rows: int, count: int, columns: int, generator: torch.Generator) -> Tensor:
    """(count, rows, columns), a fixed number of rows at a time, so that a longer table begins like a shorter one."""
    draws = [
        torch.randn(_ROWS_PER_DRAW, count, columns, generator=generator, dtype=torch.float64)
        for _ in range(0, max(rows, 1), _ROWS_PER_DRAW)
    ]
    return torch.cat(draws)[:rows].transpose(0, 1)
