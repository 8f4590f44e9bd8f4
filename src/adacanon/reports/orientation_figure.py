"""The picture that tells the story of the toy problem."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adacanon.reports.pictures import figure_bytes, new_figure, open_frame


@dataclass(frozen=True)
class OrientationStory:
    """What the picture shows, as plain tensors.

    Attributes:
        signals: one sample of each class, (2, size, size, 2).
        bases: two leading basis vectors of one band in two equally valid bases, (2, 2, size, size).
        coefficients: the band's coefficients (rows, 2) in each of the two bases.
        canonical: the form that A-NLSF chooses for class 0 and class 1 from each basis, (2, 2, rows, 2).
        accuracy: percent per method.
    """

    signals: Tensor
    bases: Tensor
    coefficients: Tensor
    canonical: Tensor
    accuracy: Mapping[str, float]


def draw(story: OrientationStory) -> bytes:
    """The figure as a PNG."""
    figure = new_figure(13, 9)
    parts: Any = figure.subfigures(3, 1, height_ratios=(1, 1, 1))
    top, middle, bottom = parts
    _signals(top, story.signals)
    _bases(middle, story)
    _accuracies(bottom, story.accuracy)
    return figure_bytes(figure, dpi=80)


def _signals(figure: Any, signals: Tensor) -> None:
    figure.suptitle("The task: do the two channels oscillate in the same direction?", weight="bold")
    axes = figure.subplots(1, 4)
    names = ("class 0, channel 1", "class 0, channel 2", "class 1, channel 1", "class 1, channel 2")
    for axis, image, name in zip(axes, (s for sample in signals for s in sample.unbind(-1)), names, strict=True):
        axis.imshow(image.T, cmap="RdBu", vmin=-1.2, vmax=1.2, origin="lower")
        axis.set_title(name, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])


def _bases(figure: Any, story: OrientationStory) -> None:
    title = "What A-NLSF turns: a band has no preferred basis (A, B), but one canonical form per class"
    figure.suptitle(title, weight="bold")
    axes = figure.subplots(1, 10, width_ratios=(3, 3, 1, 1, 1, 3, 3, 1, 1, 1))
    for index, name in enumerate(("basis A", "basis B")):
        left = axes[5 * index : 5 * index + 5]
        for number, axis in enumerate(left[:2]):
            axis.imshow(story.bases[index, number].T, cmap="PuOr", origin="lower")
            axis.set_title(f"{name}, vector {number + 1}", fontsize=9)
        matrices = (story.coefficients[index], story.canonical[index, 0], story.canonical[index, 1])
        for axis, matrix, title in zip(left[2:], matrices, ("as given", "class 0", "class 1"), strict=True):
            limit = float(matrix.abs().max()) or 1.0
            axis.imshow(matrix, cmap="RdBu", vmin=-limit, vmax=limit, aspect="auto")
            axis.set_title(title, fontsize=9)
        for axis in left:
            axis.set_xticks([])
            axis.set_yticks([])


def _accuracies(figure: Any, accuracy: Mapping[str, float]) -> None:
    figure.suptitle("Accuracy", weight="bold")
    axis = figure.subplots()
    colours = ["#c2410c" if name == "A-NLSF" else "#7b8794" for name in accuracy]
    bars = axis.barh(list(accuracy), list(accuracy.values()), color=colours)
    axis.bar_label(bars, fmt="%.1f %%", padding=3)
    axis.axvline(50, color="black", linestyle=":", label="chance")
    axis.set_xlim(0, 112)
    axis.invert_yaxis()
    axis.legend(loc="upper right")
    open_frame(axis)
