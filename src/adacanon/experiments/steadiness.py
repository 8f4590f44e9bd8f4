"""Two errors of a network that should not see rotations: predictions that a rotation changes, and jumps along a path of
shapes on which principal axes change places.
"""

import torch
from torch import Tensor, nn

from adacanon.experiments.posed_clouds import turned
from adacanon.points.frames import centred, principal_axes

PATHS, STEPS = 8, 64
"""Shapes that are deformed, and clouds on the way of each."""


@torch.no_grad()
def scored(module: nn.Module, points: Tensor, *, batch: int) -> Tensor:
    """Scores of clouds in evaluation mode, (clouds, classes)."""
    module.eval()
    return torch.cat([module(rows) for rows in points.split(batch)])


def steadiness(module: nn.Module, points: Tensor, scores: Tensor, *, seed: int, batch: int) -> dict[str, float]:
    """What another rotation and small deformations do to the scores of some clouds.

    Returns:
        "changed", the share of predictions in percent that another rotation changes, "moved", the mean change of a
        score by it, and "jump", the mean over some paths of their largest jump; the last two in units of the deviation
        of scores between clouds.
    """
    generator = torch.Generator().manual_seed(seed + 1)
    again = scored(module, turned(points, generator), batch=batch)
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    on_the_way = scored(module, crossing_paths(points[:PATHS], STEPS).flatten(0, 1), batch=batch)
    return {
        "changed": 100 * float((again.argmax(1) != scores.argmax(1)).double().mean()),
        "moved": float((again - scores).abs().mean()) / unit,
        "jump": float(largest_jumps(on_the_way.unflatten(0, (-1, STEPS))).mean()) / unit,
    }


def crossing_paths(points: Tensor, steps: int) -> Tensor:
    r"""Clouds :math:`X_t, t \in [0, 1]`, that shrink along their longest principal axis until, half way, its variance
    is that of the second one, and as much again; all in the pose of :math:`X_0` and in the unit ball.

    Shape:
        (clouds, points, 3) -> (clouds, steps, points, 3)
    """
    axes = principal_axes(points)
    x = centred(points) @ axes.mT
    variances = x.square().mean(1).clamp(min=1e-12)
    ratio = (variances[:, 1] / variances[:, 2]).sqrt()
    t = torch.linspace(0, 1, steps, dtype=x.dtype)
    scales = torch.ones(len(x), steps, 1, 3, dtype=x.dtype)
    scales[:, :, 0, 2] = ratio[:, None] ** (2 * t)
    deformed = (x.unsqueeze(1) * scales) @ axes.unsqueeze(1)
    radius = deformed.norm(dim=3).amax(2)[..., None, None].clamp(min=1e-12)
    return (deformed / radius).to(points.dtype)


def largest_jumps(scores: Tensor) -> Tensor:
    """The largest change of a score between neighbours on a path: (paths, steps, classes) -> (paths,)."""
    return scores.diff(dim=1).abs().amax((1, 2))
