"""Charts as SVG inside a page: lines with error bars, and clouds of points."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

WIDTH, HEIGHT = 380, 270
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 42
INK, GRID = "#52606d", "#e4e8ee"


@dataclass(frozen=True)
class Series:
    """One line of a chart.

    Attributes:
        points: (x, y) from left to right.
        errors: half the length of the error bar of every point, if there are any.
        dashed: for what the others are compared with; it has no markers.
    """

    name: str
    points: Sequence[tuple[float, float]]
    colour: str
    errors: Sequence[float] = ()
    dashed: bool = False


@dataclass(frozen=True)
class Axis:
    """From the first to the last tick; ``logarithmic`` to the base 2."""

    label: str
    ticks: Sequence[float]
    logarithmic: bool = False

    def share(self, value: float) -> float:
        """Where a value lies between the ends, from 0 to 1."""
        low, high, value = (math.log2(v) if self.logarithmic else v for v in (self.ticks[0], self.ticks[-1], value))
        return 0.5 if high == low else (value - low) / (high - low)


def line_chart(series: Sequence[Series], x: Axis, y: Axis, *, title: str) -> str:
    """A chart with its legend below."""
    body = "".join((_grid(x, y), *(_line(line, x, y) for line in series)))
    return (
        f'<figure class="chart"><figcaption>{html.escape(title)}</figcaption>'
        f'<svg class="plot" role="img" aria-label="{html.escape(title)}" viewBox="0 0 {WIDTH} {HEIGHT}">{body}</svg>'
        f'<ul class="legend">{"".join(_legend(line) for line in series)}</ul></figure>'
    )


def nice_ticks(low: float, high: float) -> list[float]:
    """Round numbers from just below ``low`` to just above ``high``, about five of them.

    Example:
        >>> nice_ticks(37.2, 95.0)
        [20.0, 40.0, 60.0, 80.0, 100.0]
    """
    span = max(high - low, 1e-9) / 4
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= span)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(step * n, 10) for n in range(first, max(last, first + 1) + 1)]


def cloud(points: Tensor, *, size: int = 96) -> str:
    """Points (n, 3) seen along the last axis, those in front darker."""
    centred = points.double() - points.double().mean(0)
    scaled = centred / centred.norm(dim=1).max().clamp(min=1e-12)
    circles = (
        f'<circle cx="{50 + 46 * px:.1f}" cy="{50 - 46 * py:.1f}" r="1.6" fill-opacity="{0.55 + 0.4 * pz:.2f}"/>'
        for px, py, pz in scaled[scaled[:, 2].argsort()].tolist()
    )
    look = f'class="cloud" width="{size}" height="{size}" viewBox="0 0 100 100" fill="#1f4e79"'
    return f"<svg {look}>{''.join(circles)}</svg>"


def _place(x: Axis, y: Axis, point: tuple[float, float]) -> tuple[float, float]:
    across, up = x.share(point[0]), min(1.0, max(0.0, y.share(point[1])))
    return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)


def _grid(x: Axis, y: Axis) -> str:
    parts = []
    for tick in y.ticks:
        _, py = _place(x, y, (x.ticks[0], tick))
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{py:.1f}" y2="{py:.1f}" stroke="{GRID}"/>')
        parts.append(_text(LEFT - 7, py + 4, f"{tick:g}", anchor="end"))
    for tick in x.ticks:
        px, _ = _place(x, y, (tick, y.ticks[0]))
        parts.append(_text(px, HEIGHT - BOTTOM + 17, f"{tick:g}"))
    middle = (HEIGHT - BOTTOM + TOP) / 2
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x.label))
    parts.append(f'<g transform="rotate(-90 11 {middle})">{_text(11, middle, y.label)}</g>')
    return "".join(parts)


def _line(line: Series, x: Axis, y: Axis) -> str:
    places = [_place(x, y, point) for point in line.points]
    path = " ".join(f"{'L' if i else 'M'}{px:.1f} {py:.1f}" for i, (px, py) in enumerate(places))
    look = f'fill="none" stroke="{line.colour}" stroke-width="2"' + (' stroke-dasharray="5 4"' if line.dashed else "")
    parts = [f'<path class="series" d="{path}" {look}/>']
    for (px, value), error in zip(line.points, line.errors, strict=False):
        (at, low), (_, high) = _place(x, y, (px, value - error)), _place(x, y, (px, value + error))
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{line.colour}"/>')
    if not line.dashed:
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{line.colour}"/>' for px, py in places]
    return "".join(parts)


def _legend(line: Series) -> str:
    style = f"border-top: 3px {'dashed' if line.dashed else 'solid'} {line.colour}"
    return f'<li><span style="{style}"></span>{html.escape(line.name)}</li>'


def _text(x: float, y: float, text: str, *, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{INK}">{html.escape(text)}</text>'
