"""Charts as SVG: curves, bars, maps and dots, each with axes and a few round numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from adacanon.explain.svg import Svg, element, picture
from adacanon.reports.colours import PALETTE, css, on_ramp

WIDTH, HEIGHT = 480.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 72.0, 12.0, 12.0, 44.0
INK, LINE = "#52606d", "#e4e8ee"
LONGEST_NAME = 44
MARK = "#c2410c"
"""The colour of what was chosen."""


@dataclass(frozen=True)
class Axis:
    """From ``low`` to ``high``; ``ticks`` are places with what is written there, round numbers if there are none.

    Example:
        >>> Axis("angle", 0.0, 180.0, ((0.0, "0°"), (180.0, "180°"))).share(45.0)
        0.25
    """

    label: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...] = ()

    def share(self, value: float) -> float:
        """The place of a value, from 0 to 1."""
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def told(self) -> tuple[tuple[float, str], ...]:
        """The ticks that are drawn."""
        return self.ticks or tuple((tick, f"{tick:g}") for tick in round_numbers(self.low, self.high))


@dataclass(frozen=True)
class Curve:
    """A named line through points (x, y), in the order of x, and perhaps a mark at one of its points."""

    name: str
    points: Sequence[tuple[float, float]]
    mark: tuple[float, float] | None = None


def curves(lines: Sequence[Curve], x: Axis, y: Axis, *, label: str) -> Svg:
    """Lines in the colours of :data:`PALETTE`, with their names below."""
    drawn = [_frame(x, y)]
    for line, colour in zip(lines, _colours(len(lines)), strict=True):
        path = " ".join(f"{'ML'[n > 0]}{_x(x, a):.1f} {_y(y, b):.1f}" for n, (a, b) in enumerate(line.points))
        drawn.append(element("path", d=path, fill="none", stroke=colour, stroke_width=2, class_="curve"))
        if line.mark is not None:
            drawn.append(_dot(_x(x, line.mark[0]), _y(y, line.mark[1]), 5.0, colour, stroke="#ffffff"))
    legend = _legend([line.name for line in lines])
    return picture(WIDTH, HEIGHT + 20 * len(lines), *drawn, legend, label=label)


def dots(points: Sequence[tuple[float, float]], x: Axis, y: Axis, *, mark: tuple[float, float], label: str) -> Svg:
    """Points (x, y), and one that is marked."""
    drawn = [_dot(_x(x, a), _y(y, b), 3.0, css(PALETTE[0]), opacity=0.55) for a, b in points]
    chosen = _dot(_x(x, mark[0]), _y(y, mark[1]), 6.0, MARK, stroke="#ffffff")
    return picture(WIDTH, HEIGHT, _frame(x, y), *drawn, chosen, label=label)


def bars(values: Sequence[float], titles: Sequence[str], x: str, y: Axis, *, marked: int, label: str) -> Svg:
    """A bar for every value, with a title that shows under the mouse; one is marked."""
    axis = Axis(x, 0.0, float(len(values)), ((0.0, ""),))
    room = (WIDTH - LEFT - RIGHT) / len(values)
    ground = _y(y, min(max(0.0, y.low), y.high))
    drawn = []
    for n, (value, title) in enumerate(zip(values, titles, strict=True)):
        top, colour = _y(y, value), MARK if n == marked else css(PALETTE[0])
        place = {"x": LEFT + n * room + 0.1 * room, "width": 0.8 * room}
        size = {"y": min(top, ground), "height": max(abs(top - ground), 0.5)}
        drawn.append(element("rect", element("title", title), **place, **size, fill=colour, class_="bar"))
    return picture(WIDTH, HEIGHT, _frame(axis, y), *drawn, label=label)


def heat_map(
    rows: Sequence[Sequence[float]], x: Axis, y: Axis, *, mark: tuple[float, float], unit: str, label: str
) -> Svg:
    """Cells in the colours of the ramp; the first row is at the lowest y, as on a map."""
    low, high = min(map(min, rows)), max(map(max, rows))
    scale = Axis("", low, high)
    wide, tall = (WIDTH - LEFT - RIGHT) / len(rows[0]), (HEIGHT - TOP - BOTTOM) / len(rows)
    size = {"width": wide + 0.4, "height": tall + 0.4}  # without gaps between cells
    cells = []
    for m, row in enumerate(rows):
        place = {"y": HEIGHT - BOTTOM - (m + 1) * tall, **size}
        fills = [css(on_ramp(scale.share(value))) for value in row]
        cells += [element("rect", x=LEFT + n * wide, **place, fill=f, class_="cell") for n, f in enumerate(fills)]
    dot = _dot(_x(x, mark[0]), _y(y, mark[1]), 6.0, MARK, stroke="#ffffff")
    legend = _ramp_legend(low, high, unit)
    return picture(WIDTH, HEIGHT + 24, *cells, dot, _frame(x, y, lines=False), legend, label=label)


def round_numbers(low: float, high: float) -> list[float]:
    """About four round numbers from ``low`` to ``high``.

    Example:
        >>> round_numbers(-1.3, 5.2), round_numbers(2.0, 2.0)
        ([0.0, 2.0, 4.0], [2.0])
    """
    if not high > low:
        return [low]
    rough = (high - low) / 4
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= rough * 0.99)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 12) + 0.0 for n in range(first, last + 1)]


def around(values: Sequence[float]) -> tuple[float, float]:
    """The range of some values with a little room on both sides."""
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5 * max(abs(high), 1e-6)
    return low - room, high + room


def shortened(name: str) -> str:
    """A name that fits beside its line.

    Example:
        >>> shortened("a name"), len(shortened("n" * 100))
        ('a name', 44)
    """
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"


def _colours(count: int) -> list[str]:
    return [css(PALETTE[n % len(PALETTE)]) for n in range(count)]


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.share(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.share(value) * (HEIGHT - TOP - BOTTOM)


def _dot(x: float, y: float, radius: float, colour: str, *, stroke: str = "none", opacity: float = 1.0) -> Element:
    return element("circle", cx=x, cy=y, r=radius, fill=colour, stroke=stroke, stroke_width=1.5, opacity=opacity)


def _frame(x: Axis, y: Axis, *, lines: bool = True) -> Element:
    parts = []
    for value, text in y.told():
        height = _y(y, value)
        if lines:
            parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=height, y2=height, stroke=LINE))
        parts.append(_label(text, LEFT - 6, height + 4, "end"))
    for value, text in x.told():
        share = x.share(value)
        anchor = "start" if share < 0.02 else "end" if share > 0.98 else "middle"
        parts.append(_label(text, _x(x, value), HEIGHT - BOTTOM + 17, anchor))
    parts.append(_label(x.label, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 7, "middle"))
    turned = f"rotate(-90 12 {(HEIGHT - BOTTOM + TOP) / 2:g})"
    parts.append(
        element("text", y.label, x=12, y=(HEIGHT - BOTTOM + TOP) / 2, text_anchor="middle", transform=turned,
                fill=INK, font_size=13)
    )  # fmt: skip
    return element("g", *parts)


def _label(text: str, x: float, y: float, anchor: str) -> Element:
    return element("text", text, x=x, y=y, text_anchor=anchor, fill=INK, font_size=13)


def _legend(names: Sequence[str]) -> Element:
    parts = []
    for n, (name, colour) in enumerate(zip(names, _colours(len(names)), strict=True)):
        y = HEIGHT + 20 * n + 8
        parts.append(element("line", x1=LEFT, x2=LEFT + 24, y1=y, y2=y, stroke=colour, stroke_width=3))
        parts.append(_label(shortened(name), LEFT + 32, y + 4, "start"))
    return element("g", *parts)


def _ramp_legend(low: float, high: float, unit: str) -> Element:
    steps, wide, y = 32, 4.0, HEIGHT + 6
    cells = [
        element("rect", x=LEFT + n * wide, y=y, width=wide + 0.3, height=10, fill=css(on_ramp(n / (steps - 1))))
        for n in range(steps)
    ]
    text = f"{unit} from {low:.3g} (dark) to {high:.3g} (bright)"
    return element("g", *cells, _label(text, LEFT + steps * wide + 8, y + 10, "start"))
