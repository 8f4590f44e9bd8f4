"""Principal axes of clouds."""

from itertools import permutations

import torch
from torch import Tensor

SIGNS = torch.diag_embed(torch.tensor([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]))
"""The diagonal rotations."""

ORDERS = torch.stack([m * torch.linalg.det(m).round() for m in torch.eye(3)[torch.tensor([*permutations(range(3))])]])
"""The six permutations of the axes, odd ones with all signs changed, so that they are rotations."""


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
    return (SIGNS.to(axes) @ axes.unsqueeze(1)).to(points.dtype)


def axis_frames(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """The rotations (batch, 24, 3, 3) that align a cloud with its principal axes in any order and with any signs.

    As a set they do not depend on which axis is the longest. Where two variances cross, the axes change places, which
    permutes the set; along a path that passes through a crossing with a speed it is therefore continuous, while each of
    its elements jumps. Where two variances are equal, the set is what the eigensolver makes it. The first four are the
    :func:`principal_frames`.
    """
    axes = principal_axes(points, mask)
    reordered = ORDERS.to(axes).unsqueeze(1) @ SIGNS.to(axes)
    return (reordered.flatten(0, 1) @ axes.unsqueeze(1)).to(points.dtype)


def centred(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """Clouds in float64 around their centroids; padding is zero."""
    x = points.double()
    if mask is None:
        return x - x.mean(1, keepdim=True)
    x = x.masked_fill(~mask[..., None], 0)
    return (x - x.sum(1, keepdim=True) / mask.sum(1)[:, None, None]).masked_fill(~mask[..., None], 0)
