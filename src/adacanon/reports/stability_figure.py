"""The distance between the canonical rotations of consecutive epochs, over epochs."""

from collections.abc import Mapping
from typing import Any

from adacanon.reports.pictures import figure_bytes, new_figure, open_frame
from adacanon.reports.summary import Cell

COLOUR = "#c2410c"


def draw(curve: Mapping[int, Cell], *, at_random: float) -> bytes:
    """A PNG with the mean distances in degrees.

    Args:
        curve: epoch -> cell, with the standard error over seeds where there are several.
        at_random: the distance of independent random rotations, which is marked.
    """
    figure = new_figure(5.2, 3.2)
    axis: Any = figure.subplots()
    epochs = sorted(curve)
    means = [curve[epoch].mean for epoch in epochs]
    errors = [curve[epoch].sem or 0.0 for epoch in epochs]
    axis.axhline(at_random, color="black", linestyle=":", linewidth=1, label="independent random rotations")
    axis.errorbar(epochs, means, yerr=errors, color=COLOUR, marker="o", markersize=4, capsize=3, label="AC-PointNet")
    axis.set_xlabel("epoch")
    axis.set_ylabel("degrees from the epoch before")
    axis.set_ylim(0, 1.35 * at_random)
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(loc="upper right", fontsize=8, frameon=False)
    open_frame(axis)
    return figure_bytes(figure)
