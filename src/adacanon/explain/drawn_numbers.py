"""Tables of numbers as heat maps, and rows of numbers as lines."""

from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from adacanon.core.pictures import Drawing, Numbers, Picture
from adacanon.core.pytree import Tree, tensors
from adacanon.explain.charts import INK, LINE, around
from adacanon.explain.svg import Svg, element, picture
from adacanon.reports.colours import DIVERGING, PALETTE, css, on_ramp
from adacanon.reports.pictures import data_address, image_bytes

MOST_ROWS, MOST_COLUMNS = 96, 64
CELL, LEFT = 14.0, 64.0


def numbers_as_svg(numbers: Numbers) -> tuple[Svg, str]:
    """A heat map, blue below zero and red above, and the same in words."""
    values = numbers.values.detach().double().cpu()[:MOST_ROWS, :MOST_COLUMNS]
    rows, columns = values.shape
    said = _in_words(numbers.values, rows, columns)
    wide, high = max(CELL, 120 / columns) * columns, max(CELL, 60 / rows) * rows
    cells = element(
        "image",
        x=LEFT,
        y=0,
        width=wide,
        height=high,
        preserveAspectRatio="none",
        style="image-rendering: pixelated",
        href=data_address(image_bytes(_coloured(values / (float(values.abs().max()) or 1.0)))),
    )
    names = _names_of(numbers, rows, high / rows, LEFT + wide)
    return picture(LEFT + wide, high, cells, names, label=said), said


def _in_words(values: Tensor, rows: int, columns: int) -> str:
    height, width = values.shape
    said = f"A table of {height} × {width} numbers from {float(values.min()):.3g} to {float(values.max()):.3g}"
    some = f" The first {rows} × {columns} are drawn." * ((rows, columns) != (height, width))
    return f"{said}, blue below zero and red above.{some}"


def any_picture(form: Tree) -> Picture:
    """A picture of a form that its family does not draw: its first tensor as a line or as a table."""
    values = tensors(form)[0].detach().double().cpu()
    if values.dim() >= 2 and values.numel():
        return Numbers(values.flatten(0, -2))
    values = values.reshape(-1)
    said = f"{len(values)} numbers from {float(values.min()):.3g} to {float(values.max()):.3g}."
    return Drawing(_line(values, said), said)


def _line(values: Tensor, said: str) -> Svg:
    """A small curve of numbers one after the other, with a line at zero."""
    wide, high = 160.0, 100.0
    low, top = around([0.0, *values.tolist()])
    y = [high * (top - value) / (top - low) for value in [0.0, *values.tolist()]]
    step = wide / max(1, len(values) - 1)
    path = " ".join(f"{'ML'[n > 0]}{n * step:.1f} {height:.1f}" for n, height in enumerate(y[1:]))
    zero = element("line", x1=0.0, x2=wide, y1=y[0], y2=y[0], stroke=LINE)
    return picture(wide, high, zero, element("path", d=path, fill="none", stroke=css(PALETTE[0])), label=said)


def _coloured(shares: Tensor) -> Tensor:
    """Numbers from -1 to 1 as an image (3, rows, columns)."""
    colours = [[on_ramp((share + 1) / 2, DIVERGING) for share in row] for row in shares.tolist()]
    return torch.tensor(colours, dtype=torch.float64).permute(2, 0, 1) / 255


def _names_of(numbers: Numbers, rows: int, height: float, right: float) -> Element:
    """Names of groups of rows beside them, and lines between them."""
    parts, first = [], 0
    for name, count in numbers.blocks:
        if first >= rows:
            break
        middle = (first + min(first + count, rows)) / 2 * height
        parts.append(element("text", name, x=0, y=middle + 4, font_size=12, fill=INK))
        if first:
            parts.append(element("line", x1=LEFT, x2=right, y1=first * height, y2=first * height, stroke=INK))
        first += count
    return element("g", *parts)
