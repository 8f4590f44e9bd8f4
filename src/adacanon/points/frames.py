"""Principal axes of clouds."""

import torch
from torch import Tensor


@torch.no_grad()
def principal_axes(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """Rotations in float64 whose rows are the principal axes of the clouds, the one of the largest variance last.

    Where two variances agree, the axes are those that the eigensolver returns. They are not differentiated.

    Shape:
        points (batch, points, 3), mask (batch, points), True for real points -> (batch, 3, 3)
    """
    x = centred(points, mask)
    _, axes = torch.linalg.eigh(x.mT @ x)
    return (axes * torch.linalg.det(axes).sign()[:, None, None]).mT


def principal_frames(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """The rotations (batch, 4, 3, 3) that align a cloud with its principal axes, one per proper choice of signs."""
    axes = principal_axes(points, mask)
    signs = axes.new_tensor([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    return (signs[:, :, None] * axes.unsqueeze(1)).to(points.dtype)


def centred(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """Clouds in float64 around their centroids; padding is zero."""
    x = points.double()
    if mask is None:
        return x - x.mean(1, keepdim=True)
    x = x.masked_fill(~mask[..., None], 0)
    return (x - x.sum(1, keepdim=True) / mask.sum(1)[:, None, None]).masked_fill(~mask[..., None], 0)
