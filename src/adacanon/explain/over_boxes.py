"""The score over one or two numbers: curves over angles and intervals, a heat map over rectangles."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.explain.chart import Chart, range_in_words, svg_chart
from adacanon.explain.charts import Axis, Curve, around, curves, heat_map
from adacanon.explain.rotations import DEGREES
from adacanon.explain.scores import Scores
from adacanon.spaces.box import Box

ANGLES, STEPS, SIDE = 120, 80, 21


@dataclass(frozen=True)
class Line:
    """Transformations along a line.

    Attributes:
        u: (count, *point).
        x: the number of each that is drawn, (count,).
        marks: the numbers of the transformations that were chosen, (inputs, top).
        axis: of these numbers.
        what: they are, in words.
        ends: whether the first and the last one are told.
    """

    u: Tensor
    x: Tensor
    marks: Tensor
    axis: Axis
    what: str
    ends: bool


def over_angles(scores: Scores) -> list[list[Chart]]:
    """On a circle: a curve over the angle in degrees."""
    angles = torch.linspace(-math.pi, math.pi, ANGLES + 1, dtype=torch.float64)
    axis = Axis("angle", -180.0, 180.0, DEGREES)
    marks = torch.rad2deg(_chosen(scores))
    return _as_curves(scores, Line(angles, torch.rad2deg(angles), marks, axis, "the angle", ends=False))


def over_interval(scores: Scores) -> list[list[Chart]]:
    """On an interval: a curve over its only parameter."""
    space = scores.space
    assert isinstance(space, Box)
    x = torch.linspace(space.low[0], space.high[0], STEPS + 1, dtype=torch.float64)
    axis = Axis("parameter", space.low[0], space.high[0])
    return _as_curves(scores, Line(x.unsqueeze(1), x, _chosen(scores)[..., 0], axis, "the parameter", ends=True))


def over_rectangle(scores: Scores) -> list[list[Chart]]:
    """On a rectangle: a heat map over both parameters."""
    space = scores.space
    assert isinstance(space, Box)
    sides = list(zip(space.low, space.high, strict=True))
    across, up = (torch.linspace(a, b, SIDE, dtype=torch.float64) for a, b in sides)
    values = scores.at_shared(torch.cartesian_prod(up, across).flip(1)).unflatten(0, (SIDE, SIDE))
    axes = [Axis(f"parameter {n}", a, b) for n, (a, b) in enumerate(sides, start=1)]
    chosen = scores.chosen()[:, 0].tolist()
    return [[_heat_map(scores, i, values[..., i, 0], chosen[i], axes)] for i in range(len(chosen))]


def _chosen(scores: Scores) -> Tensor:
    """The transformations that were chosen, (inputs, top, *point)."""
    tops = range(scores.subject.leading.shape[1])
    return torch.stack([scores.subject.chosen(place).double().cpu() for place in tops], 1)


def _as_curves(scores: Scores, line: Line) -> list[list[Chart]]:
    values, chosen = scores.at_shared(line.u), scores.chosen()
    return [[_curves(scores, i, line, values[:, i], chosen[i])] for i in range(len(chosen))]


def _curves(scores: Scores, i: int, line: Line, values: Tensor, chosen: Tensor) -> Chart:
    """Of input number i, with values (count, top) and those of the chosen transformations (top,)."""
    subject, x = scores.subject, line.x.tolist()
    drawn = [
        Curve(
            subject.form_name(number),
            list(zip(x, values[:, t].tolist(), strict=True)),
            (float(line.marks[i, t]), float(chosen[t])),
        )
        for t, number in enumerate(subject.leading[i].tolist())
    ]
    left, right = scores.titles(line.u[[0, -1]].float(), i)
    said = (
        f"The score against {line.what}, a curve for each class shown; a dot is the transformation that was chosen. "
        f"{f'At the left: {left}; at the right: {right}. ' if line.ends else ''}"
        f"{range_in_words(values[:, 0], float(chosen[0]))}"
    )
    y = Axis("score", *around([*values.flatten().tolist(), *chosen.tolist()]))
    return svg_chart(f"Score over {line.what}", curves(drawn, line.axis, y, label=said), said)


def _heat_map(scores: Scores, i: int, values: Tensor, chosen: float, axes: list[Axis]) -> Chart:
    corners = torch.tensor([[axis.low for axis in axes], [axis.high for axis in axes]])
    lower, upper = scores.titles(corners, i)
    said = (
        f"The score of {scores.subject.led_by(i)} over both parameters; the dot is the transformation that was chosen. "
        f"Lower left corner: {lower}; upper right corner: {upper}. {range_in_words(values, chosen)}"
    )
    x, y = scores.subject.chosen(0)[i].tolist()
    markup = heat_map(values.tolist(), *axes, mark=(x, y), unit="score", label=said)
    return svg_chart("Score over both parameters", markup, said)
