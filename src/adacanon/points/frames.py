"""Principal axes of clouds."""

from typing import NamedTuple

import torch
from torch import Tensor

from adacanon.points.further_moments import further_axes
from adacanon.points.jacobi import proper_eigenvectors

ROUNDINGS = 4
"""Units of rounding, of the farthest point's size, by which coordinates may be wrong: those of a cloud that was turned
in its own precision are wrong by less than one on average.
"""

AGREE = 8 * ROUNDINGS
"""Units of rounding up to which two variances are taken to agree: it would turn their axes by an eighth of a radian at
worst, and by a hundredth as a rule. In float32 it is a relative difference of about 1e-5.
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


class SettledAxes(NamedTuple):
    """Axes of clouds.

    Attributes:
        axes: rotations (batch, 3, 3) in float64 whose rows they are.
        unique: whether they follow from the cloud, but for their order and signs, (batch,).
        settled: whether they do but for rotations that map the cloud to itself, (batch,): forms of the same points.
    """

    axes: Tensor
    unique: Tensor
    settled: Tensor


@torch.no_grad()
def settled_axes(points: Tensor, mask: Tensor | None = None) -> SettledAxes:
    """:func:`principal_axes`, and where variances agree axes from further moments
    (:func:`~adacanon.points.further_moments.further_axes`).

    Shape:
        points (batch, points, 3), mask (batch, points), True for real points

    Example:
        >>> corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
        >>> found = settled_axes(torch.stack([corners, corners * torch.tensor([1.0, 2.0, 3.0])]))
        >>> found.unique.tolist(), found.settled.tolist()
        ([False, True], [True, True])
    """
    axes = principal_axes(points, mask)
    unique = torch.ones(len(points), dtype=torch.bool, device=points.device)
    settled = unique.clone()
    agree = ~variances_differ(points, mask, roundings=AGREE)
    for i in agree.any(1).nonzero().flatten().tolist():
        own = None if mask is None else mask[i : i + 1]
        x, (first, last) = centred(points[i : i + 1], own)[0], agree[i].tolist()
        axes[i], unique[i], settled[i] = further_axes(x, _mean(points[i], own), axes[i], first=first, last=last)
    return SettledAxes(axes, unique, settled)


def _mean(points: Tensor, mask: Tensor | None) -> Tensor:
    """Where a cloud (points, 3) is, (3,)."""
    return (points if mask is None else points[mask[0]]).double().mean(0)


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
    return variances_differ(points, mask).all(1)


@torch.no_grad()
def variances_differ(points: Tensor, mask: Tensor | None = None, *, roundings: int = ROUNDINGS) -> Tensor:
    """Whether the smaller two and the larger two variances differ by more than rounding explains, (batch, 2)."""
    x = centred(points, mask)
    variances = torch.linalg.eigvalsh(x.mT @ x)
    return differ(variances[:, :-1], variances[:, 1:], points, mask, roundings=roundings)


def differ(
    smaller: Tensor, larger: Tensor, points: Tensor, mask: Tensor | None = None, *, roundings: int = ROUNDINGS
) -> Tensor:
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
    error = roundings * torch.finfo(points.dtype).eps * root * farthest
    of_sums = 2 * roundings * torch.finfo(torch.float64).eps * root * larger.amax(1, keepdim=True)
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
