"""A-NLSF's transformation family written down from the paper: whole orthogonal matrices on whole coefficients."""

from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core import Family
from adacanon.spaces import Orthogonal, Product


@dataclass(frozen=True)
class FullBandRotations(Family):
    """P_k(U_kᵀ C_k) with U_k in O(M_k); an input is a tuple (padded coefficients (batch, bands, M, T), sizes)."""

    rows: int

    def space(self, g: tuple[Tensor, Tensor]) -> Product:
        return Product(*(Orthogonal(sizes) for sizes in g[1].T))

    def transform(self, g: tuple[Tensor, Tensor], u: tuple[Tensor, ...], owner: Tensor) -> Tensor:
        parts = []
        for k, rotation in enumerate(u):
            size = rotation.shape[-1]
            rotated = rotation.mT @ g[0][owner, k, :size]
            parts.append(pad_or_truncate(rotated, self.rows))
        return torch.cat(parts, dim=1)


def pad_or_truncate(c: Tensor, rows: int) -> Tensor:
    """The paper's operator P_k on the rows of (..., M, T)."""
    missing = rows - c.shape[-2]
    if missing <= 0:
        return c[..., :rows, :]
    return torch.cat([c, c.new_zeros(*c.shape[:-2], missing, c.shape[-1])], dim=-2)
