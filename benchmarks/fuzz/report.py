"""What a campaign found, as rows, as a page and as JSON."""

import json
from collections.abc import Mapping
from pathlib import Path

from adacanon.reports.pages import render
from benchmarks.frame.measure import Row
from benchmarks.fuzz.campaign import AREAS, Tally, findings_of
from benchmarks.fuzz.judging import OUTCOMES

MEANING = (
    "Right: the answer agrees with an oracle or keeps every law that the case checks. Refused: an error of adacanon by "
    "name, or one that torch or the user's own network documents. All other outcomes are findings. A case is repeated "
    "by its kind and number: python -m benchmarks.fuzz --kind KIND --number NUMBER --seed SEED."
)


def rows_of(tallies: Mapping[str, Tally]) -> list[Row]:
    """One row for every kind of case, with its area."""
    return [
        {"area": area, "kind": name, "cases": sum(tallies[name].outcomes.values())}
        | {outcome: tallies[name].outcomes[outcome] for outcome in OUTCOMES}
        | {"seconds": round(tallies[name].seconds, 1)}
        for area, kinds in AREAS.items()
        for name in kinds
    ]


def title_of(seed: int, tallies: Mapping[str, Tally]) -> str:
    cases = sum(sum(tally.outcomes.values()) for tally in tallies.values())
    counts = ", ".join(f"{count} × {finding}" for finding, count in findings_of(tallies).items())
    return f"{cases:,} cases of wrong inputs, damaged files, mistaken commands and broken states, seed {seed}: {counts}"


def page_of(title: str, rows: list[Row]) -> str:
    headings = list(rows[0])
    total = {key: sum(row[key] for row in rows) for key in headings if key not in ("area", "kind")}
    last = ["all", "", *(round(value, 1) for value in total.values())]
    cells = [[str(cell) for cell in line] for line in (*(row.values() for row in rows), last)]
    return render("comparison.html", {"title": title, "headings": headings, "rows": cells, "how_to_read": MEANING})


def write(folder: Path, title: str, rows: list[Row], tallies: Mapping[str, Tally]) -> tuple[Path, Path]:
    """The page, and the figures with every finding."""
    folder.mkdir(parents=True, exist_ok=True)
    page, figures = folder / "fuzz.html", folder / "fuzz.json"
    found = {name: tally.findings for name, tally in tallies.items() if tally.findings}
    page.write_text(page_of(title, rows), encoding="utf-8")
    figures.write_text(json.dumps({"title": title, "rows": rows, "findings": found}, indent=1) + "\n", encoding="utf-8")
    return page, figures
