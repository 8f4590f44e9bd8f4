"""Compare the figures of all tables and presets with those of another revision, whose names are carried over first.

``python -m benchmarks.records.compare --before REV`` makes ``adacanon report --json`` of every table and preset at REV,
in a temporary worktree, and now. It prints every figure that differs, and fails if there is one.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.records.carry_over import RENAMES, ROOT, Renames

Reports = dict[str, dict[str, Any]]
"""table -> preset -> row -> column -> figures"""

PRESETS = ("cpu", "paper")
PROGRAM = f"""
import contextlib, io, json
from adacanon.cli import main
try:
    from adacanon.experiments.catalogue import TABLES
except ModuleNotFoundError:  # the name of this module before version 0.2
    from adacanon.experiments.tables import TABLES

def report(table, preset):
    with contextlib.redirect_stdout(io.StringIO()) as output, contextlib.redirect_stderr(io.StringIO()):
        assert main(["report", table, "--preset", preset, "--json"]) == 0
    return json.loads(output.getvalue())

print(json.dumps({{table: {{preset: report(table, preset) for preset in {PRESETS}}} for table in TABLES}}))
"""


def reports_in(folder: Path) -> Reports:
    """The reports of a source tree, made by its own code from its own records."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-c", PROGRAM]
    answer = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(answer.stdout)


def reports_at(revision: str) -> Reports:
    """The reports of a revision."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git("worktree", "add", "--detach", str(tree), revision)
        try:
            return reports_in(tree)
        finally:
            git("worktree", "remove", "--force", str(tree))


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


def renamed(reports: Reports, renames: Renames) -> Reports:
    """Reports under new names of tables and rows."""
    tables = {renames.table(table): presets for table, presets in reports.items()}
    return {
        table: {
            preset: {renames.row(table, row): columns for row, columns in rows.items()}
            for preset, rows in presets.items()
        }
        for table, presets in tables.items()
    }


def differences(before: Any, after: Any, place: tuple[str, ...] = ()) -> Iterator[str]:
    """Every figure that is not the same, or that only one of them has."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            yield from differences(before.get(name, "absent"), after.get(name, "absent"), (*place, name))
    elif before != after:
        yield f"{' / '.join(place)}: {before} before, {after} now"


def known_rows(before: Reports, now: Reports) -> Reports:
    """The reports of now for the tables and rows that there were before."""
    return {
        table: {
            preset: {row: rows[row] for row in rows if row in before[table][preset]} for preset, rows in presets.items()
        }
        for table, presets in now.items()
        if table in before
    }


def new_rows(before: Reports, now: Reports) -> list[str]:
    """Tables and rows that there were not before."""
    tables = [table for table in now if table not in before]
    rows = {
        f"{table}: {row}": None
        for table, presets in now.items()
        if table in before
        for preset, report in presets.items()
        for row in report
        if row not in before[table][preset]
    }
    return [*tables, *rows]


def figures(reports: Any) -> int:
    """How many figures there are."""
    return sum(map(figures, reports.values())) if isinstance(reports, dict) else 1


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True, metavar="REV", help="the revision to compare with")
    before = renamed(reports_at(parser.parse_args(arguments).before), RENAMES)
    now = reports_in(ROOT)
    found = list(differences(before, known_rows(before, now)))
    print("\n".join([*found, f"{figures(before)} figures of {len(before)} tables compared, {len(found)} differ"]))
    print("New tables and rows:", *(new_rows(before, now) or ["none"]), sep="\n  ")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
