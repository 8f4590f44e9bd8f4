"""Scores along a path of shapes, one panel for each method."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from adacanon.reports.pictures import figure_bytes, new_figure, open_frame


def draw(curves: Mapping[str, Tensor], *, crossing: float = 0.5) -> bytes:
    """A PNG with the scores (steps, classes) of every method; where two principal axes cross is marked.

    Steps are drawn as they are, without a line over a jump: points that are close look like a line, a jump is a gap.
    """
    columns = math.isqrt(len(curves) - 1) + 1
    rows = -(-len(curves) // columns)
    figure = new_figure(2.9 * columns, 2.4 * rows)
    axes = figure.subplots(rows, columns, sharex=True, squeeze=False)
    for axis in axes.flatten()[len(curves) :]:
        axis.set_axis_off()
    for axis, (name, scores) in zip(axes.flatten(), curves.items(), strict=False):
        t = torch.linspace(0, 1, len(scores))
        axis.axvline(crossing, color="#d8dee6", linewidth=3, zorder=0)
        axis.plot(t, scores, linestyle="", marker=".", markersize=1.8)
        jump = float(scores.diff(dim=0).abs().max()) if len(scores) > 1 else 0.0
        axis.set_title(f"{name}\nlargest jump {jump:.2f}", fontsize=8.5)
        axis.tick_params(labelsize=7)
        open_frame(axis)
    figure.supxlabel("along the path; grey: the two longest principal axes are equal", fontsize=8.5)
    figure.supylabel("scores, in units of their deviation", fontsize=8.5)
    return figure_bytes(figure)
