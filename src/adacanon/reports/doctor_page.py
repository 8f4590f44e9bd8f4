"""The doctor's findings as one page that needs nothing else: no network, no scripts."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from adacanon.reports.charts import cloud_bytes
from adacanon.reports.doctor_charts import charts, temperature_in_words
from adacanon.reports.pages import render
from adacanon.reports.pictures import data_address, image_bytes

Figures = Mapping[str, Any]
OVERVIEW = (
    "family", "recommended", "alone, as given", "alone, transformed", "fall, points", "wrapped, as given",
    "wrapped, transformed", "cost as given, points", "brought back, points",
)  # fmt: skip
HEADINGS = (
    "candidates K", "forward passes", "accuracy, transformed", "recovered, points", "accuracy, as given",
    "cost as given, points", "predictions that change", "confidence, transformed", "calibration error, transformed",
)  # fmt: skip


def page(diagnosis: Figures, examples: Mapping[str, Sequence[Figures]]) -> str:
    """The whole page.

    Args:
        diagnosis: the figures, as in the JSON file.
        examples: for each family, pictures ``given``, ``transformed`` and ``canonical`` with the numbers of the classes
            ``truth``, ``before`` and ``after``.
    """
    names, findings = diagnosis["class_names"], diagnosis["findings"]
    counts = zip(names, diagnosis["class_samples"], strict=True)
    values = {
        "title": f"Symmetries of {diagnosis['model']}",
        "diagnosis": diagnosis,
        "warnings": cautions(diagnosis, serious=True),
        "notes": cautions(diagnosis, serious=False),
        "overview_headings": OVERVIEW,
        "overview": [_overview_row(finding) for finding in findings],
        "classes": [(name, f"{output}", f"{samples}") for output, (name, samples) in enumerate(counts)],
        "headings": HEADINGS,
        "sections": [_section(finding, examples[finding["family"]], names) for finding in findings],
    }
    return render("doctor.html", values)


def cautions(diagnosis: Figures, *, serious: bool) -> list[str]:
    """The warnings, or the notes."""
    return [caution["text"] for caution in diagnosis["cautions"] if caution["serious"] == serious]


def verdict(finding: Figures) -> str:
    """What the figures of a family say: the fall, the price and the gain of the best search, and what to do."""
    given, moved = finding["alone_as_given"]["accuracy"], finding["alone_transformed"]["accuracy"]
    fall = f"{finding['fall']:+.1f} ± {finding['fall_error']:.1f} points"
    start = f"Transformed inputs take the network alone from {given:.1f} % to {moved:.1f} % ({fall})."
    return " ".join((start, *_price(finding["choice"]), recommendation(finding["advice"])))


def recommendation(advice: Figures) -> str:
    """What to do, how sure that is, and why."""
    unsure = ", but this is not certain" * _is_unsure(advice)
    return f"Recommended: {advice['recommendation']}{unsure}. {advice['reason']}"


def _is_unsure(advice: Figures) -> bool:
    return not advice["certain"] and advice["recommendation"] != "check first"


def rule_in_words(choice: Figures) -> str:
    """Candidates and temperature of a rule."""
    kind = temperature_in_words(choice["temperature"])
    kind = kind if kind.isalpha() else f"soft maximum (temperature {kind})"
    return f"{kind} over {choice['passes']} candidates"


def _price(choice: Figures | None) -> list[str]:
    if choice is None:
        return []
    return [
        f"Wrapped, with the {rule_in_words(choice)}: on inputs as given {choice['plain_as_given']:.1f} % alone, "
        f"{choice['wrapped_as_given']:.1f} % wrapped (cost {_points(choice, 'cost')}); on transformed inputs "
        f"{choice['plain_transformed']:.1f} % alone, {choice['wrapped_transformed']:.1f} % wrapped (brought back "
        f"{_points(choice, 'recovered')}). The rule was chosen among {choice['compared']} on {choice['chosen_on']} "
        f"samples; these four figures are those of the other {choice['judged_on']}."
    ]


def _points(figures: Figures, key: str) -> str:
    return f"{figures[key]:+.1f} ± {figures[f'{key}_error']:.1f} points"


def _overview_row(finding: Figures) -> tuple[str, ...]:
    choice, advice = finding["choice"], finding["advice"]
    wrapped = ("–",) * 4 if choice is None else (
        f"{choice['wrapped_as_given']:.1f} %", f"{choice['wrapped_transformed']:.1f} %",
        f"{choice['cost']:+.1f} ± {choice['cost_error']:.1f}",
        f"{choice['recovered']:+.1f} ± {choice['recovered_error']:.1f}",
    )  # fmt: skip
    return (
        finding["family"], advice["recommendation"] + " (?)" * _is_unsure(advice),
        _percent(finding["alone_as_given"]), _percent(finding["alone_transformed"]),
        f"{finding['fall']:+.1f} ± {finding['fall_error']:.1f}", *wrapped,
    )  # fmt: skip


def _section(finding: Figures, examples: Sequence[Figures], names: Sequence[str]) -> Figures:
    return {
        "finding": finding,
        "recommendation": recommendation(finding["advice"]),
        "rule": rule_in_words(finding["choice"]) if finding["choice"] else "",
        "price": _price_rows(finding["choice"]),
        "charts": charts(finding),
        "soft_headings": ("candidates K", *_temperatures(finding)),
        "soft_rows": {where: _soft_rows(finding, where) for where in ("transformed", "as_given")},
        "rows": [_searched_row(searched) for searched in finding["searched"]],
        "examples": [_example(example, names) for example in examples],
    }


def _price_rows(choice: Figures | None) -> list[tuple[str, ...]]:
    if choice is None:
        return []
    return [
        ("as given", f"{choice['plain_as_given']:.1f} %", f"{choice['wrapped_as_given']:.1f} %",
         f"{-choice['cost']:+.1f} ± {choice['cost_error']:.1f}"),
        ("transformed", f"{choice['plain_transformed']:.1f} %", f"{choice['wrapped_transformed']:.1f} %",
         f"{choice['recovered']:+.1f} ± {choice['recovered_error']:.1f}"),
    ]  # fmt: skip


def _temperatures(finding: Figures) -> list[str]:
    found = dict.fromkeys(searched["temperature"] for searched in finding["softened"])
    return ["maximum", *map(temperature_in_words, found)]


def _soft_rows(finding: Figures, where: str) -> list[tuple[str, ...]]:
    """Accuracies with K candidates in each row, and the temperature in each column."""
    rows: dict[int, list[str]] = {}
    for searched in (*finding["searched"], *finding["softened"]):
        if searched["candidates"] > 1:
            rows.setdefault(searched["candidates"], []).append(_percent(searched[where]))
    return [(f"{count}", *cells) for count, cells in rows.items()]


def _searched_row(searched: Figures) -> tuple[str, ...]:
    moved = searched["transformed"]
    return (
        f"{searched['candidates']}", f"{searched['passes']}", _percent(moved),
        f"{searched['recovered']:+.1f} ± {searched['recovered_error']:.1f}", _percent(searched["as_given"]),
        f"{searched['cost']:+.1f} ± {searched['cost_error']:.1f}", f"{searched['changed']:.1f} %",
        f"{moved['confidence']:.1f} %", f"{moved['calibration_error']:.1f} %",
    )  # fmt: skip


def _example(example: Figures, names: Sequence[str]) -> list[Figures]:
    """The input as given, transformed, and in its canonical form, each with the class that belongs to it."""
    captions = (("given", "as given", "truth"), ("transformed", "transformed", "before"),
                ("canonical", "canonical form", "after"))  # fmt: skip
    return [
        {
            "kind": "picture" if example[key].dim() == 3 else "cloud",
            "address": _address(example[key]),
            "what": what,
            "name": names[example[label]],
            "right": example[label] == example["truth"],
        }
        for key, what, label in captions
    ]


def _address(sample: Tensor) -> str:
    return data_address(image_bytes(sample) if sample.dim() == 3 else cloud_bytes(sample))


def _percent(reading: Figures) -> str:
    return f"{reading['accuracy']:.1f} ± {reading['error']:.1f} %"
