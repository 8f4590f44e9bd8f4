r"""Frames of a cloud with weights that change continuously, also where its principal axes are not determined.

Variances :math:`\lambda_1 \le \lambda_2 \le \lambda_3` have two gaps. With :math:`s_{12}` and :math:`s_{23}` in [0, 1],
0 where a gap vanishes and 1 where it is wide, the measure is a mixture of four parts:

- :math:`s_{12}s_{23}`: the 24 frames of the principal axes;
- :math:`(1 - s_{12})s_{23}` and :math:`s_{12}(1 - s_{23})`: turns about the one axis that is determined, each of which
  brings a point of the cloud into a fixed half-plane;
- :math:`(1 - s_{12})(1 - s_{23})`: frames of pairs of points.

Every part is continuous where its weight is positive. Points are weighted by how far out they are. The last of those
that are used has weight zero, so that nothing jumps where two points change places. Where too many points are
exactly alike, a fixed cover takes over, and the cloud counts as not determined.

Reference: weights that make frames continuous are from Dym, Lawrence & Siegel, "Equivariant Frames and the
Impossibility of Continuous Canonicalization", ICML 2024.
"""

import math

import torch
from torch import Tensor

from adacanon.points.frames import centred
from adacanon.spaces.so3 import rotation_group

WIDE = 0.02
"""Relative gap of two variances from which on their axes are taken as they are."""
CLOSED = 1e-4
"""Relative gap of two variances up to which their axes are not used: more than rounding in float32 makes."""
ON_CIRCLE, IN_SPACE, PAIRS = 16, 20, 128
"""Points that give turns about an axis, points that give pairs, and pairs of them that are used, at most."""
LEAST = 1e-3
"""Share of the largest weight that is taken from all weights: smaller ones are zero."""
ALIKE = 1e-3
"""Scores that differ by less than this share of the largest are taken to be alike."""
NOTHING = 1e-8
"""Mean squares that are smaller than this share of the whole are rounding."""

Part = tuple[Tensor, Tensor]
"""Frames (batch, count, 3, 3) and weights (batch, count)."""


@torch.no_grad()
def weighted_frames(points: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Rotations (batch, count, 3, 3), weights (batch, count) that sum to 1, and whether they follow from the clouds,
    (batch,). Of a cloud that needs fewer than ``count`` the last weights are zero, at copies of its first frame.

    Shape:
        points (batch, points, 3), mask (batch, points), True for real points

    Example:
        >>> corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
        >>> clouds = torch.stack([corners * torch.tensor([1.0, 2.0, 3.0]), corners])
        >>> frames, weights, determined = weighted_frames(clouds)
        >>> (weights > 0).sum(1), determined
        (tensor([24, 48]), tensor([True, True]))
    """
    x = centred(points, mask)
    variances, axes = torch.linalg.eigh(x.mT @ x)
    axes = (axes * torch.linalg.det(axes).sign()[:, None, None]).mT
    low, high = _wide(variances)
    parts = [_axes(axes, low * high), *_circle(x, axes[:, 2], axes[:, 0], (1 - low) * high)]
    parts += [*_circle(x, axes[:, 0], axes[:, 1], low * (1 - high)), *_space(x, (1 - low) * (1 - high))]
    frames, weights = (torch.cat(of_parts, 1) for of_parts in zip(*parts, strict=True))
    weights = (weights - LEAST * weights.amax(1, keepdim=True)).clamp(min=0)
    covers = torch.cat([torch.full_like(w[0], number in (2, 4, 6)) for number, (_, w) in enumerate(parts)])
    determined = (weights * covers).sum(1) == 0
    frames, weights = _compact(frames, weights / weights.sum(1, keepdim=True))
    return frames.to(points.dtype), weights.to(points.dtype), determined


def _wide(variances: Tensor) -> tuple[Tensor, Tensor]:
    """How far apart the first two and the last two variances (batch, 3) are, from 0 to 1, (batch,) each."""
    larger = variances[:, 1:] + 1e-6 * variances[:, 2:] + torch.finfo(variances.dtype).tiny
    t = (((variances[:, 1:] - variances[:, :-1]) / larger - CLOSED) / (WIDE - CLOSED)).clamp(0, 1)
    low, high = (t * t * (3 - 2 * t)).unbind(1)
    return low, high


def _axes(axes: Tensor, weight: Tensor) -> Part:
    frames = rotation_group("cube").to(axes) @ axes.unsqueeze(1)
    return frames, (weight / 24).unsqueeze(1).expand(-1, 24)


def _circle(x: Tensor, axis: Tensor, across: Tensor, weight: Tensor) -> tuple[Part, Part]:
    """Turns about an axis (batch, 3) that follow from points, and a cover that starts at a direction across it."""
    height = x @ axis.unsqueeze(2)
    flat = x - height * axis.unsqueeze(1)
    height = height.squeeze(2).square()
    real = x.abs().sum(2) > 0
    across_it, count = flat.square().sum(2), real.sum(1, keepdim=True).clamp(min=1)
    size = (height + across_it).sum(1, keepdim=True) / count
    mean = height.sum(1, keepdim=True) / count + NOTHING * size
    score = across_it * (1 + height / mean.clamp(min=torch.finfo(x.dtype).tiny))
    index, own = _outermost(score, ON_CIRCLE, NOTHING * size)
    chosen = torch.nn.functional.normalize(flat.gather(1, index.unsqueeze(2).expand(-1, -1, 3)), dim=2)
    angles = torch.arange(ON_CIRCLE, dtype=x.dtype, device=x.device) * 2 * math.pi / ON_CIRCLE
    other = torch.linalg.cross(axis, across)
    cover = angles.cos()[:, None] * across.unsqueeze(1) + angles.sin()[:, None] * other.unsqueeze(1)
    return _shared(_about(axis, chosen), own, _about(axis, cover), weight, copies=6)


def _about(axis: Tensor, directions: Tensor) -> Tensor:
    """Rotations (batch, 6 * count, 3, 3) that bring an axis (batch, 3) to a coordinate axis, with either sign, and a
    direction (batch, count, 3) across it to the next one.
    """
    signed = torch.stack([axis, -axis], 1).unsqueeze(2).expand(-1, -1, directions.shape[1], -1).flatten(1, 2)
    twice = directions.repeat(1, 2, 1)
    rows = torch.stack([twice, torch.linalg.cross(signed, twice), signed], 2)
    return torch.cat([rows.roll(places, 2) for places in range(3)], 1)


def _space(x: Tensor, weight: Tensor) -> tuple[Part, Part]:
    """Frames of pairs of points, and a cover of all rotations."""
    index, own = _outermost(x.norm(dim=2), IN_SPACE, 0.0)
    chosen = torch.nn.functional.normalize(x.gather(1, index.unsqueeze(2).expand(-1, -1, 3)), dim=2)
    cosine = chosen @ chosen.mT
    sine = (1 - cosine.square()).clamp(min=0)
    pairs = (
        own.unsqueeze(2) * own.unsqueeze(1) * sine * (1 + cosine)
    )  # the second factor tells acute angles from others
    index, own = _outermost(pairs.flatten(1), PAIRS, 0.0)
    first, second = index // chosen.shape[1], index % chosen.shape[1]
    a, b = (chosen.gather(1, i.unsqueeze(2).expand(-1, -1, 3)) for i in (first, second))
    b = torch.nn.functional.normalize(b - (a * b).sum(2, keepdim=True) * a, dim=2)
    frames = torch.stack([a, b, torch.linalg.cross(a, b)], 2)
    cover = rotation_group("icosahedron").to(x).expand(len(x), -1, -1, -1)
    return _shared(frames, own, cover, weight, copies=1)


def _outermost(score: Tensor, count: int, nothing: Tensor | float) -> tuple[Tensor, Tensor]:
    """The ``count`` largest scores of (batch, n): where they are, and how far they exceed the next one, from 0 to 1;
    scores up to ``nothing`` count little.
    """
    values, index = score.topk(min(count + 1, score.shape[1]), dim=1)
    next_one = values[:, count:] if values.shape[1] > count else torch.zeros_like(values[:, :1])
    values, index = values[:, :count], index[:, :count]
    spread = torch.maximum(values[:, :1] - next_one, ALIKE * values[:, :1]) + nothing
    spread = spread.clamp(min=torch.finfo(score.dtype).tiny)
    return index, ((values - next_one) / spread).clamp(0, 1)


def _shared(frames: Tensor, own: Tensor, cover: Tensor, weight: Tensor, *, copies: int) -> tuple[Part, Part]:
    """A weight (batch,) shared out by frames, as far as their own weights go, and a cover, which has the rest."""
    total = own.sum(1, keepdim=True)
    share = (2 * total).clamp(max=1)
    own = (own / total.clamp(min=torch.finfo(own.dtype).tiny) * share).repeat(1, copies) / copies
    rest = ((1 - share) / cover.shape[1]).expand(-1, cover.shape[1])
    return (frames, own * weight.unsqueeze(1)), (cover, rest * weight.unsqueeze(1))


def _compact(frames: Tensor, weights: Tensor) -> Part:
    """Only as many as the cloud of the most frames needs; those of positive weight first, in their order."""
    count = int((weights > 0).sum(1).max())
    order = (weights == 0).to(torch.int8).argsort(dim=1, stable=True)[:, :count]
    weights = weights.gather(1, order)
    frames = frames.gather(1, order[..., None, None].expand(-1, -1, 3, 3))
    return torch.where((weights > 0)[..., None, None], frames, frames[:, :1]), weights
