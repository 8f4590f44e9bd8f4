"""The score over rotations of space: a globe of directions, and curves for turning on from the chosen pose."""

import math

import torch
from torch import Tensor

from adacanon.core.pictures import Points
from adacanon.core.space import Space
from adacanon.explain.chart import Chart, range_in_words, svg_chart
from adacanon.explain.charts import Axis, Curve, around, curves
from adacanon.explain.drawn import GREY, Clouds, Drawn, centred, shades
from adacanon.explain.scores import Scores
from adacanon.spaces.orthogonal import Orthogonal
from adacanon.spaces.so3 import SO3

DIRECTIONS, SPINS, STEPS = 96, 6, 36
INSIDE = 0.6
"""The size of the cloud in its globe."""
AXES = ("the axis to the right", "the upright axis", "the axis to the front")
DEGREES = tuple((float(d), f"{d}°") for d in (-180, -90, 0, 90, 180))
MIRROR = torch.diag(torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64))
"""It leaves what points up as it is."""
RED = 3
"""The class whose colour the chosen direction has."""


def is_rotations(space: Space) -> bool:
    """Whether points are orthogonal matrices (3, 3)."""
    if isinstance(space, Orthogonal):
        return isinstance(space.size, int) and space.size == 3 and space.columns is None
    return isinstance(space, SO3)


def over_rotations(scores: Scores, clouds: Clouds) -> list[list[Chart]]:
    """For every input a globe, and the curves."""
    globes, turns = _globes(scores, clouds), _turning_on(scores)
    return [[*globe, turn] for globe, turn in zip(globes, turns, strict=True)]


def sphere(count: int) -> Tensor:
    """Evenly spread directions (count, 3), from bottom to top on a spiral.

    Example:
        >>> bool(torch.allclose(sphere(50).norm(dim=1), torch.ones(50).double()))
        True
    """
    n = torch.arange(count, dtype=torch.float64)
    y = (2 * n + 1) / count - 1
    angle = n * math.pi * (3 - math.sqrt(5))
    return torch.stack([angle.cos() * (1 - y * y).sqrt(), y, angle.sin() * (1 - y * y).sqrt()], 1)


def poses_upright(directions: Tensor, spins: int) -> Tensor:
    """Rotations (directions, spins, 3, 3) that turn each direction (n, 3) upwards, to y, in steps about the upright.

    Example:
        >>> poses_upright(sphere(5), 2).shape
        torch.Size([5, 2, 3, 3])
    """
    helper = torch.eye(3, dtype=directions.dtype)[directions.abs().argmin(1)]
    right = torch.linalg.cross(directions, helper)
    right = right / right.norm(dim=1, keepdim=True)
    upright = torch.stack([right, directions, torch.linalg.cross(right, directions)], 1)
    angles = 2 * math.pi * torch.arange(spins, dtype=directions.dtype) / spins
    return about(1, angles) @ upright.unsqueeze(1)


def about(axis: int, angles: Tensor) -> Tensor:
    """Rotations (n, 3, 3) by angles (n,) about one of the axes x, y, z.

    Example:
        >>> about(2, torch.tensor([math.pi / 2])).round().int().tolist()
        [[[0, -1, 0], [1, 0, 0], [0, 0, 1]]]
    """
    generator = torch.zeros(3, 3, dtype=angles.dtype)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    generator[second, first], generator[first, second] = 1.0, -1.0
    return torch.linalg.matrix_exp(angles[:, None, None] * generator)


def _globes(scores: Scores, clouds: Clouds) -> list[list[Chart]]:
    poses, kinds = poses_upright(sphere(DIRECTIONS), SPINS), f"{SPINS} turns about the upright"
    if isinstance(scores.space, Orthogonal) and not scores.space.proper:
        poses, kinds = torch.cat([poses, MIRROR @ poses], 1), f"{kinds} and their mirror images"
    values = scores.at_shared(poses.flatten(0, 1))[..., 0].unflatten(0, poses.shape[:2]).amax(1)
    chosen = scores.chosen()[:, 0].tolist()
    said = [
        f"Every dot of the globe is a direction of the input. Its colour is the best score of "
        f"{scores.subject.led_by(i)} when the input is turned so that this direction points up, among {kinds}: dark is "
        f"low, yellow is high. The line shows which direction points up in the chosen form. "
        f"{range_in_words(values[:, i], chosen[i])}"
        for i in range(len(chosen))
    ]
    return [_globe(scores, i, values[:, i], words, clouds) for i, words in enumerate(said)]


def _globe(scores: Scores, i: int, values: Tensor, said: str, clouds: Clouds) -> list[Chart]:
    """The input in a globe of coloured directions; nothing if it is not drawn as a cloud."""
    cloud = scores.subject.found.family.picture(scores.subject.row(i))
    if not isinstance(cloud, Points):
        return []
    up = scores.subject.chosen(0)[i, 1].double().cpu()  # what the chosen pose turns to y
    inside, _ = centred(cloud)
    inside = INSIDE * inside / inside.norm(dim=1).max().clamp(min=1e-12)
    colours = torch.cat([shades(values), torch.full((len(inside),), GREY)])
    points = torch.cat([0.97 * sphere(DIRECTIONS), inside])
    number = clouds.add(points, colours, [(torch.zeros(3), up, RED)], large=DIRECTIONS)
    return [Chart("Score by the direction that points up", Drawn("cloud", number, said), said)]


def _turning_on(scores: Scores) -> list[Chart]:
    chosen = scores.chosen()[:, 0].tolist()
    angles = torch.linspace(-math.pi, math.pi, STEPS + 1, dtype=torch.float64)
    turns = torch.cat([about(axis, angles) for axis in range(3)])
    values = scores.at(turns.unsqueeze(1) @ scores.subject.chosen(0).double().cpu())[..., 0].unflatten(0, (3, -1))
    degrees = torch.rad2deg(angles).tolist()
    return [_turned_on(scores.subject.led_by(i), degrees, values[..., i], value) for i, value in enumerate(chosen)]


def _turned_on(name: str, degrees: list[float], values: Tensor, chosen: float) -> Chart:
    """Curves of values (3, angles), one for each axis."""
    named = zip(AXES, values.tolist(), strict=True)
    lines = [Curve(f"about {axis}", list(zip(degrees, line, strict=True))) for axis, line in named]
    said = (
        f"The score of {name} when its chosen form is turned on about each of the three axes of the picture. "
        f"{range_in_words(values, chosen)}"
    )
    x = Axis("turned on from the chosen form by", -180.0, 180.0, DEGREES)
    y = Axis("score", *around(values.flatten().tolist()))
    return svg_chart("Score when the chosen form is turned on", curves(lines, x, y, label=said), said)
