"""Accuracy after every epoch: one panel for each method, one line for each length of the training."""

from collections.abc import Mapping
from typing import Any

from adacanon.reports.pictures import figure_bytes, new_figure, open_frame

COLOURS = ("#1d4ed8", "#c2410c", "#15803d")


def draw(curves: Mapping[str, Mapping[str, Mapping[int, float]]]) -> bytes:
    """A PNG with the accuracy in percent over epochs.

    Args:
        curves: method -> name of a training -> epoch -> accuracy.
    """
    figure = new_figure(2.6 * len(curves) + 0.6, 2.8)
    axes: Any = figure.subplots(1, len(curves), squeeze=False, sharey=True)[0]
    for axis, (method, trainings) in zip(axes, curves.items(), strict=True):
        axis.set_title(method, fontsize=9)
        for (name, course), colour in zip(sorted(trainings.items(), key=_length), COLOURS, strict=False):
            epochs = sorted(course)
            accuracies = [course[epoch] for epoch in epochs]
            axis.plot(epochs, accuracies, color=colour, linewidth=1.2, label=f"{name}: {accuracies[-1]:.1f}")
        axis.set_xlabel("epoch", fontsize=8)
        axis.tick_params(labelsize=7)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.legend(loc="lower right", fontsize=7, frameon=False)
        open_frame(axis)
    axes[0].set_ylabel("accuracy on shapes held out, %", fontsize=8)
    return figure_bytes(figure)


def _length(training: tuple[str, Mapping[int, float]]) -> int:
    return max(training[1], default=0)
