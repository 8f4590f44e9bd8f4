"""Which changes of the code does no test notice? ``python -m benchmarks.mutants --each 10 --seed 0``

First the mutants by hand, each of which breaks a law, then some of every chosen file, drawn at random. Survivors are
listed with their places.
"""

import importlib
import json
import random
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from benchmarks.frame.measure import Row, table
from benchmarks.mutants.changes import mutants
from benchmarks.mutants.named import NAMED
from benchmarks.mutants.targets import TARGETS
from benchmarks.mutants.trial import ROOT, fate

WARM = ("numpy", "torch", "torch_geometric.data", "pytest", "scipy.sparse")
"""Imported once, before the first fork; nothing of adacanon may be among them."""


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
    """For the tests of one mutant; a mutant that takes longer counts as killed."""
    json: Path | None = None


def main() -> None:
    options = tyro.cli(Options, description=__doc__)
    for name in WARM:
        importlib.import_module(name)
    rows, survivors = list[Row](), list[str]()
    if options.named:
        rows.append(by_hand(options, survivors))
    for file in options.files:
        rows.append(of_file(file, options, survivors))
        write(options, rows, survivors)
    print(table(rows))
    print("\n".join(["Survivors:", *survivors]))
    write(options, rows, survivors)
    sys.exit(bool(survivors))


def by_hand(options: Options, survivors: list[str]) -> Row:
    killed = 0
    for law, file, old, new, tests in NAMED:
        source = (ROOT / "src" / file).read_text(encoding="utf-8")
        if source.count(old) != 1:
            sys.exit(f"{file} no longer holds {old!r} once: mend benchmarks/mutants/named.py")
        if fate(file, source.replace(old, new), tests, seconds=options.seconds) == "killed":
            killed += 1
        else:
            survivors.append(f"{file}: {law}")
        print(f"{law}: {killed} killed so far", flush=True)
    return {"file": "by hand", "mutants": len(NAMED), "killed": killed, "share": round(100 * killed / len(NAMED))}


def of_file(file: str, options: Options, survivors: list[str]) -> Row:
    source = (ROOT / "src" / file).read_text(encoding="utf-8")
    every = list(mutants(source))
    chosen = random.Random(f"{options.seed}/{file}").sample(every, k=min(options.each, len(every)))
    killed = 0
    for mutant in chosen:
        if fate(file, mutant.source, TARGETS[file], seconds=options.seconds) == "killed":
            killed += 1
        else:
            survivors.append(f"{file}, line {mutant.line}: {mutant.words}")
    print(f"{file}: {killed} of {len(chosen)} killed, of {len(every)} that there are", flush=True)
    share = round(100 * killed / len(chosen)) if chosen else None
    return {"file": file, "mutants": len(chosen), "killed": killed, "share": share}


def write(options: Options, rows: list[Row], survivors: list[str]) -> None:
    if options.json is not None:
        title = f"Mutants that tests notice, {options.each} of every file at most, seed {options.seed}"
        options.json.write_text(json.dumps({"title": title, "rows": rows, "survivors": survivors}, indent=2) + "\n")


if __name__ == "__main__":
    main()
