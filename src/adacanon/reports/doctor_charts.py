"""The charts of the doctor's page: accuracy by candidates and by temperature, predictions that change, calibration."""

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
    soft = [_temperature(finding)] if finding["softened"] else []
    return [_accuracy(finding), *soft, _changed(finding), _reliability(finding)]


def _accuracy(finding: Figures) -> Chart:
    searched = finding["searched"]
    lines, y = _accuracy_lines(finding, searched, [s["candidates"] for s in searched])
    return _chart("Accuracy of the maximum over K candidates", lines, _candidates_axis(finding), y)


def _temperature(finding: Figures) -> Chart:
    """All rules with the most candidates, from the maximum to the mean."""
    most = finding["searched"][-1]
    rules = [most, *(s for s in finding["softened"] if s["candidates"] == most["candidates"])]
    lines, y = _accuracy_lines(finding, rules, list(range(len(rules))))
    names = [temperature_in_words(s["temperature"]) for s in rules]
    x = Axis("temperature of the soft maximum", range(len(rules)), names=names)
    return _chart(f"Accuracy by temperature, {most['passes']} candidates", lines, x, y)


def _accuracy_lines(finding: Figures, rules: Sequence[Figures], x: Sequence[float]) -> tuple[list[Series], Axis]:
    """With the search and alone, on transformed inputs and as given, and an axis on which all of it fits."""
    lines = []
    for where, what, colour, dashed in (
        ("transformed", "transformed", AFTER, BEFORE),
        ("as_given", "as given", GIVEN, GIVEN),
    ):
        points = [(at, s[where]["accuracy"]) for at, s in zip(x, rules, strict=True)]
        lines.append(Series(f"wrapped, {what}", points, colour, [s[where]["error"] for s in rules]))
        alone = finding[f"alone_{where}"]["accuracy"]
        lines.append(Series(f"alone, {what}", [(x[0], alone), (x[-1], alone)], dashed, dashed=True))
    values = [(y, line.errors[i] if line.errors else 0.0) for line in lines for i, (_, y) in enumerate(line.points)]
    low, high = min(value - error for value, error in values), max(value + error for value, error in values)
    return lines, Axis("accuracy, %", percent_ticks(low, high))


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


def temperature_in_words(temperature: float | str) -> str:
    """The ends of the dial have names.

    Example:
        >>> [temperature_in_words(value) for value in (0.0, 0.3, "inf")]
        ['maximum', '0.3', 'mean']
    """
    if temperature == "inf":
        return "mean"
    return f"{temperature:g}" if temperature else "maximum"


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
    return Chart(title, data_address(picture, kind="svg"), described(title, lines, x))


def _candidates_axis(finding: Figures) -> Axis:
    return Axis("candidates K (forward passes)", [s["candidates"] for s in finding["searched"]], logarithmic=True)


def _bins(reading: Figures) -> list[tuple[float, float]]:
    return [(b["confidence"], b["accuracy"]) for b in reading["bins"]]
