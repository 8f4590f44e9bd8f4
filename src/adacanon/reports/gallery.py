"""Clouds before and after canonicalization: what the picture and the page of them show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adacanon.reports.packed import packed_bytes, packed_coordinates
from adacanon.reports.pages import render
from adacanon.reports.pictures import figure_bytes, new_figure

COLUMNS = 5


@dataclass(frozen=True)
class Gallery:
    """Clouds, and the rotations that take them to their canonical forms.

    Attributes:
        title: of picture and page.
        lead: a few sentences about them.
        clouds: as given, (clouds, points, 3), in the unit ball.
        rotations: (clouds, 3, 3), the canonical form of X is :math:`XR^\\top`.
        shades: a number in [0, 1] for every point, its colour, (clouds, points).
        camera: the rotation through which all of them are seen, (3, 3): x to the right, y up, z to the viewer.
        before: a few words on the clouds as given.
        after: a few words on the canonical forms.
        legend: what the smallest and the largest shade mean.
        names: words below the clouds on the page, as given and in their canonical forms; none if left out.
    """

    title: str
    lead: str
    clouds: Tensor
    rotations: Tensor
    shades: Tensor
    camera: Tensor
    before: str
    after: str
    legend: tuple[str, str]
    names: tuple[Sequence[str], Sequence[str]] = ((), ())


def page(gallery: Gallery) -> str:
    """A page that stands on its own, on which the clouds are turned by mouse, touch or keys."""
    lowest, highest = gallery.legend
    values = {
        "title": gallery.title,
        "lead": gallery.lead,
        "before": gallery.before,
        "after": gallery.after,
        "lowest": lowest,
        "highest": highest,
        "data": encoded(gallery.clouds, gallery.rotations, gallery.shades, gallery.camera, names=gallery.names),
    }
    return render("gallery.html", values)


def draw(gallery: Gallery) -> bytes:
    """A PNG: the clouds as given to the left, their canonical forms to the right, all through one camera."""
    rows = -(-len(gallery.clouds) // COLUMNS)
    figure = new_figure(12, 1.1 * rows + 0.9)
    figure.suptitle(gallery.title, fontsize=11, weight="bold")
    canonical = gallery.clouds @ gallery.rotations.mT
    halves: Any = figure.subfigures(1, 2, wspace=0.04)
    titles = (f"As given: {gallery.before}", f"Canonical forms: {gallery.after}")
    for half, clouds, words in zip(halves, (gallery.clouds, canonical), titles, strict=True):
        half.suptitle(words, fontsize=8.5)
        axes = half.subplots(rows, COLUMNS, squeeze=False).flatten()
        for axis in axes:
            axis.set_axis_off()
        for axis, cloud, shades in zip(axes, clouds @ gallery.camera.mT, gallery.shades, strict=False):
            _cloud(axis, cloud, shades)
    return figure_bytes(figure)


def _cloud(axis: Any, cloud: Tensor, shades: Tensor) -> None:
    """The nearest points last."""
    order = cloud[:, 2].argsort()
    x, y, z = cloud[order].unbind(1)
    axis.scatter(x, y, c=shades[order], s=1.2 + 1.8 * (z + 1) / 2, cmap="viridis", vmin=0, vmax=1, linewidths=0)
    axis.set_xlim(-1, 1)
    axis.set_ylim(-1, 1)
    axis.set_aspect("equal")


def encoded(
    clouds: Tensor,
    rotations: Tensor,
    shades: Tensor,
    camera: Tensor,
    *,
    names: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> dict[str, Any]:
    """Clouds as the script of a page reads them, and as a record keeps them; arguments as in :class:`Gallery`.

    Coordinates and shades are base64, little-endian, rotations and camera lists of rows.
    """
    return {
        "clouds": len(clouds),
        "points": clouds.shape[1],
        "coordinates": packed_coordinates(clouds),
        "shades": packed_bytes((shades.clamp(0, 1) * 255).round()),
        "rotations": rotations.double().flatten(1).tolist(),
        "camera": camera.double().flatten().tolist(),
        "names": [list(words) for words in names],
    }
