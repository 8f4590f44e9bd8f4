"""Which changes of the code does no test notice? ``python -m benchmarks.mutants --each 10 --seed 0``

First the mutants by hand, each of which breaks a law, then some of every chosen file, drawn at random. Survivors are
listed with their places.
"""

import importlib
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.mutants.changes import mutants
from benchmarks.mutants.named import NAMED
from benchmarks.mutants.targets import TARGETS
from benchmarks.mutants.trial import ROOT, fate

Row = dict[str, str | int | float | None]

WARM = ("numpy", "torch", "torch_geometric.data", "pytest", "scipy.sparse")
"""Imported once, before the first fork; nothing of adacanon may be among them."""
LEAST = 90
"""Percent of the mutants that tests must notice; the exit code is 1 if they notice fewer."""


@dataclass(frozen=True)
class Options:
    """Which mutants are tried."""

    files: tuple[str, ...] = tuple(TARGETS)
    each: int = 10
    """Mutants of every file at most."""
    named: bool = True
    """Try the mutants by hand too."""
    seed: int = 0
    seconds: float = 300.0
    """Of computing, for the tests of one mutant; a mutant that takes longer is noticed by that."""
    json: Path | None = None


def main() -> None:
    options = tyro.cli(Options, description=__doc__)
    for name in WARM:
        importlib.import_module(name)
    rows, survivors = list[Row](), list[str]()
    check_without_change(options)
    if options.named:
        rows.append(by_hand(options, survivors))
    for file in options.files:
        rows.append(of_file(file, options, survivors))
        write(options, rows, survivors)
    rows.append(total(rows))
    print("\n".join("  ".join(f"{value}" for value in row.values()) for row in rows))
    print("\n".join(["Survivors:", *survivors]))
    write(options, rows, survivors)
    sys.exit(any(bool(row["mutants"]) and float(row["share"] or 0) < LEAST for row in (rows[0], rows[-1])))


def check_without_change(options: Options) -> None:
    """Tests that fail anyway would notice every mutant."""
    for tests, file in {TARGETS[file]: file for file in options.files}.items():
        source = (ROOT / "src" / file).read_text(encoding="utf-8")
        if fate(file, source, tests, seconds=options.seconds) != "survived":
            sys.exit(f"Without a change, these tests fail or take too long: {' '.join(tests)}")


def by_hand(options: Options, survivors: list[str]) -> Row:
    noticed = 0
    for law, file, old, new, tests in NAMED:
        source = (ROOT / "src" / file).read_text(encoding="utf-8")
        if source.count(old) != 1:
            sys.exit(f"{file} no longer holds {old!r} once: mend benchmarks/mutants/named.py")
        if fate(file, source.replace(old, new), tests, seconds=options.seconds) != "survived":
            noticed += 1
        else:
            survivors.append(f"{file}: {law}")
        print(f"{law}: {noticed} noticed so far", flush=True)
    return as_row("by hand", len(NAMED), noticed, 0)


def of_file(file: str, options: Options, survivors: list[str]) -> Row:
    source = (ROOT / "src" / file).read_text(encoding="utf-8")
    every = list(mutants(source))
    chosen = random.Random(f"{options.seed}/{file}").sample(every, k=min(options.each, len(every)))
    found = Counter[str]()
    for mutant in chosen:
        told = fate(file, mutant.source, TARGETS[file], seconds=options.seconds)
        found[told] += 1
        if told == "survived":
            survivors.append(f"{file}, line {mutant.line}: {mutant.words}")
    noticed = len(chosen) - found["survived"]
    print(f"{file}: {noticed} of {len(chosen)} noticed, of {len(every)} that there are", flush=True)
    return as_row(file, len(chosen), noticed, found["too slow"])


def as_row(file: str, count: int, noticed: int, slow: int) -> Row:
    share = round(100 * noticed / count, 1) if count else None
    return {"file": file, "mutants": count, "noticed": noticed, "by time": slow, "share": share}


def total(rows: Sequence[Row]) -> Row:
    return as_row("all", *(sum(int(row[name] or 0) for row in rows) for name in ("mutants", "noticed", "by time")))


def write(options: Options, rows: list[Row], survivors: list[str]) -> None:
    if options.json is not None:
        title = f"Mutants that tests notice, {options.each} of every file at most, seed {options.seed}"
        options.json.write_text(json.dumps({"title": title, "rows": rows, "survivors": survivors}, indent=2) + "\n")


if __name__ == "__main__":
    main()
