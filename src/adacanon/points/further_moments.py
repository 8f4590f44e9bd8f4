r"""Axes of clouds whose variances agree, from further moments: where an ellipsoid has no axes, a cloud may have some.

One axis is that of the variance which differs from the others; or, if all three agree, where the cloud has its mean,
where :math:`\sum_i |x_i|^2 x_i` points, an axis of :math:`\sum_i |x_i|^2 x_i x_i^\top`, or where
:math:`\sum_i \langle x_i, u\rangle^6` is largest. The second direction follows from the moments about this axis,
:math:`m_k = \sum_i w_i e^{ik\varphi_i}` with the angles :math:`\varphi_i` of the points: :math:`\arg(m_k)/k` is a
direction up to k-ths of a turn.

What a rotation that maps the cloud to itself makes of such axes gives the same forms, so that it does not matter which
of the k directions is taken if the cloud has that symmetry. With axes in any order and with any signs, quarter turns do
not matter either.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import normalize

PRESENT = 1e-3
"""Share of the largest possible value from which on a moment counts as one of the cloud, not of noise."""
BESIDE = 0.05
"""Share of the largest moment about an axis that another one needs to count."""
ORDERS = 128
"""The largest k: a cloud with more sides is as good as round."""
STARTS, STEPS = 16, 200
"""Points from which the sum of sixth powers is maximized, and steps of each."""
QUARTER_TURNS = (1, 2, 4)
"""Orders whose directions differ by quarter turns."""


class FurtherAxes(NamedTuple):
    """Axes of a cloud.

    Attributes:
        axes: a rotation (3, 3) whose rows they are.
        unique: whether they follow from the cloud, but for their order and signs.
        settled: whether they follow from it but for rotations that map the cloud to itself.
    """

    axes: Tensor
    unique: bool
    settled: bool


def further_axes(x: Tensor, mean: Tensor, axes: Tensor, *, first: bool, last: bool) -> FurtherAxes:
    """Axes of one cloud.

    Args:
        x: the points around their mean, (points, 3); padding is zero.
        mean: where that is, (3,): rotations are about the origin.
        axes: principal axes as rows, the one of the largest variance last.
        first: whether the two smallest variances agree.
        last: whether the two largest do.

    Example:
        >>> square = torch.tensor([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
        >>> found = further_axes(square, torch.zeros(3), torch.eye(3)[[2, 0, 1]], first=False, last=True)
        >>> found.axes[0].tolist(), found.axes.abs().round().sum(0).tolist(), found.unique
        ([0.0, 0.0, 1.0], [1.0, 1.0, 1.0], True)
    """
    isolated = axes[2] if first else axes[0]
    axis, one = _axis(x, mean) if first and last else (isolated, True)
    across, unique, settled = _across(x, mean, axis)
    return FurtherAxes(torch.stack([axis, across, torch.linalg.cross(axis, across)]), one and unique, settled)


def _axis(x: Tensor, mean: Tensor) -> tuple[Tensor, bool]:
    """An axis of a cloud with equal variances, (3,), and whether there is one only."""
    squares = x.square().sum(1, keepdim=True)
    size = float(squares.sum() / (squares > 0).sum().clamp(min=1)) ** 0.5
    if float(mean.norm()) > PRESENT * size:
        return normalize(mean, dim=0), True
    cubic = (squares * x).sum(0)
    if float(cubic.norm()) > PRESENT * float(squares.pow(1.5).sum()):
        return normalize(cubic, dim=0), True
    values, axes = torch.linalg.eigh((squares * x).mT @ x)
    gaps = values.diff()
    if float(gaps.max()) > PRESENT * float(values[2]):
        return axes[:, 2 if gaps[1] > gaps[0] else 0], True
    return _largest_sixth_powers(x), False


def _largest_sixth_powers(x: Tensor) -> Tensor:
    r"""The direction u of the largest :math:`\sum_i \langle x_i, u\rangle^6`, by steps that never make it smaller."""
    directions = normalize(x[x.square().sum(1) > 0], dim=1)
    if not len(directions):
        return torch.eye(3, dtype=x.dtype, device=x.device)[2]
    values = (directions @ x.mT).pow(6).sum(1)
    u = directions[values.topk(min(STARTS, len(values))).indices]
    for _ in range(STEPS):
        u = normalize((u @ x.mT).pow(5) @ x, dim=1)
    return u[(u @ x.mT).pow(6).sum(1).argmax()]


def _across(x: Tensor, mean: Tensor, axis: Tensor) -> tuple[Tensor, bool, bool]:
    """A direction across an axis, (3,), whether it follows from the cloud but for quarter turns, and whether it does
    but for symmetries of the cloud.
    """
    plane = torch.linalg.qr(axis.unsqueeze(1), mode="complete").Q[:, 1:]
    plane = plane if float(torch.linalg.det(torch.cat([plane, axis.unsqueeze(1)], 1))) > 0 else plane.flip(1)
    angle, unique, settled = _angle(x @ plane, x @ axis, mean @ plane, float(mean @ axis))
    return plane @ torch.tensor([math.cos(angle), math.sin(angle)], dtype=x.dtype, device=x.device), unique, settled


def _angle(flat: Tensor, height: Tensor, mean: Tensor, mean_height: float) -> tuple[float, bool, bool]:
    """The same as an angle, from the points (points, 2) along the axis, their heights and where their mean is; the axis
    has a sign if the mean is on one side.
    """
    squares, heights = flat.square().sum(1), height.square()
    size = float((squares + heights).sum() / ((squares + heights) > 0).sum().clamp(min=1)) ** 0.5
    if float(mean.norm()) > PRESENT * size:
        return math.atan2(float(mean[1]), float(mean[0])), True, True
    unit = float(heights.mean().clamp(min=PRESENT * size**2 + torch.finfo(flat.dtype).tiny))
    sign = math.copysign(abs(mean_height) > PRESENT * size, mean_height)
    weights = squares * (1 + sign * height / unit**0.5 + heights / unit)
    if float(weights.sum()) <= PRESENT**2 * size**2:  # all of it lies on the axis
        return 0.0, False, True
    orders = torch.arange(1, ORDERS + 1, dtype=flat.dtype, device=flat.device)
    turns = torch.exp(1j * orders.unsqueeze(1) * torch.atan2(flat[:, 1], flat[:, 0]))
    moments = (turns * weights).sum(1) / weights.sum()
    return _direction_of(orders, moments)


def _direction_of(orders: Tensor, moments: Tensor) -> tuple[float, bool, bool]:
    """The angle that the moments of these orders give, and the same two flags."""
    largest = float(moments.abs().max())
    if largest <= PRESENT:
        return 0.0, False, True  # round
    strong = orders[moments.abs() > BESIDE * largest].int().tolist()
    order = next((k for k in QUARTER_TURNS if k in strong), strong[0])
    present = moments.abs() > PRESENT * largest
    symmetry = math.gcd(*orders[present].int().tolist())
    choices = torch.arange(order // symmetry, device=orders.device)  # the others differ by a symmetry of the cloud
    angles = (moments[order - 1].angle() + 2 * math.pi * choices) / order
    unique = symmetry in QUARTER_TURNS
    if order in QUARTER_TURNS or len(choices) == 1:
        return float(angles[0]), unique, True
    values = (torch.exp(-1j * angles.unsqueeze(1) * orders[present]) * moments[present]).real.sum(1)
    best, second = values.topk(2).values.tolist()
    settled = best - second > PRESENT * largest
    return float(angles[values.argmax()]), unique and settled, settled
