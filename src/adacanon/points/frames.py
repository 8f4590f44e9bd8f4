"""Principal axes of clouds."""

import torch
from torch import Tensor

from adacanon.points.jacobi import proper_eigenvectors

ROUNDINGS = 4
"""Units of rounding, of the farthest point's size, by which coordinates may be wrong: those of a cloud that was turned
in its own precision are wrong by less than one on average.
"""


@torch.no_grad()
def principal_axes(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """Rotations in float64 whose rows are the principal axes of the clouds, the one of the largest variance last.

    Where two variances agree, the axes are those that the eigensolver returns. They are not differentiated.

    Shape:
        points (batch, points, 3), mask (batch, points), True for real points -> (batch, 3, 3)
    """
    x = centred(points, mask)
    if torch.compiler.is_exporting():
        return proper_eigenvectors(x.mT @ x).mT
    _, axes = torch.linalg.eigh(x.mT @ x)
    return (axes * torch.linalg.det(axes).sign()[:, None, None]).mT


@torch.no_grad()
def axes_determined(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """Whether the principal axes follow from the cloud: no two variances agree to within rounding of its coordinates.

    Symmetric shapes (a cube, a table with a square top), points on a line and repetitions of one point have axes that
    the eigensolver chooses.

    Shape:
        points (batch, points, 3), mask (batch, points), True for real points -> (batch,)

    Example:
        >>> corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
        >>> axes_determined(torch.stack([corners, corners * torch.tensor([1.0, 2.0, 3.0])]))
        tensor([False,  True])
    """
    x = centred(points, mask)
    variances = torch.linalg.eigvalsh(x.mT @ x)
    return differ(variances[:, :-1], variances[:, 1:], points, mask).all(1)


def differ(smaller: Tensor, larger: Tensor, points: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Whether variances differ by more than rounding of the coordinates explains, (batch, pairs).

    They are sums of squares, :math:`\sigma^2` with a singular value :math:`\sigma` of the centred cloud. Errors D of
    the coordinates move singular values by :math:`\|D\|` at most, and variances by :math:`2\sigma\|D\| + \|D\|^2`. To
    this comes the rounding of the sums themselves, in float64.

    Shape:
        smaller, larger (batch, pairs), points (batch, points, 3), mask (batch, points) -> (batch, pairs)
    """
    real = torch.ones_like(points[..., 0], dtype=torch.bool) if mask is None else mask
    root = real.sum(1, keepdim=True).double().sqrt()
    farthest = points.double().norm(dim=2).masked_fill(~real, 0).amax(1, keepdim=True)
    error = ROUNDINGS * torch.finfo(points.dtype).eps * root * farthest
    of_sums = 8 * torch.finfo(torch.float64).eps * root * larger.amax(1, keepdim=True)
    return larger - smaller > 2 * error * larger.clamp(min=0).sqrt() + error.square() + of_sums


def principal_frames(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """The rotations (batch, 4, 3, 3) that align a cloud with its principal axes, one per proper choice of signs.

    Example:
        >>> frames = principal_frames(torch.randn(5, 100, 3))
        >>> frames.shape, bool((torch.linalg.det(frames) > 0.99).all())
        (torch.Size([5, 4, 3, 3]), True)
    """
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
