"""Whether presets start: the smoke runs of one table or of all."""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from adacanon.commands.options import names_of, report_failures
from adacanon.errors import InputError
from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.files import write_whole
from adacanon.reports.smoke_report import as_json, by_row, by_table, json_text, notes_of, trial_line
from adacanon.reports.terminal import show_trials
from adacanon.runs.machine import commit_of_code, machine
from adacanon.runs.room import check_room
from adacanon.runs.runner import Failure
from adacanon.runs.smoke import Cell, Trial, cells_of, tried

ALL = "all"


def smoke_command(
    table: str,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    *,
    preset: str,
    jobs: int,
    threads: int,
    most_memory: float | None,
    most_seconds: float | None,
    results: Path,
    output: Path | None,
    print_json: bool,
) -> int:
    """Try the rows of a table, or of all tables; the exit code is 1 if one of them failed. Rows of which the output
    file says that they start are not tried again.
    """
    cells = _cells(table, rows, columns, preset, results)
    planned = Counter(cell.run.table for cell in cells)
    if output is not None:
        check_room("Smoke runs", output, option="--output")
    where = {**machine(threads), "commit": commit_of_code()}
    known = {} if output is None else known_to_start(output, preset, where)
    todo = [cell for cell in cells if cell.run.key not in known]
    found = tried(todo, jobs=jobs, threads=threads, most_memory=most_memory, most_seconds=most_seconds)
    trials: list[dict[str, Any]] = []
    for cell in cells:
        trials.append(asdict(known[cell.run.key] if cell.run.key in known else next(found)))
        print(f"{len(trials)} of {len(cells)}: {trial_line(trials[-1])}", file=sys.stderr, flush=True)
        if output is not None:
            write_whole(output, _text(trials, planned, preset, where).encode())
    if print_json:
        print(_text(trials, planned, preset, where), end="")
    else:
        _show(trials, None if table != ALL else planned, preset)
    return report_failures([Failure(_name(trial), trial["reason"]) for trial in trials if trial["status"] == "failed"])


def known_to_start(file: Path, preset: str, where: Mapping[str, Any]) -> dict[str, Trial]:
    """The runs that start according to the file of an earlier command, by their keys; none if that command had another
    preset, machine or code.
    """
    if not file.exists():
        return {}
    try:
        content = json.loads(file.read_text())
        same = (content["preset"], content["machine"]) == (preset, where) and not where["commit"].endswith(" changes")
        trials = [Trial(**{**run, "notes": tuple(run.get("notes", ()))}) for run in content["runs"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} holds no smoke runs. Hint: name another file with --output") from error
    if not same:
        print(f"{file} is of another preset, machine or version of the code; all rows are tried again", file=sys.stderr)
        return {}
    return {trial.key: trial for trial in trials if trial.status == "ok"}


def _cells(table: str, rows: tuple[str, ...], columns: tuple[str, ...], preset: str, results: Path) -> list[Cell]:
    if table != ALL:
        found = table_named(table, results).in_preset(preset)
        named = {"rows": found.rows_named(names_of(rows)), "columns": found.columns_named(names_of(columns))}
        return cells_of(found, **named, preset=preset)
    if rows or columns:
        raise InputError("Rows and columns are those of one table, got them with the table all. Hint: name a table")
    return [cell for name in TABLES if TABLES[name].has(preset) for cell in _of_table(name, preset, results)]


def _of_table(name: str, preset: str, results: Path) -> list[Cell]:
    return cells_of(table_named(name, results), preset=preset)


def _text(
    trials: Sequence[Mapping[str, Any]], planned: Mapping[str, int], preset: str, where: Mapping[str, Any]
) -> str:
    return json_text(as_json(trials, planned=planned, preset=preset, machine=where))


def _name(trial: Mapping[str, Any]) -> str:
    return f"{trial['table']}, {trial['row']}, {trial['column']}"


def _show(trials: Sequence[Mapping[str, Any]], planned: Mapping[str, int] | None, preset: str) -> None:
    """Every run, or if there are many of them every table."""
    title = f"Two steps and one evaluation batch in the preset {preset}"
    content = by_row(trials)
    if planned is not None:
        summed = by_table(trials, planned)
        content = [tuple(summed[0]), *(tuple(map(str, row.values())) for row in summed)]
    show_trials(title, content, notes_of(trials))
