"""Carry committed records over to new names of tables, rows and settings, without training anything again.

``python -m benchmarks.records.carry_over`` rewrites the records of a results folder with the names below and the keys
that follow from them, and the names of rows in ``chosen.json``, ``published.json`` and the figures of benchmarks. A
second call changes nothing. Figures are never touched: ``python -m benchmarks.records.compare`` shows it.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adacanon.runs.run import Run
from adacanon.training.records import Record, read_records

ROOT = Path(__file__).parents[2]
EXPERIMENTS = ROOT / "src" / "adacanon" / "experiments"


@dataclass(frozen=True)
class Renames:
    """Old name -> new name.

    Attributes:
        tables: names of tables, and of their files.
        rows: names of rows wherever they stand, also as a method that settings name.
        table_rows: names of rows of one table, by its new name.
        settings: names of settings, at any depth.
        kinds: names of the settings of a search -> the kind of search, which settings of ``kinds_in`` now name.
        kinds_in: the tables whose settings name it.
        values: texts in settings that become other values, such as the way in which a search was written.
    """

    tables: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)
    table_rows: dict[str, dict[str, str]] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    kinds: dict[frozenset[str], str] = field(default_factory=dict)
    kinds_in: tuple[str, ...] = ()
    values: dict[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> str:
        """The new name of a table."""
        return self.tables.get(name, name)

    def row(self, table: str, name: str) -> str:
        """The new name of a row of a table, which has its new name already."""
        return {**self.rows, **self.table_rows.get(table, {})}.get(name, name)

    def with_kinds(self, settings: Any) -> Any:
        """Settings that name their kind of search, at any depth."""
        if not isinstance(settings, dict):
            return settings
        inner = {name: self.with_kinds(value) for name, value in settings.items()}
        kind = self.kinds.get(frozenset(settings) & frozenset().union(*self.kinds))
        return inner if kind is None or "search" in settings else {**inner, "search": kind}

    def renamed_settings(self, settings: Any) -> Any:
        """Settings with new names."""
        if isinstance(settings, dict):
            return {self.settings.get(name, name): self.renamed_settings(value) for name, value in settings.items()}
        if isinstance(settings, list):
            return [self.renamed_settings(value) for value in settings]
        if not isinstance(settings, str):
            return settings
        return self.values.get(settings, self.rows.get(settings, settings))


_ANCHORS = "AnchoredSearch(samples={}, steps={}, step_size=0.1, method='riemannian')"
_REFINED = "SampleAndRefine(samples={}, steps=3, step_size=0.1, method='riemannian', every={}, reduced=False)"
_COARSE = (
    "CoarseToFine(search={}, size=32, keep=2, contenders=3, reduced={}, pilot=True, calibration=None, middle=None)"
)
_RUNG = "Rung(size={}, keep={}, steps={}, step_size=0.05)"
_HALVING = (
    "SuccessiveHalving(search={}, rungs=({}), contenders={}, steps={}, step_size=0.01, reduced=False, pilot=True)"
)
SEARCHES: dict[str, Any] = {
    "None": {},
    **{f"RandomSearch(samples={k})": {"candidates": k} for k in (50, 200)},
    **{
        _REFINED.format(k, every): {"candidates": k, "steps": 3, "every": every}
        for k, every in ((50, False), (8, True))
    },
    **{_ANCHORS.format(k, n): {"candidates": k, "steps": n} for k, n in ((24, 0), (96, 0), (24, 3))},
    _COARSE.format("RandomSearch(samples=50)", True): {"candidates": 50, "size": 32},
    _COARSE.format(_ANCHORS.format(48, 0), False): {"candidates": 48, "size": 32},
    _HALVING.format(_ANCHORS.format(48, 0), f"{_RUNG.format(32, 4, 3)},", 3, 3): {
        "candidates": 48,
        "stages": [[32, 4, 3]],
        "contenders": 3,
        "steps": 3,
    },
    _HALVING.format(_ANCHORS.format(192, 0), f"{_RUNG.format(32, 12, 3)}, {_RUNG.format(64, 4, 4)}", 10, 8): {
        "candidates": 192,
        "stages": [[32, 12, 3], [64, 4, 4]],
        "contenders": 10,
        "steps": 8,
    },
}
"""How the searches of `invariance` were written -> their settings."""

KINDS = {
    frozenset(names.split()): kind
    for names, kind in (
        ("draws", "random draws"),
        ("draws size contenders keep", "coarse draws"),
        ("draws size contenders keep slots calibration evaluation", "learning draws"),
        ("anchors", "anchors"),
        ("anchors size", "anchors on views"),
        ("anchors size calibration", "calibrated anchors"),
        ("anchors subset slots", "remembered anchors"),
    )
}
"""The kinds of search on clouds, which were told by the names of their settings alone."""

CLOUDS = (
    *("modelnet", "modelnet-z", "modelnet-backbones", "modelnet-held-out", "fast-clouds"),
    *("shapenet", "stability", "continuity", "invariance"),
)

ADAPTIVE = ("AC-DeepSet", "AC-PointNet", "AC-PointNet++", "AC-RSCNN", "AC-DGCNN")
"""Rows on clouds with the paper's rule, which now say so: the maximum, trained one-vs-rest."""

RENAMES = Renames(
    tables={"tu-levers": "tu-components"},
    rows={"A-NLSF (plain)": "A-NLSF (paper)"},
    settings={"redraw": "resample_every", "reduced": "low_precision"},
    kinds=KINDS,
    kinds_in=CLOUDS,
    values=SEARCHES,
    table_rows={
        "tu-components": {"as in tu": "A-NLSF", "no search": "random basis (no search)"},
        **{table: {name: f"{name} (paper)" for name in ADAPTIVE} for table in CLOUDS},
        "cifar": {"Truncation canonicalization": "Truncation canonicalization (paper)"},
        "rotated-mnist": {"AC-CNN (retrained)": "AC-CNN (paper)"},
        "nodes": {"GCN (4 layers, BatchNorm, residuals)": "GCN (normalised and residual)"},
    },
)


def carried_over(record: Record, renames: Renames) -> Record:
    """A record under its new names and the key that follows from them."""
    table = renames.table(record["table"])
    row, settings = renames.row(table, record["row"]), renames.renamed_settings(record["settings"])
    if table in renames.kinds_in:
        settings = renames.with_kinds(settings)
    key = Run.of(table, row, record["column"], record["split"], settings).key
    return {**record, "key": key, "table": table, "row": row, "settings": settings}


def carry_over_records(results: Path, renames: Renames) -> int:
    """Rewrite the records of a folder; returns how many have changed."""
    old = {file: read_records(file) for file in sorted(results.glob("*.jsonl"))}
    new = {file: [carried_over(record, renames) for record in records] for file, records in old.items()}
    keys = {
        before["key"]: after["key"]
        for file, records in old.items()
        for before, after in zip(records, new[file], strict=True)
    }
    changed = 0
    for file, records in new.items():
        linked = [_linked(record, keys) for record in records]
        changed += sum(one != other for one, other in zip(old[file], linked, strict=True))
        target = file.with_name(f"{renames.table(file.stem)}.jsonl")
        if linked != old[file] or target != file:
            target.write_text("".join(json.dumps(record, sort_keys=True) + "\n" for record in linked), encoding="utf-8")
        if target != file:
            file.unlink()
    return changed


def _linked(record: Record, keys: dict[str, str]) -> Record:
    """A record that was taken over names the key of its source."""
    source = record.get("taken_over_from")
    return record if source is None else {**record, "taken_over_from": keys.get(source, source)}


def carry_over_choices(content: dict[str, Any], renames: Renames) -> dict[str, Any]:
    """``chosen.json``: row -> column -> settings."""
    return {renames.rows.get(row, row): renames.renamed_settings(columns) for row, columns in content.items()}


def carry_over_published(content: dict[str, Any], renames: Renames) -> dict[str, Any]:
    """``published.json``: table -> row -> column -> figures."""
    tables = {renames.table(table): rows for table, rows in content.items()}
    return {table: {renames.row(table, row): rows[row] for row in rows} for table, rows in tables.items()}


def carry_over_benchmark(content: Any, renames: Renames) -> Any:
    """Figures of a benchmark, whose rows may name methods."""
    if isinstance(content, dict):
        return {name: carry_over_benchmark(value, renames) for name, value in content.items()}
    if isinstance(content, list):
        return [carry_over_benchmark(value, renames) for value in content]
    return renames.rows.get(content, content) if isinstance(content, str) else content


def rewrite(file: Path, change: Callable[[dict[str, Any], Renames], dict[str, Any]], renames: Renames) -> bool:
    """Rewrite a file of JSON in the way it was written; returns whether anything has changed."""
    if not file.exists():
        return False
    text = file.read_text(encoding="utf-8")
    before = json.loads(text)
    after = change(before, renames)
    if after == before:
        return False
    indent = next((len(line) - len(line.lstrip()) for line in text.splitlines()[1:]), 1)
    file.write_text(json.dumps(after, indent=indent, ensure_ascii=text.isascii()) + "\n", encoding="utf-8")
    return True


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / "results", help="folder of the records")
    results = parser.parse_args(arguments).results
    print(f"{carry_over_records(results, RENAMES)} records have new names or keys")
    files = [(file, carry_over_benchmark) for file in sorted((results / "benchmarks").glob("*.json"))]
    files += [(folder / "chosen.json", carry_over_choices) for folder in (results, EXPERIMENTS / "graphs")]
    files += [(EXPERIMENTS / "published.json", carry_over_published)]
    for file, change in files:
        if rewrite(file, change, RENAMES):
            print(f"{file} has new names")


if __name__ == "__main__":
    main()
