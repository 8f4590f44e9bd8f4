"""Clouds before and after canonicalization: what the picture and the page of them show."""

import base64
import html
import io
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

import torch
from torch import Tensor

COLUMNS = 5
WHOLE = 2**15 - 1
"""Coordinates are stored in 16 bits."""


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


def page(gallery: Gallery) -> str:
    """A page that stands on its own, on which the clouds are turned by mouse, touch or keys."""
    template = resources.files("adacanon.reports").joinpath("gallery.html").read_text(encoding="utf-8")
    lowest, highest = gallery.legend
    texts = {"title": gallery.title, "lead": gallery.lead, "before": gallery.before, "after": gallery.after}
    for name, text in {**texts, "lowest": lowest, "highest": highest}.items():
        template = template.replace(f"{{{{{name}}}}}", html.escape(text))
    return template.replace("{{data}}", json.dumps(_data(gallery)))


def draw(gallery: Gallery) -> bytes:
    """A PNG: the clouds as given to the left, their canonical forms to the right, all through one camera."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = -(-len(gallery.clouds) // COLUMNS)
    figure = pyplot.figure(figsize=(12, 1.1 * rows + 0.9), layout="constrained")
    figure.suptitle(gallery.title, fontsize=11, weight="bold")
    canonical = gallery.clouds @ gallery.rotations.mT
    halves = figure.subfigures(1, 2, wspace=0.04)
    titles = (f"As given: {gallery.before}", f"Canonical forms: {gallery.after}")
    for half, clouds, words in zip(halves, (gallery.clouds, canonical), titles, strict=True):
        half.suptitle(words, fontsize=8.5)
        axes = half.subplots(rows, COLUMNS, squeeze=False).flatten()
        for axis in axes:
            axis.set_axis_off()
        for axis, cloud, shades in zip(axes, clouds @ gallery.camera.mT, gallery.shades, strict=False):
            _cloud(axis, cloud, shades)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    pyplot.close(figure)
    return buffer.getvalue()


def _cloud(axis: Any, cloud: Tensor, shades: Tensor) -> None:
    """The nearest points last."""
    order = cloud[:, 2].argsort()
    x, y, z = cloud[order].unbind(1)
    axis.scatter(x, y, c=shades[order], s=1.2 + 1.8 * (z + 1) / 2, cmap="viridis", vmin=0, vmax=1, linewidths=0)
    axis.set_xlim(-1, 1)
    axis.set_ylim(-1, 1)
    axis.set_aspect("equal")


def _data(gallery: Gallery) -> dict[str, Any]:
    """Coordinates and shades as base64, little-endian, rotations and camera as lists of rows."""
    coordinates = (gallery.clouds.clamp(-1, 1) * WHOLE).round().to(torch.int16)
    shades = (gallery.shades.clamp(0, 1) * 255).round().to(torch.uint8)
    return {
        "clouds": len(gallery.clouds),
        "points": gallery.clouds.shape[1],
        "coordinates": base64.b64encode(coordinates.numpy().astype("<i2").tobytes()).decode(),
        "shades": base64.b64encode(shades.numpy().tobytes()).decode(),
        "rotations": gallery.rotations.double().flatten(1).tolist(),
        "camera": gallery.camera.double().flatten().tolist(),
    }
