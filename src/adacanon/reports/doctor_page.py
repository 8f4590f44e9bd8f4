"""The doctor's findings as one page that needs nothing else: no network, no scripts."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from adacanon.reports.png import to_data_address
from adacanon.reports.svg import Axis, Series, cloud, line_chart, nice_ticks

Figures = Mapping[str, Any]
BEFORE, AFTER, GIVEN = "#b03a2e", "#1f6f54", "#1f4e79"
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1.2rem; color: #1d2733; }
h1 { margin-bottom: .2rem; overflow-wrap: anywhere; }
h2 { margin: 3rem 0 .2rem; border-top: 2px solid #1d2733; padding-top: 1rem; }
.facts, figcaption { color: #52606d; } .verdict { font-size: 1.1rem; max-width: 56rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: right; border-bottom: 1px solid #d8dee6; white-space: nowrap; }
thead th { border-bottom: 2px solid #1d2733; vertical-align: bottom; white-space: normal; max-width: 8rem; }
th:first-child, td:first-child { text-align: left; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); gap: 1.2rem; }
.chart { margin: 0; } .plot { width: 100%; height: auto; } .plot text { font: 12px system-ui, sans-serif; }
.legend { list-style: none; margin: .2rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .1rem 1.1rem;
  font-size: .88rem; }
.legend span { display: inline-block; width: 1.5rem; margin-right: .4rem; vertical-align: middle; }
.examples { display: grid; grid-template-columns: repeat(auto-fit, minmax(21rem, 1fr)); gap: 1.2rem; }
.example { display: grid; grid-template-columns: repeat(3, 1fr); gap: .5rem; font-size: .85rem; text-align: center; }
.example img, .example svg { width: 100%; aspect-ratio: 1; object-fit: contain; image-rendering: pixelated;
  background: #f3f5f8; border: 1px solid #d8dee6; }
.warning { border-left: .4rem solid #b03a2e; background: #fbeeec; padding: .6rem 1rem; max-width: 56rem; }
.classes { max-height: 20rem; overflow: auto; }
.right { color: #1f6f54; font-weight: 600; } .wrong { color: #b03a2e; font-weight: 600; }
"""
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
    title = f"Symmetries of {diagnosis['model']}"
    names = diagnosis["class_names"]
    sections = "".join(_section(finding, examples[finding["family"]], names) for finding in diagnosis["findings"])
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{html.escape(title)}</title>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>"
        f"{_facts(diagnosis)}{_warning(diagnosis)}{_overview(diagnosis)}{_classes(diagnosis)}{sections}{NOTES}"
        "</body></html>\n"
    )


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


def _warning(diagnosis: Figures) -> str:
    text = warning(diagnosis)
    return f"<p class='warning' role='alert'><strong>Warning.</strong> {html.escape(text)}</p>" if text else ""


def _classes(diagnosis: Figures) -> str:
    """Which name stands for which output."""
    counts = zip(diagnosis["class_names"], diagnosis["class_samples"], strict=True)
    rows = [(name, f"{output}", f"{samples}") for output, (name, samples) in enumerate(counts)]
    return (
        "<details open><summary>Classes, in the order of the network's outputs</summary><div class='classes'>"
        f"{_table(('class', 'output', 'samples'), rows)}</div></details>"
    )


def _facts(diagnosis: Figures) -> str:
    shape = " × ".join(map(str, diagnosis["shape"]))
    alone = diagnosis["alone"]
    return (
        f'<p class="facts">{diagnosis["samples"]} samples of {html.escape(diagnosis["data"])}, {shape}, '
        f"{diagnosis['classes']} classes; the network returns {diagnosis['outputs']}. As they are, its accuracy is "
        f"{alone['accuracy']:.1f} ± {alone['error']:.1f} %, its mean confidence {alone['confidence']:.1f} %, its "
        f"calibration error {alone['calibration_error']:.1f} %. Nothing was trained; {diagnosis['seconds']:.0f} s.</p>"
    )


def _overview(diagnosis: Figures) -> str:
    head = ("family", "as given", "transformed", "fall, points", "best with a search", "brought back, points",
            "its cost as given, points", "forward passes", "predictions that change",
            "with that search")  # fmt: skip
    rows = []
    for finding in diagnosis["findings"]:
        best = _best(finding)
        rows.append((
            finding["family"], _percent(finding["alone_as_given"]), _percent(finding["alone_transformed"]),
            f"{finding['fall']:+.1f} ± {finding['fall_error']:.1f}", _percent(best["transformed"]),
            f"{best['recovered']:+.1f} ± {best['recovered_error']:.1f}",
            f"{best['cost']:+.1f} ± {best['cost_error']:.1f}", f"{best['passes']}",
            f"{finding['changed']:.1f} %", f"{best['changed']:.1f} %",
        ))  # fmt: skip
    return _table(head, rows)


def _section(finding: Figures, examples: Sequence[Figures], names: Sequence[str]) -> str:
    rows = [
        (
            f"{s['candidates']}", f"{s['passes']}", _percent(s["transformed"]),
            f"{s['recovered']:+.1f} ± {s['recovered_error']:.1f}", _percent(s["as_given"]),
            f"{s['cost']:+.1f} ± {s['cost_error']:.1f}", f"{s['changed']:.1f} %",
            f"{s['transformed']['confidence']:.1f} %", f"{s['transformed']['calibration_error']:.1f} %",
        )
        for s in finding["searched"]
    ]  # fmt: skip
    pictures = "".join(_example(example, names) for example in examples)
    return (
        f"<section id='{html.escape(finding['family'])}'><h2>{html.escape(finding['family'].capitalize())}</h2>"
        f"<p class='facts'>Inputs {html.escape(finding['meaning'])}: "
        f"<code>{html.escape(finding['definition'])}</code></p>"
        f"<p class='verdict'>{html.escape(verdict(finding))}</p><div class='charts'>{_charts(finding)}</div>"
        f"{_table(HEADINGS, rows)}<h3>Canonical forms</h3><div class='examples'>{pictures}</div></section>"
    )


def _charts(finding: Figures) -> str:
    return _accuracy_chart(finding) + _changed_chart(finding) + _reliability_chart(finding)


def _accuracy_chart(finding: Figures) -> str:
    searched, x = finding["searched"], _candidates_axis(finding)
    moved, given = finding["alone_transformed"]["accuracy"], finding["alone_as_given"]["accuracy"]
    lines = [
        Series("with the search, transformed", _points(searched, "transformed", "accuracy"), AFTER,
               [s["transformed"]["error"] for s in searched]),
        Series("with the search, as given", _points(searched, "as_given", "accuracy"), GIVEN,
               [s["as_given"]["error"] for s in searched]),
        Series("alone, as given", [(x.ticks[0], given), (x.ticks[-1], given)], GIVEN, dashed=True),
        Series("alone, transformed", [(x.ticks[0], moved), (x.ticks[-1], moved)], BEFORE, dashed=True),
    ]  # fmt: skip
    errors = [(value, error) for line in lines[:2] for (_, value), error in zip(line.points, line.errors, strict=True)]
    low = min(moved, given, *(value - error for value, error in errors))
    high = max(moved, given, *(value + error for value, error in errors))
    y = Axis("accuracy, %", nice_ticks(max(low, 0), min(high, 100)))
    return line_chart(lines, x, y, title="Accuracy, and what a search brings back")


def _changed_chart(finding: Figures) -> str:
    searched, x = finding["searched"], _candidates_axis(finding)
    alone = finding["changed"]
    lines = [
        Series("with the search", [(s["candidates"], s["changed"]) for s in searched], AFTER),
        Series("alone", [(x.ticks[0], alone), (x.ticks[-1], alone)], BEFORE, dashed=True),
    ]
    highest = max(value for line in lines for _, value in line.points)
    y = Axis("share, %", nice_ticks(0, max(highest, 1)))
    return line_chart(lines, x, y, title="Predictions that change under the symmetry")


def _reliability_chart(finding: Figures) -> str:
    last = finding["searched"][-1]
    ticks = (0, 20, 40, 60, 80, 100)
    lines = [
        Series("perfect", [(0, 0), (100, 100)], "#9aa5b1", dashed=True),
        Series("alone", _bins(finding["alone_transformed"]), BEFORE),
        Series(f"with {last['candidates']} candidates", _bins(last["transformed"]), AFTER),
    ]
    x, y = Axis("confidence, %", ticks), Axis("accuracy, %", ticks)
    return line_chart(lines, x, y, title="Calibration on transformed inputs")


def _example(example: Figures, names: Sequence[str]) -> str:
    truth = names[example["truth"]]
    captions = {
        "given": ("as given", truth, True),
        "transformed": ("transformed", names[example["before"]], example["before"] == example["truth"]),
        "canonical": ("canonical form", names[example["after"]], example["after"] == example["truth"]),
    }
    cells = (
        f"<div>{_picture(example[key], f'{what}, {name}')}<br>{what}<br>"
        f"<span class='{'right' if right else 'wrong'}'>{html.escape(name)}</span></div>"
        for key, (what, name, right) in captions.items()
    )
    return f"<div class='example'>{''.join(cells)}</div>"


def _picture(sample: Tensor, text: str) -> str:
    if sample.dim() == 3:
        return f'<img alt="{html.escape(text)}" src="{to_data_address(sample)}">'
    return cloud(sample)


def _candidates_axis(finding: Figures) -> Axis:
    return Axis("candidates K (forward passes)", [s["candidates"] for s in finding["searched"]], logarithmic=True)


def _points(searched: Sequence[Figures], where: str, what: str) -> list[tuple[float, float]]:
    return [(s["candidates"], s[where][what]) for s in searched]


def _bins(reading: Figures) -> list[tuple[float, float]]:
    return [(b["confidence"], b["accuracy"]) for b in reading["bins"]]


def _percent(reading: Figures) -> str:
    return f"{reading['accuracy']:.1f} ± {reading['error']:.1f} %"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    names = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    lines = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<div class='scroll'><table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table></div>"


NOTES = """
<section><h2>How to read this</h2><ul>
<li>Every input is transformed once, at random. <em>As given</em> is the input as the family prepares it: the input
itself, unless the definition above says <code>outside='disc'</code>, which cuts images to their inscribed disc.
Otherwise the corners of a turned image are filled as the definition says, and turning back does not undo that.</li>
<li>The search applies K transformations and takes, for every class, the largest score. It is adaptive canonicalization
of the network as it is; its cost is K forward passes. The first candidate is always the input itself, so K = 1 is the
network alone.</li>
<li>± is one standard error over samples; differences are taken sample by sample. The best K was chosen on these very
samples: on others expect a little less.</li>
<li>Brought back: accuracy on transformed inputs with the search minus that without it. Cost: accuracy on inputs as
given without the search minus that with it. Whether a search is worth it depends on how often inputs come
transformed.</li>
<li>Probabilities are the softmax of scores. A maximum lifts all of them, so confidence changes without training.
Calibration error: mean distance between confidence and accuracy over ten bins of equal width.</li>
<li>The canonical form shown is that of the class which the search with the most candidates predicts. Examples are not
typical: rescued and spoiled predictions come first.</li>
<li>Where accuracy with the search falls below that of the network alone on inputs as given, the network is confident
of wrong classes at transformations that it has never seen; training under the search (<code>adacanon.Objective</code>)
is the remedy.</li>
</ul></section>
"""
