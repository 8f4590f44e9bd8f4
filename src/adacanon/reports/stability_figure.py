"""The distance between the canonical rotations of consecutive epochs, over epochs."""

import io
from collections.abc import Mapping

from adacanon.reports.summary import Cell

COLOUR = "#c2410c"


def draw(curve: Mapping[int, Cell], *, at_random: float) -> bytes:
    """A PNG with the mean distances in degrees.

    Args:
        curve: epoch -> cell, with the standard error over seeds where there are several.
        at_random: the distance of independent random rotations, which is marked.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(5.2, 3.2), layout="constrained")
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
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    pyplot.close(figure)
    return buffer.getvalue()
