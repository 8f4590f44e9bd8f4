"""A run is a frozen record; its key is the hash of its settings, and its result is one line in a file."""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from adacanon.errors import AdacanonError, DataError, ScoreError
from adacanon.training.checkpoint import remove_checkpoint
from adacanon.training.loop import TrainingControl
from adacanon.training.records import Record, read_records, versions

Settings = dict[str, Any]

INFINITE = "infinite"
"""Stands for infinity in settings: JSON has no word for it."""

MIXED_PRECISION = "mixed_precision"
"""The setting of runs in a precision other than 32, which have keys of their own."""

FAILURES = (AdacanonError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
"""What a run may end with; the next one goes on. A full disk or an interrupt ends them all."""


@dataclass(frozen=True)
class Run:
    """One training: a row and a column of a table, one of its splits, and everything that can change the result."""

    table: str
    row: str
    column: str
    split: int
    settings: str

    @classmethod
    def of(cls, table: str, row: str, column: str, split: int, settings: Settings) -> "Run":
        """A run with its settings in canonical JSON."""
        return cls(table, row, column, split, json.dumps(settings, sort_keys=True))

    @property
    def key(self) -> str:
        """A hash of the content: equal settings have equal keys, whatever the code."""
        content = json.dumps([self.table, self.row, self.column, self.split, self.settings])
        return hashlib.sha256(content.encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.row}, {self.column}, split {self.split + 1}"

    def options(self) -> Settings:
        """The settings as a dictionary."""
        return json.loads(self.settings)


def number(value: float | str) -> float:
    """The number that a value of settings stands for.

    Example:
        >>> number("infinite"), number(0.5)
        (inf, 0.5)
    """
    return math.inf if value == INFINITE else float(value)


Training = Callable[[Run, TrainingControl], dict[str, float]]
"""Trains one run and returns its metrics, with "seconds" for the time that it took, interruptions aside."""


class Outcome(NamedTuple):
    """A run with its record, or with the reason why it has none."""

    run: Run
    record: Record | None
    failure: str


def attempt(training: Training, run: Run, control: TrainingControl) -> Outcome:
    """Train a run, and turn its failure into a line of text."""
    try:
        return Outcome(run, execute(training, run, control), "")
    except FAILURES as error:
        return Outcome(run, None, f"{type(error).__name__}: {error}")


def execute(training: Training, run: Run, control: TrainingControl) -> Record:
    """Train a run and return its record."""
    metrics = dict(training(run, control))
    diverged = [name for name, value in metrics.items() if not math.isfinite(value)]
    if diverged:
        if control.checkpoint is not None:  # the training is over: nothing is left to go on from
            remove_checkpoint(control.checkpoint)
        raise ScoreError(f"The run ended with {', '.join(diverged)} not finite. Hint: lower the learning rate")
    seconds = round(metrics.pop("seconds"), 2)
    hardware = control.hardware
    return {
        "key": run.key,
        "table": run.table,
        "row": run.row,
        "column": run.column,
        "split": run.split,
        "settings": run.options(),
        "metrics": metrics,
        "seconds": seconds,
        "versions": versions(),
        **({} if hardware.is_default else {"machine": hardware.described()}),
    }


def taken_over(run: Run, others: list[Record]) -> Record | None:
    """The record of another table for the same method, column, split and settings, under the key of this run."""
    options = run.options()
    method = options.pop("method", run.row)
    for record in others:
        if (record["row"], record["column"], record["split"]) == (method, run.column, run.split) and record[
            "settings"
        ] == options:
            named = {"key": run.key, "table": run.table, "row": run.row, "settings": run.options()}
            return {**record, **named, "taken_over_from": record["key"]}
    return None


def checkpoint_of(run: Run, folder: Path) -> Path:
    """Where the state of a run is kept until its record is written."""
    return folder / f"{run.key}.pt"


def missing(runs: list[Run], file: Path) -> list[Run]:
    """The runs that have no record yet."""
    done = {_key_of(record) for record in read_records(file)}
    return [run for run in runs if run.key not in done]


def relevant(runs: list[Run], file: Path) -> list[Record]:
    """The records of these runs and no others, one each."""
    by_key: dict[Any, Run] = {run.key: run for run in runs}
    found = {_key_of(record): record for record in read_records(file)}
    return [_checked(file, record, by_key[key]) for key, record in found.items() if key in by_key]


def _checked(file: Path, record: Record, run: Run) -> Record:
    """The record of a run: whoever edits a file by hand must not move figures to another row."""
    fits = (record.get("row"), record.get("column"), record.get("split")) == (run.row, run.column, run.split)
    if not fits or not isinstance(record.get("metrics"), dict):
        raise DataError(
            f"{file}: the record {run.key} must name {run.row}, {run.column} and split {run.split}, and hold metrics, "
            f"got {json.dumps(record)[:120]}... Hint: restore the file from git, or remove the line"
        )
    return record


def _key_of(record: Record) -> str | None:
    """The key, where there is one: a list or an object is none."""
    key = record.get("key")
    return key if isinstance(key, str) else None
