"""Write the tables of the documents from the committed results: benchmarks and runs into README.md and docs/.

A table stands between ``<!-- name -->`` and ``<!-- end -->``. Of tables that are otherwise the same in every run, times
are left out.
"""

import json
import re
from pathlib import Path
from typing import Any

from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.reports.paired import comparison_lines
from adacanon.reports.render import markdown_lines, markdown_overview, markdown_table
from adacanon.reports.summary import Summary
from adacanon.runs.runner import comparison_of, summary_of
from benchmarks.clouds import molecules, molecules_validation
from benchmarks.frame import overview
from benchmarks.frame.measure import Row, text
from benchmarks.graphs import fast_accuracy, selected_epoch
from benchmarks.searches import search_errors
from benchmarks.speed.bench_figure import headlines as headlines_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
BENCHMARKS = RESULTS / "benchmarks"
BENCH = RESULTS / "bench.json"
LEFT_OUT = {"search_errors": search_errors.TIME}

PAIRED = {
    "cifar-paired": ("cifar", "Truncation canonicalization (soft)"),
    "rotated-mnist-paired": ("rotated-mnist", "AC-CNN (cross-entropy)"),
    "modelnet-paired": ("modelnet", "AC-PointNet (soft)"),
    "modelnet-z-paired": ("modelnet-z", "AC-PointNet (soft)"),
    "tu-paired": ("tu", "A-NLSF"),
    "tu-fair-paired": ("tu-fair", "A-NLSF"),
    "qm9-paired": ("qm9", "AC blended"),
}
"""Tables of one row against the others, by name: the table, and the row."""


def tables() -> dict[str, str]:
    """All tables by name, as Markdown; what was measured alone stands before the same section of the last full run."""
    from_records = {
        module.__name__.rpartition(".")[2]: module
        for module in (overview, fast_accuracy, selected_epoch, molecules, molecules_validation)
    }
    rows = {name: _markdown(module.rows()) for name, module in from_records.items()}
    if BENCH.exists():
        rows |= _last_full_run(json.loads(BENCH.read_text()))
    measured = {file.stem: json.loads(file.read_text()) for file in BENCHMARKS.glob("*.json")}
    rows |= {
        name: f"{content['title']}\n\n{_markdown(content['rows'], LEFT_OUT.get(name))}"
        for name, content in measured.items()
    }
    rows |= {
        f"{name}-survivors": _markdown(
            [{key: text(value).replace("|", "\\|") for key, value in row.items()} for row in found]
        )
        for name, content in measured.items()
        if (found := content.get("survivors"))
    }
    runs = {
        name: _runs_of(summary_of(table, table.runs(), RESULTS / f"{name}.jsonl"))
        for name, table in ((name, table_named(name, RESULTS)) for name in TABLES)
    }
    return rows | runs | {name: _paired(*of) for name, of in PAIRED.items()}


def _paired(name: str, row: str) -> str:
    table = table_named(name, RESULTS)
    return markdown_lines(comparison_lines(comparison_of(table, table.runs(), RESULTS / f"{name}.jsonl", row)))


def _last_full_run(content: dict[str, Any]) -> dict[str, str]:
    """The sections of ``benchmarks.speed.bench``, and its headlines beside their goals as "bench"."""
    machine = content["machine"]
    where = f"{machine['cpu']}, {machine['threads']} threads, torch {machine['torch']}, {machine['date'][:10]}"
    found = {name: _markdown(rows, LEFT_OUT.get(name)) for name, rows in content["sections"].items()}
    headlines: list[Row] = [{"figure": bar.label, "measured (goal)": bar.text} for bar in headlines_of(content).bars]
    return {**found, "bench": f"{where}\n\n{_markdown(headlines)}"}


def _runs_of(summary: Summary) -> str:
    return markdown_table(summary) if summary.single else markdown_overview(summary)


def filled(document: str, known: dict[str, str]) -> str:
    """The document with every marked table written anew."""
    pattern = r"<!-- ([\w-]+) -->\n.*?<!-- end -->"
    return re.sub(pattern, lambda m: f"<!-- {m[1]} -->\n{known[m[1]]}\n<!-- end -->", document, flags=re.S)


def _markdown(rows: list[Row], left_out: str | None = None) -> str:
    names = [name for name in rows[0] if name != left_out]
    cells = [[text(row[name]) for name in names] for row in rows]
    lines = [names, ["---"] * len(names), *cells]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    known = tables()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        path.write_text(filled(path.read_text(), known))


if __name__ == "__main__":
    main()
