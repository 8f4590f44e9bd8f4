"""What smoke runs came to: a line for each, a table of each table, and all of it as JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Trial = Mapping[str, Any]
"""The fields of ``adacanon.runs.smoke.Trial``."""

WORDS = {"ok": "starts", "failed": "failed", "no data": "data not at hand", "stopped": "stopped"}
GIGABYTE = 1024


def trial_line(trial: Trial) -> str:
    """One trial in one line.

    Example:
        >>> trial_line({"table": "tu", "row": "GIN", "column": "PTC", "status": "ok", "seconds": 1.5, "megabytes": 300})
        'tu, GIN, PTC: starts, 1.5 s, 0.29 GB'
    """
    name = f"{trial['table']}, {trial['row']}, {trial['column']}: {WORDS[trial['status']]}"
    return name if trial["status"] == "no data" else f"{name}, {trial['seconds']:.1f} s, {gigabytes(trial)} GB"


def gigabytes(trial: Trial) -> str:
    """The peak of a trial."""
    return f"{trial['megabytes'] / GIGABYTE:.2f}"


def by_row(trials: Sequence[Trial]) -> list[tuple[str, ...]]:
    """A heading and a line for every trial."""
    heading = ("method", "column", "", "s", "peak GB", "steps", "parameters")
    return [heading, *(_line(trial) for trial in trials)]


def _line(trial: Trial) -> tuple[str, ...]:
    figures = (f"{trial['seconds']:.1f}", gigabytes(trial), str(trial["steps"]), f"{trial['parameters']:,}")
    shown = figures if trial["status"] != "no data" else ("–",) * len(figures)
    return trial["row"], trial["column"], WORDS[trial["status"]], *shown


def by_table(trials: Sequence[Trial], planned: Mapping[str, int]) -> list[dict[str, Any]]:
    """For every table, how many of its runs were tried and start, what they took together, and the largest memory.

    Args:
        planned: the runs of every table, whether they have been tried or not.
    """
    return [_summed(name, count, [t for t in trials if t["table"] == name]) for name, count in planned.items()]


def _summed(name: str, planned: int, trials: Sequence[Trial]) -> dict[str, Any]:
    largest = max(trials, key=lambda trial: trial["megabytes"], default=None)
    counts = {word: sum(trial["status"] == status for trial in trials) for status, word in WORDS.items()}
    return {
        "table": name,
        "runs": planned,
        "tried": len(trials),
        **counts,
        "processor seconds": round(sum(trial["processor_seconds"] for trial in trials)),
        "peak GB": "–" if largest is None else gigabytes(largest),
        "of": "–" if largest is None else largest["row"],
    }


def as_json(
    trials: Sequence[Trial], *, planned: Mapping[str, int], preset: str, machine: Mapping[str, Any]
) -> dict[str, Any]:
    """A title, one row for every table, and every trial."""
    where = f"{machine['cpu']}, threads: {machine['threads']}, torch {machine['torch']}"
    return {
        "title": f"Two optimizer steps and one evaluation batch in the preset `{preset}` ({where}).",
        "preset": preset,
        "machine": dict(machine),
        "rows": by_table(trials, planned),
        "runs": [{name: value for name, value in trial.items() if value not in ("", ())} for trial in trials],
    }


def json_text(content: Mapping[str, Any]) -> str:
    """As JSON, with a line for every run."""
    heads = {name: value for name, value in content.items() if name != "runs"}
    runs = ",\n".join(json.dumps(run, ensure_ascii=False) for run in content["runs"])
    return f'{json.dumps(heads, indent=1, ensure_ascii=False)[:-2]},\n "runs": [\n{runs}\n]}}\n'


def notes_of(trials: Sequence[Trial]) -> list[str]:
    """How runs differ from the real ones, each said once."""
    return list(dict.fromkeys(f"{trial['table']}: {text}" for trial in trials for text in trial["notes"]))
