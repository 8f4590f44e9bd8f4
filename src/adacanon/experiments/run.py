"""A run is a frozen record; its key is the hash of its settings, and its result is one line in a file."""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from adacanon.errors import AdacanonError, InputError, ScoreError
from adacanon.experiments.choices import Choices
from adacanon.training.checkpoint import remove_checkpoint
from adacanon.training.loop import Sitting
from adacanon.training.records import Record, read_records, versions

Settings = dict[str, Any]

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


Training = Callable[[Run, Sitting], dict[str, float]]
"""Trains one run and returns its metrics, with "seconds" for the time that it took in all sittings."""


class Preparation(Protocol):
    """Computes what some runs share and leaves it on the disk."""

    def __call__(self, runs: Sequence["Run"], *, show: bool) -> None:
        """``show`` asks for a progress bar."""


class Outcome(NamedTuple):
    """A run with its record, or with the reason why it has none."""

    run: Run
    record: Record | None
    failure: str


@dataclass(frozen=True)
class Table:
    """A table of the paper: what its rows and columns are, how a cell is computed, and what to know when reading it.

    Attributes:
        splits: how many splits a row and column get when none are asked for.
        most_splits: how many there are.
        settings: everything that a cell's result depends on, by row, column and preset; and by ``choices``, a keyword
            with the package's as default, if ``reads_choices``.
        execute: trains one run; a function of a module, because processes find it by name.
        metric: which of the metrics the table shows.
        also: further metrics of a report, by heading.
        shares: a table whose records are taken over where method and settings are the same.
        reads_choices: whether settings depend on what studies have chosen.
        tuned: the columns that have studies, if not all.
        space: the hyperparameters of a row and their values, where they are chosen by a study.
        prepare: computes what the runs share, before the first of them.
        comparable: whether figures with these settings may be subtracted from the paper's.
    """

    name: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    splits: Callable[[str, str], int]
    most_splits: int
    settings: Callable[..., Settings]
    execute: Training
    notes: tuple[str, ...] = ()
    metric: str = "accuracy"
    also: tuple[tuple[str, str], ...] = ()
    space: Callable[[str], dict[str, list[Any]]] | None = None
    shares: str | None = None
    reads_choices: bool = False
    tuned: tuple[str, ...] = ()
    prepare: Preparation | None = None
    comparable: Callable[[Settings], bool] = lambda settings: True

    def under(self, choices: Choices) -> "Table":
        """The table with what studies have chosen; itself if it depends on no studies."""
        return replace(self, settings=partial(self.settings, choices=choices)) if self.reads_choices else self

    def runs(
        self,
        *,
        rows: tuple[str, ...] = (),
        columns: tuple[str, ...] = (),
        splits: int | None = None,
        preset: str = "cpu",
    ) -> list[Run]:
        """The runs of the chosen rows and columns, the first splits of all of them first."""
        if splits is not None and not 1 <= splits <= self.most_splits:
            raise InputError(f"{self.name} has splits 1 to {self.most_splits}, got {splits}")
        return [
            Run.of(self.name, row, column, split, self.settings(row, column, preset))
            for column in columns or self.columns
            for split in range(self.most_splits)
            for row in rows or self.rows
            if split < (splits or self.splits(row, column))
        ]


def attempt(training: Training, run: Run, sitting: Sitting) -> Outcome:
    """Train a run, and turn its failure into a line of text."""
    try:
        return Outcome(run, execute(training, run, sitting), "")
    except FAILURES as error:
        return Outcome(run, None, f"{type(error).__name__}: {error}")


def execute(training: Training, run: Run, sitting: Sitting) -> Record:
    """Train a run and return its record."""
    metrics = dict(training(run, sitting))
    diverged = [name for name, value in metrics.items() if not math.isfinite(value)]
    if diverged:
        if sitting.checkpoint is not None:  # the training is over: nothing is left to go on from
            remove_checkpoint(sitting.checkpoint)
        raise ScoreError(f"The run ended with {', '.join(diverged)} not finite. Hint: lower the learning rate")
    seconds = round(metrics.pop("seconds"), 2)
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
    done = {record.get("key") for record in read_records(file)}
    return [run for run in runs if run.key not in done]


def records_by_row(table: Table, file: Path) -> dict[str, tuple[int, int]]:
    """For every row, how many of its runs have a record and how many there are."""
    runs = table.runs()
    todo = set(missing(runs, file))
    rows = {row: [run in todo for run in runs if run.row == row] for row in table.rows}
    return {row: (missed.count(False), len(missed)) for row, missed in rows.items()}


def relevant(runs: list[Run], file: Path) -> list[Record]:
    """The records of these runs and no others, one each."""
    keys = {run.key for run in runs}
    found = {record.get("key"): record for record in read_records(file)}
    return [record for key, record in found.items() if key in keys]
