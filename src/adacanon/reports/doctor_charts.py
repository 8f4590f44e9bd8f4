"""The charts of the doctor's page: one of accuracy, one of predictions that change, one of calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adacanon.reports.charts import Axis, Series, described, line_chart, round_ticks
from adacanon.reports.pictures import data_address, figure_bytes

Figures = Mapping[str, Any]
BEFORE, AFTER, GIVEN, PERFECT = "#b03a2e", "#1f6f54", "#1f4e79", "#9aa5b1"


@dataclass(frozen=True)
class Chart:
    """A chart as a page shows it: ``address`` holds the picture, ``text`` says the same in words."""

    title: str
    address: str
    text: str


def charts(finding: Figures) -> list[Chart]:
    """All charts of a family."""
    return [_accuracy(finding), _changed(finding), _reliability(finding)]


def _accuracy(finding: Figures) -> Chart:
    searched, x = finding["searched"], _candidates_axis(finding)
    moved, given = finding["alone_transformed"]["accuracy"], finding["alone_as_given"]["accuracy"]
    lines = [
        Series("with the search, transformed", _points(searched, "transformed"), AFTER,
               [s["transformed"]["error"] for s in searched]),
        Series("with the search, as given", _points(searched, "as_given"), GIVEN,
               [s["as_given"]["error"] for s in searched]),
        Series("alone, as given", [(x.ticks[0], given), (x.ticks[-1], given)], GIVEN, dashed=True),
        Series("alone, transformed", [(x.ticks[0], moved), (x.ticks[-1], moved)], BEFORE, dashed=True),
    ]  # fmt: skip
    errors = [(value, error) for line in lines[:2] for (_, value), error in zip(line.points, line.errors, strict=True)]
    low = min(moved, given, *(value - error for value, error in errors))
    high = max(moved, given, *(value + error for value, error in errors))
    return _chart("Accuracy, and what a search brings back", lines, x, Axis("accuracy, %", percent_ticks(low, high)))


def _changed(finding: Figures) -> Chart:
    x, alone = _candidates_axis(finding), finding["changed"]
    lines = [
        Series("with the search", [(s["candidates"], s["changed"]) for s in finding["searched"]], AFTER),
        Series("alone", [(x.ticks[0], alone), (x.ticks[-1], alone)], BEFORE, dashed=True),
    ]
    highest = max(value for line in lines for _, value in line.points)
    return _chart("Predictions that change under the symmetry", lines, x, Axis("share, %", percent_ticks(0, highest)))


def _reliability(finding: Figures) -> Chart:
    last = finding["searched"][-1]
    ticks = (0, 20, 40, 60, 80, 100)
    lines = [
        Series("perfect", [(0, 0), (100, 100)], PERFECT, dashed=True),
        Series("alone", _bins(finding["alone_transformed"]), BEFORE),
        Series(f"with {last['candidates']} candidates", _bins(last["transformed"]), AFTER),
    ]
    return _chart("Calibration on transformed inputs", lines, Axis("confidence, %", ticks), Axis("accuracy, %", ticks))


def percent_ticks(low: float, high: float) -> list[float]:
    """Ticks for values between 0 and 100, at least one percent from the first to the last.

    Example:
        >>> percent_ticks(100.0, 100.0)
        [99.0, 99.2, 99.4, 99.6, 99.8, 100.0]
    """
    high = min(high, 100.0)
    low = max(min(low, high - 1), 0.0)
    return round_ticks(low, max(high, low + 1))


def _chart(title: str, lines: Sequence[Series], x: Axis, y: Axis) -> Chart:
    picture = figure_bytes(line_chart(lines, x, y), kind="svg")
    return Chart(title, data_address(picture, kind="svg"), described(title, lines))


def _candidates_axis(finding: Figures) -> Axis:
    return Axis("candidates K (forward passes)", [s["candidates"] for s in finding["searched"]], logarithmic=True)


def _points(searched: Sequence[Figures], where: str) -> list[tuple[float, float]]:
    return [(s["candidates"], s[where]["accuracy"]) for s in searched]


def _bins(reading: Figures) -> list[tuple[float, float]]:
    return [(b["confidence"], b["accuracy"]) for b in reading["bins"]]
