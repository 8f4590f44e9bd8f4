"""The plot of ``benchmarks.speed.bench``: headlines beside their goals, how time grows, and what searches find."""

from dataclasses import dataclass
from typing import Any

from adacanon.reports.pictures import figure_bytes, new_figure, open_frame
from benchmarks.speed.scaling import UNEXPLAINED

Goal = float | dict[str, float]

GOALS: dict[str, tuple[str, Goal]] = {
    "pointnet_step_over_plain": ("AC-PointNet step / plain step", 2.5),
    "soft_step_over_plain": ("AC-PointNet (soft) step / plain step", 5),
    "dgcnn_step_over_plain": ("AC-DGCNN step / plain step", 6),
    "pointnet_naive_over_ours": ("Algorithm 1 as written / our step", -15),
    "forwards_for_99_percent": ("forward passes for 99 % of the gap", 40),
    "eval_forwards": ("forward passes per evaluation", 12),
    "eval_forwards_cascade": ("passes per answer, cascade", {"AC-PointNet": 4, "AC-DGCNN": 6, "AC-CNN": 8}),
    "latency_batch1": ("one input by a cascade / plain", 6),
    "search_overhead": ("full search / one pass of its forms", 1.1),
    "anlsf_epoch_over_gin": ("A-NLSF epoch / GIN epoch", 1),
}
"""What each figure is, and what it may be at most, all of its values alike or each its own; a negative goal is what it
must be at least.
"""

GOOD, BAD, EXPLAINED = "#3f7d58", "#c2410c", "#9aa5b1"


def draw(content: dict[str, Any]) -> bytes | None:
    """A PNG with what the sections that ran have to show; None if that is nothing."""
    panels = [panel for panel in (headlines(content), exponents(content)) if panel.bars]
    searches = content["sections"].get("search_cost", [])
    if not panels and not searches:
        return None
    count = len(panels) + bool(searches)
    height = max(0.24 * max((len(panel.bars) for panel in panels), default=0) + 1.0, 3.5 if searches else 0)
    figure = new_figure(5.4 * count, height)
    axes = figure.subplots(1, count, squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=False):
        _bars(axis, panel)
    if searches:
        _found(axes[0, -1], searches)
    machine = content["machine"]
    figure.suptitle(f"{machine['cpu']}, {machine['threads']} threads, torch {machine['torch']}", fontsize=8)
    return figure_bytes(figure)


@dataclass(frozen=True)
class Bar:
    """A line of a panel: what it is, how long, in which colour, and what is written at its end."""

    label: str
    length: float
    colour: str
    text: str


@dataclass(frozen=True)
class Panel:
    """Bars that should end before one."""

    title: str
    bars: list[Bar]


def headlines(content: dict[str, Any]) -> Panel:
    """Every figure as a share of its goal, so that all have one axis."""
    bars = []
    for key in (key for key in GOALS if key in content):
        label, goal = GOALS[key]
        values = content[key] if isinstance(content[key], dict) else {"": content[key]}
        bars += [
            _beside_goal(f"{label}, {name}".strip(", "), value, goal[name] if isinstance(goal, dict) else goal)
            for name, value in values.items()
        ]
    return Panel("share of what is allowed", bars)


def exponents(content: dict[str, Any]) -> Panel:
    """How time grows with every size; grey where more than linear growth is explained."""
    bars = []
    for row in content["sections"].get("scaling", []):
        colour = {"": GOOD, UNEXPLAINED: BAD}.get(row["above 1"], EXPLAINED)
        length = max(row["exponent"], 0.0)
        bars.append(Bar(f"{row['what']}: {row['over']}", length, colour, f"{row['exponent']:.2f}"))
    return Panel("exponent of the time", bars)


def _beside_goal(label: str, value: float | None, goal: float) -> Bar:
    allowed = f"({'≤' if goal > 0 else '≥'} {abs(goal):g})"
    if value is None:
        return Bar(label, 0.0, BAD, f"not reached {allowed}")
    share = value / goal if goal > 0 else -goal / value
    return Bar(label, share, GOOD if share <= 1 else BAD, f"{value:.3g} {allowed}")


def _found(axis: Any, searches: list[dict[str, Any]]) -> None:
    """The share of the gap that every search closes against its cost, one line for each kind."""
    kinds: dict[str, list[tuple[float, float]]] = {}
    for row in searches:
        kind = row["search"].partition(",")[0]
        kinds.setdefault(kind, []).append((row["forward passes"], 100 * row["gap closed"]))
    for kind, points in kinds.items():
        axis.plot(*zip(*sorted(points), strict=True), marker="o", markersize=3, linewidth=1, label=kind)
    cost = GOALS["forwards_for_99_percent"][1]
    axis.axhline(99, color="black", linewidth=0.5)
    axis.axvline(cost, color="black", linewidth=0.5)
    axis.set_xscale("log")
    axis.set_xlabel(f"forward passes (lines: {cost:g} of them, 99 % of the gap)", fontsize=8)
    axis.set_ylabel("% of the gap between a random pose and brute force", fontsize=8)
    axis.tick_params(labelsize=8)
    axis.legend(fontsize=7, frameon=False)
    open_frame(axis)


def _bars(axis: Any, panel: Panel) -> None:
    places, lengths = range(len(panel.bars))[::-1], [bar.length for bar in panel.bars]
    axis.barh(places, lengths, color=[bar.colour for bar in panel.bars], height=0.62)
    axis.set_yticks(places, [bar.label for bar in panel.bars])
    for place, bar in zip(places, panel.bars, strict=True):
        axis.text(bar.length, place, f" {bar.text}", va="center", fontsize=8)
    axis.axvline(1, color="black", linewidth=1)
    axis.set_xlim(0, 1.4 * max(1.0, *lengths))
    axis.set_xlabel(panel.title, fontsize=8)
    axis.tick_params(labelsize=8)
    open_frame(axis)
