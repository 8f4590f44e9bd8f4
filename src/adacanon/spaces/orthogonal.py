"""Orthogonal groups O(n) and SO(n) and their Stiefel frames, with unequal n in one batch."""

import math

import torch
from torch import Tensor

from adacanon.arguments import MOST, flag, whole_number
from adacanon.core.space import Space
from adacanon.errors import InputError, ShapeError


class Orthogonal(Space):
    r""":math:`O(n) = \{U \in \mathbb R^{n\times n} : U^\top U = I\}`, or the first J columns of its elements.

    Where a transformation needs only the first J columns (:math:`U^\top C` truncated to J rows), the frames
    :math:`\{U \in \mathbb R^{n\times J} : U^\top U = I\}` are an exact and smaller space to search.

    For unequal n, smaller matrices sit in the upper left corner of larger ones and the diagonal continues with ones.
    Members of equal n receive equal draws: they depend on the generator and on n alone.

    Args:
        size: n, or one n per input, shape (members,).
        columns: J; all columns if not given.
        proper: keep to determinant one, SO(n).

    Example:
        >>> u = Orthogonal(4).sample(3)
        >>> u.shape, bool(torch.allclose(u.mT @ u, torch.eye(4).double()))
        (torch.Size([3, 4, 4]), True)
    """

    def __init__(self, size: int | Tensor, *, columns: int | None = None, proper: bool = False) -> None:
        self.size = size if isinstance(size, Tensor) else whole_number("Orthogonal", "size", size, least=0, most=MOST)
        self.columns = None if columns is None else whole_number("Orthogonal", "columns", columns, least=1, most=MOST)
        self.proper = flag("Orthogonal", "proper", proper)
        sizes = self._sizes()
        if isinstance(size, Tensor) and size.dim() == 0:
            raise InputError("Orthogonal expects an int or sizes of shape (members,), got shape (). Hint: int(size)")
        whole = not sizes.is_floating_point() and not sizes.is_complex() and sizes.dtype != torch.bool
        if sizes.dim() > 1 or sizes.numel() == 0 or not whole or not 0 <= int(sizes.min()) <= int(sizes.max()) <= MOST:
            raise InputError(f"Orthogonal needs at least one size, whole numbers and none below 0, got {size}")
        self.width = self.columns or max(1, int(sizes.max()))
        self.height = max(int(sizes.max()), self.width)
        if isinstance(self.size, int) and self.columns is not None and self.columns > self.size:
            raise InputError(f"Frames in dimension {size} have at most {size} columns, got columns={columns}")
        if self.proper and self.columns is not None:
            raise InputError("Frames with fewer columns than n are proper already. Hint: leave out columns, or proper")

    def __repr__(self) -> str:
        n = self.size if isinstance(self.size, int) else f"{self.members} sizes up to {self.height}"
        frames = f", columns={self.columns}" if self.columns else ""
        return f"{'SpecialOrthogonal' if self.proper else 'Orthogonal'}({n}{frames})"

    @property
    def members(self) -> int | None:
        return None if isinstance(self.size, int) else int(self.size.shape[0])

    @property
    def diameter(self) -> float | Tensor:
        """The distance to -I, where every one of the n/2 planes has turned by pi."""
        planes = self._sizes().clamp(max=self.width).clamp(min=1) / 2
        scale = math.pi * planes.sqrt()
        return float(scale) if self.members is None else scale

    def select(self, owner: Tensor) -> "Orthogonal":
        if isinstance(self.size, int):
            return self
        chosen = Orthogonal(self.size[owner.to(self.size.device)], columns=self.columns, proper=self.proper)
        chosen.width, chosen.height = self.width, self.height
        return chosen

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        r"""Haar: the Q of a Gaussian, with the signs of diag(R) moved into it."""
        sizes, member = self._sizes().cpu().unique(return_inverse=True)
        seed = int(torch.randint(2**62, (), generator=generator))
        gaussians = [self._gaussian(count, int(n), torch.Generator().manual_seed(seed + int(n))) for n in sizes]
        u = positive_qr(torch.stack(gaussians, dim=1))
        if self.proper:
            u = _flip_first_column(u)
        u = u * self._column_mask(sizes)
        return u[:, member] if self.members is not None else u[:, 0]

    def project(self, u: Tensor) -> Tensor:
        """The polar factor; for SO(n) with the last singular direction turned if need be."""
        above = 1 + u.flatten(-2).norm(dim=-1)[..., None, None]  # the smallest singular value is then a member's own
        left, _, right = torch.linalg.svd(self._padded(u, above), full_matrices=False)
        if self.proper:
            sign = torch.linalg.det(left @ right).sign()
            left = torch.cat([left[..., :-1], left[..., -1:] * sign[..., None, None]], dim=-1)
        return self._masked(left @ right)

    def tangent(self, u: Tensor, v: Tensor) -> Tensor:
        r""":math:`V - U\,\mathrm{sym}(U^\top V)`."""
        w = u.mT @ v
        return self._zero_outside(v - u @ (w + w.mT) / 2)

    def retract(self, u: Tensor, v: Tensor) -> Tensor:
        return self._masked(positive_qr(self._padded(u + v)))

    def norm(self, v: Tensor) -> Tensor:
        return v.flatten(-2).norm(dim=-1) / math.sqrt(2)

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        r"""Geodesic, :math:`\|\log U^\top V\|_F/\sqrt2`, infinite between the two components of O(n).

        Geodesics of frames have no closed form; for them this is the chordal distance.
        """
        if self.columns is not None:
            return self.norm(u - v)
        relative = self._padded(u).mT @ self._padded(v)
        angles = torch.linalg.eigvals(relative.double()).angle().square().sum(-1)
        same = torch.linalg.det(relative.double()) > 0
        return torch.where(same, (angles / 2).sqrt(), torch.inf).to(u.dtype)

    def identity(self) -> Tensor:
        eye = torch.eye(self.height, self.width, dtype=torch.float64)
        return eye if self.members is None else self._masked(eye.expand(self.members or 0, -1, -1))

    def compose(self, u: Tensor, v: Tensor) -> Tensor:
        if self.columns is not None:
            return super().compose(u, v)
        return u @ v

    def mask(self) -> Tensor | None:
        if self.members is None:
            return None
        n = self._sizes()[:, None, None]
        rows, columns = torch.arange(self.height, device=n.device), torch.arange(self.width, device=n.device)
        return (rows[:, None] < n) & (columns < n)

    def _sizes(self) -> Tensor:
        return torch.as_tensor(self.size)

    def _gaussian(self, count: int, n: int, generator: torch.Generator) -> Tensor:
        """A Gaussian in the corner and ones on the rest of the diagonal: QR keeps the two blocks apart."""
        padded = torch.eye(self.height, self.width, dtype=torch.float64).repeat(count, 1, 1)
        width = min(n, self.width)
        padded[:, :n, :width] = torch.randn(count, n, width, generator=generator, dtype=torch.float64)
        return padded

    def _column_mask(self, sizes: Tensor) -> Tensor:
        """Frames narrower than J have no further columns; square matrices continue with the identity."""
        if self.columns is None:
            return torch.ones(())
        return (torch.arange(self.width, device=sizes.device) < sizes[:, None, None]).double()

    def _padded(self, u: Tensor, scale: float | Tensor = 1.0) -> Tensor:
        """Put the identity block outside the mask, so that decompositions act on the corner alone."""
        if u.shape[-2:] != (self.height, self.width):
            raise ShapeError(
                f"{self!r} expects matrices of shape (..., {self.height}, {self.width}), got {tuple(u.shape)}"
            )
        mask = self.mask()
        if mask is None:
            return u
        eye = torch.eye(self.height, self.width, dtype=u.dtype, device=u.device)
        return torch.where(mask.to(u.device), u, scale * eye)

    def _masked(self, u: Tensor) -> Tensor:
        return u if self.columns is None or self.members is None else u * self._column_mask(self._sizes()).to(u)

    def _zero_outside(self, v: Tensor) -> Tensor:
        mask = self.mask()
        return v if mask is None else v * mask.to(v)


def special_orthogonal(size: int | Tensor) -> Orthogonal:
    """SO(n), the orthogonal matrices of determinant one.

    Example:
        >>> torch.linalg.det(special_orthogonal(4).sample(3)).round().tolist()
        [1.0, 1.0, 1.0]
    """
    return Orthogonal(size, proper=True)


def positive_qr(x: Tensor) -> Tensor:
    """The orthonormal factor whose triangular partner has a positive diagonal; it is unique."""
    q, r = torch.linalg.qr(x)
    signs = r.diagonal(dim1=-2, dim2=-1).sign()
    return q * torch.where(signs == 0, 1, signs).unsqueeze(-2)


def _flip_first_column(u: Tensor) -> Tensor:
    sign = torch.linalg.det(u).sign()[..., None]
    return torch.cat([u[..., :1] * sign[..., None], u[..., 1:]], dim=-1)
