"""The doctor's findings as one page that needs nothing else: no network, no scripts."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from adacanon.reports.charts import cloud_bytes
from adacanon.reports.doctor_charts import charts
from adacanon.reports.pages import render
from adacanon.reports.pictures import data_address, image_bytes

Figures = Mapping[str, Any]
OVERVIEW = (
    "family", "as given", "transformed", "fall, points", "best with a search", "brought back, points",
    "its cost as given, points", "forward passes", "predictions that change", "with that search",
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
        "warning": warning(diagnosis),
        "overview_headings": OVERVIEW,
        "overview": [_overview_row(finding) for finding in findings],
        "classes": [(name, f"{output}", f"{samples}") for output, (name, samples) in enumerate(counts)],
        "headings": HEADINGS,
        "sections": [_section(finding, examples[finding["family"]], names) for finding in findings],
    }
    return render("doctor.html", values)


def verdict(finding: Figures) -> str:
    """What the figures of a family say, in a sentence or two."""
    given, moved = finding["alone_as_given"]["accuracy"], finding["alone_transformed"]["accuracy"]
    fall, error = finding["fall"], finding["fall_error"]
    start = f"Accuracy goes from {given:.1f} % to {moved:.1f} % ({fall:+.1f} ± {error:.1f} points)"
    if fall >= -2 * error:
        none = "but too little is right on inputs as given for a fall to show"
        start += f", {none if finding['doubtful'] else 'no fall beyond chance'}"
    best = _best(finding)
    if best["passes"] == 1:
        return f"{start}."
    return (
        f"{start}. Without training, adaptive canonicalization with {best['passes']} forward passes brings back "
        f"{_gain(finding, best)} on transformed inputs, and {_cost(best)} on inputs as given."
    )


def _best(finding: Figures) -> Figures:
    """What brings back most; one candidate is the network alone, and no search."""
    searches = [searched for searched in finding["searched"] if searched["passes"] > 1]
    return max(searches or finding["searched"], key=lambda searched: searched["recovered"])


def _gain(finding: Figures, best: Figures) -> str:
    gain, error, fall = best["recovered"], best["recovered_error"], finding["fall"]
    if gain <= 2 * error:
        return f"nothing beyond chance ({gain:+.1f} ± {error:.1f} points)"
    share = f" ({100 * gain / -fall:.0f} % of the fall)" if fall < -2 * finding["fall_error"] else ""
    return f"{gain:.1f} ± {error:.1f} points{share}"


def _cost(best: Figures) -> str:
    verb = "costs" if best["cost"] >= 0 else "adds"
    return f"{verb} {abs(best['cost']):.1f} ± {best['cost_error']:.1f} points"


def warning(diagnosis: Figures) -> str:
    """What to check first if labels may not count classes as the network does; empty if they seem to."""
    order, accuracy = diagnosis["order"], diagnosis["alone"]["accuracy"]
    if not order["doubtful"]:
        return ""
    near = accuracy <= order["chance"] + 2 * order["chance_error"]
    what = "not above chance by more than two standard errors" if near else "low"
    return (
        f"On inputs as given, accuracy is {accuracy:.1f} %, {what}; chance is {order['chance']:.1f} ± "
        f"{order['chance_error']:.1f} % for {diagnosis['classes']} classes and {diagnosis['samples']} samples. If each "
        f"output stood for the class that it mostly comes with, accuracy would be {order['reordered']:.1f} %. Check "
        "the order of classes (--classes takes their names in the order of the network's outputs), the preprocessing "
        "and the weights: until then the figures below say little."
    )


def _overview_row(finding: Figures) -> tuple[str, ...]:
    best = _best(finding)
    return (
        finding["family"], _percent(finding["alone_as_given"]), _percent(finding["alone_transformed"]),
        f"{finding['fall']:+.1f} ± {finding['fall_error']:.1f}", _percent(best["transformed"]),
        f"{best['recovered']:+.1f} ± {best['recovered_error']:.1f}",
        f"{best['cost']:+.1f} ± {best['cost_error']:.1f}", f"{best['passes']}",
        f"{finding['changed']:.1f} %", f"{best['changed']:.1f} %",
    )  # fmt: skip


def _section(finding: Figures, examples: Sequence[Figures], names: Sequence[str]) -> Figures:
    return {
        "finding": finding,
        "verdict": verdict(finding),
        "charts": charts(finding),
        "rows": [_searched_row(searched) for searched in finding["searched"]],
        "examples": [_example(example, names) for example in examples],
    }


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
