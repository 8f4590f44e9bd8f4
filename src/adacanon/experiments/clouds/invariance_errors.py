"""Two errors of a network that should not see rotations: predictions that a rotation changes, and jumps along a path of
shapes on which principal axes change places.
"""

import math
import warnings

import torch
from torch import Tensor, nn

from adacanon.errors import UndeterminedWarning
from adacanon.experiments.clouds.rotated_clouds import randomly_rotated
from adacanon.points.frames import centred, principal_axes
from adacanon.training.smoke import at_most

FEW = 4
"""Clouds that a smoke run turns: its one evaluation batch is over by then."""


@torch.no_grad()
def scored(module: nn.Module, points: Tensor, *, batch: int) -> Tensor:
    """Scores of clouds in evaluation mode, (clouds, classes)."""
    module.eval()
    return torch.cat([module(rows) for rows in points.split(batch)])


def scored_on(module: nn.Module, paths: Tensor, *, batch: int) -> Tensor:
    """Scores along paths: (paths, steps, points, 3) -> (paths, steps, classes).

    A cloud where two variances meet has no axes of its own, which is what such a path is about: nothing warns of it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeterminedWarning)
        return scored(module, paths.flatten(0, 1), batch=batch).unflatten(0, paths.shape[:2])


def invariance_errors(module: nn.Module, points: Tensor, scores: Tensor, *, seed: int, batch: int) -> dict[str, float]:
    """What another rotation does to the scores of some clouds; in a smoke run, of a few of them.

    Returns:
        "changed", the share of predictions in percent that it changes, and "moved", the mean change of a score, in
        units of the deviation of scores between clouds.
    """
    generator = torch.Generator().manual_seed(seed + 1)
    count = at_most(len(points), FEW)
    points, scores = points[:count], scores[:count]
    again = scored(module, randomly_rotated(points, generator), batch=batch)
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    return {
        "changed": 100 * float((again.argmax(1) != scores.argmax(1)).double().mean()),
        "moved": float((again - scores).abs().mean()) / unit,
    }


def crossing_paths(points: Tensor, steps: int, *, tilt: float = 0.0) -> Tensor:
    r"""Clouds :math:`X_t, t \in [0, 1]`, that shrink along their longest principal axis until, half way, its variance
    is that of the second one, and then as much again, but at most half the way to the third one; all in the pose of
    :math:`X_0` and in the unit ball.

    Args:
        points: the clouds :math:`X_0`.
        steps: clouds on each path.
        tilt: degrees by which the direction of shrinking differs from the longest axis, towards the second one. The
            variances then come near each other and do not meet: the axes turn by a right angle in a short time.

    Shape:
        (clouds, points, 3) -> (clouds, steps, points, 3)
    """
    axes = principal_axes(points)
    x = centred(points) @ axes.mT
    variances = x.square().mean(1).clamp(min=1e-12)
    third, second = (variances[:, :2] / variances[:, 2:]).sqrt().unbind(1)
    after = torch.maximum(second, (third / second).sqrt())
    t = 2 * torch.linspace(0, 1, steps, dtype=x.dtype)
    shrinking = second[:, None] ** t.clamp(max=1) * after[:, None] ** (t - 1).clamp(min=0)
    along = torch.tensor([0.0, math.sin(math.radians(tilt)), math.cos(math.radians(tilt))], dtype=x.dtype)
    maps = torch.eye(3, dtype=x.dtype) + (shrinking - 1)[..., None, None] * torch.outer(along, along)
    deformed = x.unsqueeze(1) @ maps @ axes.unsqueeze(1)
    radius = deformed.norm(dim=3).amax(2)[..., None, None].clamp(min=1e-12)
    return (deformed / radius).to(points.dtype)


def largest_jumps(scores: Tensor) -> Tensor:
    """The largest change of a score between neighbours on a path: (paths, steps, classes) -> (paths,)."""
    return scores.diff(dim=1).abs().amax((1, 2))
