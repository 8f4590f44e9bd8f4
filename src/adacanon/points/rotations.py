"""Rotations of point clouds (paper: section "Anisotropic Point Cloud Networks")."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.errors import ShapeError
from adacanon.spaces.so3 import SO3


@dataclass(frozen=True)
class Rotations(Family):
    r""":math:`\kappa_R(X) = XR^\top` for clouds X of shape (batch, points, 3), whose rows are points."""

    def prepare(self, g: Any) -> Tensor:
        if not isinstance(g, Tensor) or g.dim() != 3 or g.shape[-1] != 3:
            came = tuple(g.shape) if isinstance(g, Tensor) else type(g).__name__
            hint = ". Hint: move the coordinates last, points.mT" if isinstance(g, Tensor) and g.dim() == 3 else ""
            raise ShapeError(f"Rotations expects points of shape (batch, points, 3), got {came}{hint}")
        return g

    def space(self, g: Tensor) -> SO3:
        return SO3()

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return g[owner] @ u.mT

    def anchor(self, g: Tensor) -> Tensor:
        return principal_frames(g)


def principal_frames(points: Tensor) -> Tensor:
    """The rotations (batch, 4, 3, 3) that align a cloud with its principal axes, one per proper choice of signs."""
    centred = (points - points.mean(1, keepdim=True)).double()
    _, axes = torch.linalg.eigh(centred.mT @ centred)
    signs = torch.tensor([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=axes.dtype, device=axes.device)
    axes = axes * torch.linalg.det(axes).sign()[:, None, None]
    return (axes.unsqueeze(1) * signs[:, None, :]).mT.to(points.dtype)
