"""What a temperature does: one column of panels for each kind of data, one row for each figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adacanon.reports.pictures import figure_bytes, new_figure, open_frame
from adacanon.reports.summary import Cell

COLOURS = ("#1d4ed8", "#c2410c", "#15803d")


@dataclass(frozen=True)
class Curve:
    """The cells of one loss along the dial.

    Attributes:
        label: of the loss.
        cells: one for each temperature; None where nothing was run.
    """

    label: str
    cells: Sequence[Cell | None]


def draw(
    temperatures: Sequence[str], panels: Mapping[str, Sequence[Curve]], metrics: Sequence[tuple[str, int | None]]
) -> bytes:
    """A PNG with every figure against the temperature.

    Args:
        temperatures: as they stand at the axis, evenly spaced, from the maximum to the mean.
        panels: kind of data -> curves.
        metrics: heading of a row of panels, and which of a cell's further metrics it shows; None for its mean.
    """
    figure = new_figure(2.6 * len(panels) + 0.6, 1.7 * len(metrics) + 0.5)
    axes: Any = figure.subplots(len(metrics), len(panels), squeeze=False, sharex=True)
    for column, (title, curves) in enumerate(panels.items()):
        axes[0][column].set_title(title, fontsize=9)
        for row, (heading, metric) in enumerate(metrics):
            _panel(axes[row][column], curves, metric)
            if column == 0:
                axes[row][column].set_ylabel(heading, fontsize=8)
        axes[-1][column].set_xticks(range(len(temperatures)), temperatures, fontsize=7)
        axes[-1][column].set_xlabel("temperature", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)
    return figure_bytes(figure)


def _panel(axis: Any, curves: Sequence[Curve], metric: int | None) -> None:
    for curve, colour in zip(curves, COLOURS, strict=False):
        shown = [(place, cell) for place, cell in enumerate(curve.cells) if _value(cell, metric) is not None]
        places, values = [place for place, _ in shown], [_value(cell, metric) for _, cell in shown]
        errors = [(cell.sem or 0.0) if cell is not None and metric is None else 0.0 for _, cell in shown]
        axis.errorbar(
            places, values, yerr=errors, color=colour, marker="o", markersize=3, linewidth=1.2, label=curve.label
        )
    axis.tick_params(labelsize=7)
    open_frame(axis)


def _value(cell: Cell | None, metric: int | None) -> float | None:
    if cell is None:
        return None
    return cell.mean if metric is None else cell.extra_metrics[metric]
