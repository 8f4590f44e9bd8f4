"""Accuracy over the values of one setting at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

from adacanon.reports.pictures import figure_bytes, new_figure, open_frame
from adacanon.reports.summary import Cell

COLOUR = "#c2410c"


def draw(
    panels: Mapping[str, Mapping[float, Cell]],
    *,
    usual: Mapping[str, float],
    logarithmic: Sequence[str] = (),
    chance: float = 50.0,
) -> bytes:
    """A PNG with one panel for each setting: means with their standard errors over splits, and chance.

    Args:
        panels: setting -> value -> cell.
        usual: setting -> the value that is used elsewhere, which is marked.
        logarithmic: settings whose axis is logarithmic.
        chance: the accuracy of guessing.
    """
    figure = new_figure(2.9 * len(panels), 2.7)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)
    for axis, (name, cells) in zip(axes[0], panels.items(), strict=True):
        _panel(axis, name, cells, usual[name], chance)
        if name in logarithmic:
            axis.set_xscale("log", base=2 if float(min(cells, default=1)).is_integer() else 10)
        axis.set_xticks(list(cells), [f"{value:g}" for value in cells])
        axis.minorticks_off()
    axes[0, 0].set_ylabel("accuracy, %")
    axes[0, 0].set_ylim(chance - 12, 104)
    axes[0, 0].legend(loc="lower left", fontsize=8, frameon=False)
    return figure_bytes(figure)


def _panel(axis: Any, name: str, cells: Mapping[float, Cell], usual: float, chance: float) -> None:
    means = [cell.mean for cell in cells.values()]
    errors = [cell.sem or 0.0 for cell in cells.values()]
    axis.axhline(chance, color="black", linestyle=":", linewidth=1, label="chance")
    axis.axvline(usual, color="#d8dee6", linewidth=6, zorder=0, label="usual value")
    look = {"color": COLOUR, "marker": "o", "markersize": 4, "capsize": 3}
    axis.errorbar(list(cells), means, yerr=errors, label="A-NLSF, ± s.e.m.", **look)
    axis.set_xlabel(name)
    open_frame(axis)
