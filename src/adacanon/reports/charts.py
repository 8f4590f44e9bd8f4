"""Charts of lines with error bars, and clouds of points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor

from adacanon.extras import optional
from adacanon.reports.pictures import figure_bytes, new_figure, open_frame

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, GRID, POINTS = "#52606d", "#e4e8ee", "#1f4e79"


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
    """From the first to the last tick; ``logarithmic`` to the base 2; ``names`` of ticks that are no numbers."""

    label: str
    ticks: Sequence[float]
    logarithmic: bool = False
    names: Sequence[str] = ()

    def name(self, value: float) -> str:
        """What a value is called."""
        return self.names[self.ticks.index(value)] if self.names else f"{value:g}"


def line_chart(series: Sequence[Series], x: Axis, y: Axis) -> "Figure":
    """A chart with its legend below; in its SVG, the lines are the groups ``series-0``, ``series-1``, ..."""
    figure = new_figure(4.8, 3.8)
    plot = figure.subplots()
    for number, line in enumerate(series):
        _draw_line(plot, line, y, name=f"series-{number}")
    _set_axes(plot, x, y)
    plot.grid(axis="y", color=GRID)
    plot.set_axisbelow(True)
    open_frame(plot)
    plot.spines[["left", "bottom"]].set(color=GRID, zorder=0)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def described(title: str, series: Sequence[Series], axis: Axis) -> str:
    """A chart in words, for those who do not see it.

    Example:
        >>> described("Accuracy", [Series("alone", [(1, 90.0), (4, 92.5)], "black")], Axis("K", (1, 4)))
        'Accuracy. alone: 90.0 at 1, 92.5 at 4.'
    """
    lines = (f"{line.name}: {', '.join(f'{y:.1f} at {axis.name(x)}' for x, y in line.points)}." for line in series)
    return " ".join((f"{title}.", *lines))


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` or just below to ``high`` or just above, about five of them.

    Example:
        >>> round_ticks(37.2, 95.0)
        [20.0, 40.0, 60.0, 80.0, 100.0]
    """
    with optional("A chart"):
        from matplotlib.ticker import MaxNLocator

    high = low + 1 if high == low else high
    ticks = MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    return [round(float(tick), 10) for tick in ticks]


def cloud_bytes(points: Tensor) -> bytes:
    """A PNG of points (n, 3) seen along the last axis, those in front darker."""
    centred = points.detach().double().cpu() - points.detach().double().cpu().mean(0)
    scaled = centred / centred.norm(dim=1).max().clamp(min=1e-12)
    x, y, z = scaled[scaled[:, 2].argsort()].unbind(1)
    figure = new_figure(1.6, 1.6)
    figure.patch.set_visible(False)
    plot = figure.subplots()
    plot.set_axis_off()
    plot.scatter(x, y, s=12, c=POINTS, alpha=(0.55 + 0.4 * z).numpy(), linewidths=0)
    plot.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05), aspect="equal")
    return figure_bytes(figure, dpi=120)


def _draw_line(plot: Any, line: Series, axis: Axis, *, name: str) -> None:
    """Nothing is clipped, so that markers at the edge are whole; error bars are shortened to end there."""
    x, y = [point[0] for point in line.points], [point[1] for point in line.points]
    look = {"linestyle": "--"} if line.dashed else {"marker": "o", "markersize": 6}
    plot.plot(x, y, color=line.colour, linewidth=2, label=line.name, gid=name, clip_on=False, **look)
    if line.errors:
        room = [(max(0.0, value - axis.ticks[0]), max(0.0, axis.ticks[-1] - value)) for value in y]
        down, up = ([min(pair) for pair in zip(side, line.errors, strict=True)] for side in zip(*room, strict=True))
        plot.errorbar(x, y, yerr=(down, up), fmt="none", ecolor=line.colour, elinewidth=1.2, clip_on=False)


def _set_axes(plot: Any, x: Axis, y: Axis) -> None:
    if x.logarithmic:
        plot.set_xscale("log", base=2)
    plot.set_xticks(x.ticks, [x.name(tick) for tick in x.ticks])
    plot.set_yticks(y.ticks, [f"{tick:g}" for tick in y.ticks])
    if x.ticks[0] < x.ticks[-1]:
        plot.set_xlim(x.ticks[0], x.ticks[-1])
    plot.set_ylim(y.ticks[0], y.ticks[-1])
    plot.set_xlabel(x.label, color=INK)
    plot.set_ylabel(y.label, color=INK)
    plot.minorticks_off()
    plot.tick_params(length=0, labelcolor=INK)
