"""Pictures as a page holds them: images in their addresses, drawings as SVG, clouds as numbers for a script."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from adacanon.core.pictures import Drawing, Numbers, Picture, Pixels, Points
from adacanon.explain.drawn_graphs import graph_as_svg
from adacanon.explain.drawn_numbers import numbers_as_svg
from adacanon.reports.colours import PALETTE
from adacanon.reports.packed import packed_bytes, packed_coordinates
from adacanon.reports.pictures import data_address, image_bytes

LARGEST_SIDE = 256
"""Of an image on a page, in pixels."""
MOST_POINTS = 2048
"""Of a cloud on a page."""
SHADES, GREY = 200, 255
"""Colours of points are indices: shades first, then classes, and grey last."""

Line = tuple[Tensor, Tensor, int]
"""From a point to a point, and the class whose colour it has."""


@dataclass(frozen=True)
class Drawn:
    """A picture and the same in words.

    Attributes:
        kind: how a page shows it: a picture at an address, markup, or one of the clouds of the page.
        content: the address, the markup, or the number of the cloud.
        words: what is to be seen, for those who do not see it.
        sharp: whether pixels are to be seen as squares.
    """

    kind: Literal["address", "markup", "cloud"]
    content: str
    words: str
    sharp: bool = False


@dataclass
class Clouds:
    """The clouds of a page, in the order of their numbers."""

    data: list[dict[str, Any]] = field(default_factory=list)

    def add(self, coordinates: Tensor, colours: Tensor, lines: Sequence[Line] = (), *, large: int = 0) -> str:
        """Points (n, 3) in the unit ball with the indices of their colours (n,), the first ones drawn large if so many
        are to be; returns the number of the cloud.
        """
        self.data.append(
            {
                "points": len(coordinates),
                "large": large,
                "coordinates": packed_coordinates(coordinates),
                "colours": packed_bytes(colours),
                "lines": [[*_rounded(a), *_rounded(b), SHADES + colour % len(PALETTE)] for a, b, colour in lines],
            }
        )
        return str(len(self.data) - 1)


def drawn(picture: Picture, clouds: Clouds, *, radius: float | None = None) -> Drawn:
    """A picture for a page; ``radius`` is what a cloud is divided by, its own if not given."""
    if isinstance(picture, Pixels):
        return _image(picture)
    if isinstance(picture, Points):
        return _cloud(picture, clouds, radius)
    if isinstance(picture, Drawing):
        return Drawn("address", data_address(picture.svg.encode(), kind="svg"), picture.words)
    markup, said = numbers_as_svg(picture) if isinstance(picture, Numbers) else graph_as_svg(picture)
    return Drawn("markup", markup, said)


def centred(points: Points) -> tuple[Tensor, Tensor]:
    """The real points about their mean, (n, 3), and which of all points they are."""
    real = torch.arange(len(points.coordinates))
    if points.real is not None:
        real = real[points.real.cpu()]
    if len(real) > MOST_POINTS:
        real = real[torch.linspace(0, len(real) - 1, MOST_POINTS).round().long()]
    x = points.coordinates.detach().double().cpu()[real]
    return x - x.mean(0), real


def radius_of(points: Points) -> float:
    """The distance of the farthest point from the mean."""
    x, _ = centred(points)
    return max(float(x.norm(dim=1).max()), 1e-12)


def shades(values: Tensor) -> Tensor:
    """Colours of numbers (n,), from the smallest to the largest."""
    spread = float(values.max() - values.min())
    share = (values - values.min()) / spread if spread > 0 else torch.full_like(values, 0.5)
    return (share * (SHADES - 1)).round()


def of_class(labels: Tensor) -> Tensor:
    """Colours of classes (n,)."""
    return SHADES + labels % len(PALETTE)


def _image(picture: Pixels) -> Drawn:
    values = picture.values.detach().double().cpu()
    low, high = float(values.min()), float(values.max())
    told = ""
    if low < 0 or high > 1:
        values = (values - low) / (high - low)
        told = f", whose values from {low:.3g} to {high:.3g} are shown from dark to bright"
    height, width = values.shape[-2:]
    if max(height, width) > LARGEST_SIDE:
        size = [max(1, round(side * LARGEST_SIDE / max(height, width))) for side in (height, width)]
        values = interpolate(values.unsqueeze(0), size, mode="area")[0]
    said = f"An image of {height} × {width} pixels{told}."
    return Drawn("address", data_address(image_bytes(values)), said, sharp=max(height, width) < LARGEST_SIDE)


def _cloud(picture: Points, clouds: Clouds, radius: float | None) -> Drawn:
    x, real = centred(picture)
    values = x[:, 1] if picture.values is None else picture.values.detach().double().cpu()[real]
    total = len(picture.coordinates) if picture.real is None else int(picture.real.sum())
    some = f", of which {len(x)} are drawn" * (len(x) < total)
    number = clouds.add(x / (radius or radius_of(picture)), shades(values))
    return Drawn("cloud", number, f"A cloud of {total} points{some}.")


def _rounded(point: Tensor) -> list[float]:
    return [round(float(x), 4) for x in point]
