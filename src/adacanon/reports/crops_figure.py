"""The windows that truncation canonicalization chooses, class by class."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adacanon.reports.pictures import figure_bytes, new_figure

COLOUR = "#ff5a1f"


@dataclass(frozen=True)
class ChosenCrops:
    """What the picture shows.

    Attributes:
        images: some of each class, (classes, examples, channels, height, width).
        windows: top, left, height and width of the window chosen for the true class, (classes, examples, 4).
        coverage: for all images of a class, the share of windows that hold each pixel, (classes, height, width).
        sides: their mean height in pixels, (classes,).
    """

    class_names: tuple[str, ...]
    images: Tensor
    windows: Tensor
    coverage: Tensor
    sides: Tensor


def draw(crops: ChosenCrops) -> bytes:
    """A PNG: a column for each class, its examples with their windows, and below them where all windows lie."""
    classes, examples = crops.windows.shape[:2]
    figure = new_figure(1.35 * classes, 1.5 * (examples + 1))
    axes = figure.subplots(examples + 1, classes, squeeze=False)
    for label, name in enumerate(crops.class_names):
        axes[0, label].set_title(name, fontsize=10)
        for axis, image, window in zip(axes[:-1, label], crops.images[label], crops.windows[label], strict=True):
            _example(axis, image, window)
        axes[-1, label].imshow(crops.coverage[label].numpy(), vmin=0, vmax=1, cmap="magma")
        axes[-1, label].set_xlabel(f"mean side {float(crops.sides[label]):.1f}", fontsize=8)
    for axis in axes.flat:
        axis.set_xticks([])
        axis.set_yticks([])
    return figure_bytes(figure, dpi=100)


def _example(axis: Any, image: Tensor, window: Tensor) -> None:
    from matplotlib.patches import Rectangle

    top, left, height, width = window.tolist()
    axis.imshow(image.permute(1, 2, 0).clamp(0, 1).numpy())
    axis.add_patch(Rectangle((left - 0.5, top - 0.5), width, height, fill=False, edgecolor=COLOUR, linewidth=2))
