"""A table and its rows: records that say what is compared, and how a cell is computed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from adacanon.errors import InputError, UnknownNameError
from adacanon.runs.choices import read_choices
from adacanon.runs.executors import Executor
from adacanon.runs.published import Published
from adacanon.runs.run import MIXED_PRECISION, Run, Settings, Training, missing


class Preparation(Protocol):
    """Computes what some runs share and leaves it on the disk, in parts that are kept as they are done."""

    def __call__(self, runs: Sequence["Run"], *, executor: Executor, show: bool) -> None:
        """``executor`` computes the parts; ``show`` asks for a progress bar."""


@dataclass(frozen=True)
class Row:
    """One row of a table. Its name is for people: it is looked up, and nothing is read from its spelling.

    Attributes:
        method: what is built, a name in the table's dictionary of builders.
        backbone: the network inside a method that is put around networks.
        base: the row of another table whose network or settings this row takes over.
        search: the kind of search by preset, for methods that search.
        settings: what the row has of its own in every preset.
        preset_settings: what it has in one preset only.
        published_only: whether the row shows figures of its authors, and nothing is run for it.
    """

    name: str
    method: str = ""
    backbone: str = ""
    base: str = ""
    search: Mapping[str, str] = field(default_factory=dict, hash=False)
    settings: Settings = field(default_factory=dict, hash=False)
    preset_settings: Mapping[str, Settings] = field(default_factory=dict, hash=False)
    published_only: bool = False

    def own_settings(self, preset: str) -> Settings:
        """What the row has of its own in a preset."""
        return {**self.settings, **self.preset_settings.get(preset, {})}


@dataclass(frozen=True)
class Table:
    """A table of the paper: what its rows and columns are, how a cell is computed, and what to know when reading it.

    Attributes:
        splits: how many splits a row and column get when none are asked for.
        most_splits: how many there are.
        settings: everything that a cell's result depends on, by row, column and preset; and by ``choices``, a keyword
            with the package's as default, where there are choices.
        execute: trains one run; a function of a module, because processes find it by name.
        metric: which of the metrics the table shows.
        extra_metrics: further metrics of a report, with their headings.
        reuses: a table whose records are taken over where method and settings are the same.
        choices: the folder of the package's own choices, where settings depend on what studies have chosen.
        published: the figures that the paper prints.
        aliases: other names of columns, such as those of files.
        presets: the presets that differ; one name if the settings are the same for all.
        variants: the table as it is in a preset that has rows or numbers of splits of its own.
        tuned: the columns that have studies, if not all.
        search_space: the hyperparameters of a row and their values, where they are chosen by a study.
        prepare: computes what the runs share, before the first of them.
        comparable: whether figures with these settings may be subtracted from the paper's.
        smoke: settings of smoke runs, which say how much is measured after the training; never a size of a network, an
            input or a batch.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]
    splits: Callable[[Row, str], int]
    most_splits: int
    settings: Callable[..., Settings]
    execute: Training
    metric: str = "accuracy"
    extra_metrics: tuple[tuple[str, str], ...] = ()
    search_space: Callable[[Row], dict[str, list[Any]]] | None = None
    reuses: str | None = None
    choices: Path | None = None
    published: Published = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    presets: tuple[str, ...] = ("cpu", "paper")
    variants: Mapping[str, "Table"] = field(default_factory=dict)
    tuned: tuple[str, ...] = ()
    prepare: Preparation | None = None
    comparable: Callable[[Settings], bool] = lambda settings: True
    smoke: Settings = field(default_factory=dict)

    @property
    def row_names(self) -> tuple[str, ...]:
        """In the order of the table."""
        return tuple(row.name for row in self.rows)

    def row(self, name: str) -> Row:
        """The row of that name."""
        return row_named(self.rows, name)

    def settings_of(self, name: str, column: str, preset: str = "cpu") -> Settings:
        """Everything that the result in a cell depends on, for the row of that name."""
        return self.settings(self.row(name), column, preset)

    def rows_named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Rows as the table spells them, whatever the case in which their names came."""
        return _spelled(f"Rows of {self.name}", self.row_names, names)

    def columns_named(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Columns as the table spells them, also by other names that they have."""
        return _spelled(f"Columns of {self.name}", self.columns, names, self.aliases)

    def under(self, results: Path) -> "Table":
        """The table with what studies have chosen in a results folder; itself if it depends on no studies."""
        if self.choices is None:
            return self
        variants = {preset: table.under(results) for preset, table in self.variants.items()}
        settings = partial(self.settings, choices=read_choices(self.choices, results))
        return replace(self, settings=settings, variants=variants)

    def has(self, preset: str) -> bool:
        """Whether there are runs in a preset; those of a table with one preset are the same in all."""
        return len(self.presets) == 1 or preset in self.presets

    def in_preset(self, preset: str) -> "Table":
        """The table with the rows and splits of a preset."""
        if not self.has(preset):
            raise InputError(f"{self.name} has the presets {', '.join(self.presets)}; got {preset}")
        if preset not in self.variants:
            return self
        return replace(self.variants[preset], published=self.published)

    def in_precision(self, precision: str) -> "Table":
        """The table in another precision, whose runs have keys of their own; itself for 32."""
        if precision == "32":
            return self
        variants = {preset: table.in_precision(precision) for preset, table in self.variants.items()}
        return replace(self, settings=partial(_mixed, self.settings, precision), variants=variants)

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
        table = self.in_preset(preset)
        if table is not self:
            return table.runs(rows=rows, columns=columns, splits=splits, preset=preset)
        return [
            Run.of(self.name, row.name, column, split, self.settings(row, column, preset))
            for column in columns or self.columns
            for split in range(self.most_splits)
            for row in map(self.row, rows or self.row_names)
            if not row.published_only and split < (splits or self.splits(row, column))
        ]


def _mixed(settings: Callable[..., Settings], precision: str, row: Row, column: str, preset: str) -> Settings:
    return {**settings(row, column, preset), MIXED_PRECISION: precision}


def row_named(rows: Iterable[Row], name: str) -> Row:
    """The row of that name among some rows."""
    known = {row.name: row for row in rows}
    if name not in known:
        raise UnknownNameError(f"Rows are {', '.join(known)}; got {name!r}")
    return known[name]


def records_by_row(table: Table, file: Path) -> dict[str, tuple[int, int]]:
    """For every row, how many of its runs have a record and how many there are."""
    runs = table.runs()
    todo = set(missing(runs, file))
    rows = {row: [run in todo for run in runs if run.row == row] for row in table.row_names}
    return {row: (missed.count(False), len(missed)) for row, missed in rows.items()}


def _spelled(
    what: str, known: tuple[str, ...], names: tuple[str, ...], aliases: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    spelling = {name.lower(): name for name in known} | {k.lower(): v for k, v in (aliases or {}).items()}
    unknown = [name for name in names if name.lower() not in spelling]
    if unknown:
        raise UnknownNameError(f"{what} are {', '.join(known)}; got {', '.join(unknown)}")
    return tuple(spelling[name.lower()] for name in names)
