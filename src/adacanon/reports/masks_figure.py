"""Images and what segmenters say of them, one below the other."""

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from adacanon.reports.pictures import figure_bytes, new_figure

COLOURS = ("#eceff1", "#b0793f", "#c0392b", "#f1c40f", "#2471a3", "#76c7c0")


@dataclass(frozen=True)
class ShownMasks:
    """What the picture shows.

    Attributes:
        images: grey ones, (n, height, width).
        masks: by the name of their row, the class of every pixel, (n, height, width).
        class_names: in the order of the classes.
    """

    images: Tensor
    masks: Mapping[str, Tensor]
    class_names: tuple[str, ...]


def draw(shown: ShownMasks) -> bytes:
    """A PNG: a column for each image, the image on top, and a row for each of the masks."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    count, classes = len(shown.images), len(shown.class_names)
    figure = new_figure(1.3 * count + 1.4, 1.3 * (len(shown.masks) + 1) + 0.4)
    axes = figure.subplots(len(shown.masks) + 1, count, squeeze=False)
    colours = ListedColormap(COLOURS[:classes])
    for column in range(count):
        axes[0, column].imshow(shown.images[column].numpy(), cmap="gray", vmin=0, vmax=1)
        for axis, masks in zip(axes[1:, column], shown.masks.values(), strict=True):
            axis.imshow(masks[column].numpy(), cmap=colours, vmin=-0.5, vmax=classes - 0.5, interpolation="nearest")
    for axis, name in zip(axes[:, 0], ("image", *shown.masks), strict=True):
        axis.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=10)
    for axis in axes.flat:
        axis.set_xticks([])
        axis.set_yticks([])
    patches = [
        Patch(facecolor=colour, edgecolor="#90a4ae", label=name)
        for colour, name in zip(COLOURS, shown.class_names, strict=False)
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=classes, frameon=False)
    return figure_bytes(figure, dpi=90)
