"""Commands on tables: what there is, run, tune, report."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from adacanon.commands.options import (
    RESULTS,
    THREADS,
    Device,
    Place,
    Precision,
    Preset,
    check_amount,
    names_of,
    report_failures,
    set_threads,
)
from adacanon.commands.smoke import smoke_command
from adacanon.errors import InputError
from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.experiments.data_sets import clouds, graphs, molecules
from adacanon.files import write_whole
from adacanon.reports.paired import Comparison, comparison_html, comparison_markdown
from adacanon.reports.render import to_html, to_markdown
from adacanon.reports.summary import Summary
from adacanon.reports.terminal import Progress, show_comparison, show_data_sets, show_progress, show_summary
from adacanon.runs.executors import Executor, Hardware, check_jobs, executor_named, follow, is_follower
from adacanon.runs.room import check_room
from adacanon.runs.run import Run
from adacanon.runs.runner import comparison_of, run_missing, summary_of
from adacanon.runs.table import Table, records_by_row
from adacanon.runs.tuning import TRIALS, tune


@dataclass(frozen=True)
class List:
    """List the tables with their rows and how many runs have a record, and the data sets with their counts."""

    results: Path = RESULTS
    """Folder of the records."""

    def __call__(self) -> int:
        _check_folder(self.results)
        tables = {name: table_named(name, self.results) for name in TABLES}
        counts = {name: records_by_row(table, _file(self.results, table)) for name, table in tables.items()}
        show_progress(Progress(name, _title(TABLES[name]), rows) for name, rows in counts.items())
        for data_sets in (graphs(), molecules(), clouds()):
            show_data_sets(data_sets)
        return 0


@dataclass(frozen=True)
class Execute:
    """Run a table: every run that has no record yet is trained and its record appended."""

    table: tyro.conf.Positional[str]
    """Name of the table, see ``adacanon list``."""
    rows: tuple[str, ...] = ()
    """Only these rows, separated by spaces or commas."""
    columns: tuple[str, ...] = ()
    """Only these columns of the table, such as data sets, separated by spaces or commas."""
    splits: int | None = None
    """This many splits per cell instead of the table's own number."""
    preset: Preset | None = None
    """``cpu``, the default: sizes and epochs as they fit on a processor; ``paper``: those of the paper; ``full``, of
    `modelnet` and `modelnet-z`: all of ModelNet40, for some rows, in days of a processor. Some tables have one preset
    only; ``adacanon list`` says which."""
    jobs: int | None = None
    """Runs at a time, each in a process with one thread; one, or all that a cluster has room for."""
    executor: Place = "local"
    """``local``: processes of this machine; ``ray``: a Ray cluster, which needs ``adacanon[cluster]``."""
    address: str = ""
    """HOST:PORT of a running Ray cluster, or auto; without it, one is started for the command and stopped after it."""
    cpus_per_run: float = 1.0
    """Processors that Ray reserves for a run; its threads."""
    gpus_per_run: float = 0.0
    """Graphics processors that Ray reserves for a run."""
    device: Device = "cpu"
    """``cpu``, the default; ``cuda``, ``mps``; ``auto``: the first of cuda, mps and cpu that there is. All but ``cpu``
    need ``adacanon[devices]``."""
    precision: Precision = "32"
    """``32``, the default; ``bf16`` or ``16`` compute large products in fewer bits. Their records are apart from those
    of 32."""
    devices: int = 1
    """Processes of this machine that share the batches of each run, each with a device of its own."""
    nodes: int = 1
    """Machines that do so; the same command is started on each of them."""
    threads: int = THREADS
    """Threads of torch, if there is one job; two, or ``OMP_NUM_THREADS``. Processes share them."""
    checkpoint_every: float = 10.0
    """Seconds between two checkpoints of a run."""
    results: Path = RESULTS
    """Folder of the records, and of the choices of ``tune`` if it holds any."""
    smoke: bool = False
    """Does it start? Two optimizer steps and one evaluation batch of every row in the full sizes of the preset, and the
    memory that they take. No record is written. The table ``all`` stands for all tables."""
    most_memory: float | None = None
    """With ``--smoke``: GB that a row may take before it counts as failed; nine tenths of what is free."""
    most_seconds: float | None = None
    """With ``--smoke``: seconds of a processor after which a row is stopped; the others go on."""
    output: Path | None = None
    """With ``--smoke``: also write what was found to this file, as JSON."""
    json: bool = False
    """With ``--smoke``: print what was found as JSON."""

    def __call__(self) -> int:
        if self.smoke:
            return self._smoke()
        if self.json or self.output is not None:
            raise InputError("run has --json and --output with --smoke only. Hint: adacanon report has both")
        if self.most_memory is not None or self.most_seconds is not None:
            raise InputError("--most-memory and --most-seconds are for smoke runs. Hint: add --smoke")
        set_threads(self.threads)
        check_amount("--checkpoint-every", self.checkpoint_every, or_zero=True)
        table, file = _table(self.table, self.results, self.precision, self.preset)
        runs = _runs(table, self.rows, self.columns, self.splits, self.preset)
        executor = _executor(self)
        set_threads(max(1, self.threads // self.devices))  # Fabric may have set others
        if is_follower(executor):
            return follow(executor)
        with executor:
            failures = run_missing(table, runs, file, executor=executor, checkpoint_every=self.checkpoint_every)
        if len(failures) < len(runs):
            show_summary(summary_of(table, runs, file))
        return report_failures(failures)

    def _smoke(self) -> int:
        if (self.executor, self.address, self.cpus_per_run, self.gpus_per_run) != ("local", "", 1.0, 0.0):
            raise InputError(
                "Smoke runs are for the machine that they run on. Hint: leave --executor, --address, --cpus-per-run "
                "and --gpus-per-run out"
            )
        if (self.device, self.precision, self.devices, self.nodes) != ("cpu", "32", 1, 1):
            raise InputError(
                "Smoke runs are made by one process on the processor in 32 bits. Hint: leave --device, --precision, "
                "--devices and --nodes out"
            )
        set_threads(self.threads)
        check_amount("--most-memory", self.most_memory)
        check_amount("--most-seconds", self.most_seconds)
        check_jobs(self.jobs)
        return smoke_command(
            self.table,
            self.rows,
            self.columns,
            preset=self.preset or "cpu",
            jobs=1 if self.jobs is None else self.jobs,
            threads=self.threads,
            most_memory=self.most_memory,
            most_seconds=self.most_seconds,
            results=self.results,
            output=self.output,
            print_json=self.json,
        )


@dataclass(frozen=True)
class Tune:
    """Choose hyperparameters on the validation part, by Optuna studies.

    Choices go to ``chosen.json`` in the folder of the records. ``run`` and ``report`` with the same folder use them
    from then on, before the choices of the package.
    """

    table: tyro.conf.Positional[str]
    """Name of the table, see ``adacanon list``."""
    rows: tuple[str, ...] = ()
    """Only these rows, separated by spaces or commas."""
    columns: tuple[str, ...] = ()
    """Only these columns of the table, such as data sets, separated by spaces or commas."""
    trials: int = TRIALS
    """Trials per row and column."""
    jobs: int | None = None
    """Trials at a time, each in a process with one thread; one, or all that a cluster has room for."""
    executor: Place = "local"
    """``local``: processes of this machine; ``ray``: a Ray cluster, which needs ``adacanon[cluster]``."""
    address: str = ""
    """HOST:PORT of a running Ray cluster, or auto; without it, one is started for the command and stopped after it."""
    cpus_per_run: float = 1.0
    """Processors that Ray reserves for a run; its threads."""
    gpus_per_run: float = 0.0
    """Graphics processors that Ray reserves for a run."""
    device: Device = "cpu"
    """``cpu``, the default; ``cuda``, ``mps``; ``auto``: the first of cuda, mps and cpu that there is. All but ``cpu``
    need ``adacanon[devices]``."""
    precision: Precision = "32"
    """``32``, the default; ``bf16`` or ``16`` compute large products in fewer bits. Their records are apart from those
    of 32."""
    devices: int = 1
    """Processes of this machine that share the batches of each run, each with a device of its own."""
    nodes: int = 1
    """Machines that do so; the same command is started on each of them."""
    results: Path = RESULTS
    """Folder of the records and of the choices."""

    def __call__(self) -> int:
        table, _ = _table(self.table, self.results, self.precision)
        rows = table.rows_named(names_of(self.rows)) or table.row_names
        columns = table.columns_named(names_of(self.columns)) or table.tuned or table.columns
        records = self.results / f"{table.name}-tuning.jsonl"
        executor = _executor(self)
        set_threads(1)
        if is_follower(executor):
            return follow(executor)
        studied = table_named(table.name).in_precision(self.precision)
        with executor:  # earlier choices of the folder do not enter a study
            chosen = tune(studied, rows, columns, records, executor=executor, trials=self.trials, show=True)
        print(f"The choices: {chosen}")
        return 0


@dataclass(frozen=True)
class Report:
    """Show a table from its records: the paper's figures beside ours, or one row against the others."""

    table: tyro.conf.Positional[str]
    """Name of the table, see ``adacanon list``."""
    rows: tuple[str, ...] = ()
    """Only these rows, separated by spaces or commas."""
    columns: tuple[str, ...] = ()
    """Only these columns of the table, such as data sets, separated by spaces or commas."""
    splits: int | None = None
    """This many splits per cell instead of the table's own number."""
    preset: Preset | None = None
    """Whose runs are shown, ``cpu`` by default; some tables have one preset only."""
    precision: Precision = "32"
    """Whose runs are shown, ``32`` by default."""
    against: str = ""
    """Instead of the table, this row minus each of the others: the mean of the differences over the splits that both
    have, with its standard error."""
    format: Literal["terminal", "markdown", "html", "json"] = "terminal"
    """What to print."""
    json: bool = False
    """Short for ``--format json``."""
    output: Path | None = None
    """Write to this file instead of printing."""
    results: Path = RESULTS
    """Folder of the records, and of the choices of ``tune`` if it holds any."""

    def __call__(self) -> int:
        _check_folder(self.results)
        if self.output is not None:
            check_room("Reports", self.output, option="--output")
        table, file = _table(self.table, self.results, self.precision, self.preset)
        runs = _runs(table, self.rows, self.columns, self.splits, self.preset)
        if not file.exists():
            print(f"There are no records in {file}; see adacanon run --help", file=sys.stderr)
        report = comparison_of(table, runs, file, self.against) if self.against else summary_of(table, runs, file)
        text = _rendered(report, self._format())
        if text is None:
            show_comparison(report) if isinstance(report, Comparison) else show_summary(report)
        elif self.output is None:
            print(text, end="")
        else:
            write_whole(self.output, text.encode())
        return 0

    def _format(self) -> str:
        """As asked for, or as the name of the output file says."""
        if self.json or self.format != "terminal" or self.output is None:
            return "json" if self.json else self.format
        return {".html": "html", ".json": "json"}.get(self.output.suffix, "markdown")


def _executor(command: Execute | Tune) -> Executor:
    return executor_named(
        command.executor,
        address=command.address,
        jobs=command.jobs,
        cpus=command.cpus_per_run,
        gpus=command.gpus_per_run,
        hardware=Hardware(command.device, command.precision, command.devices, command.nodes),
    )


def _runs(
    table: Table, rows: tuple[str, ...], columns: tuple[str, ...], splits: int | None, preset: Preset | None
) -> list[Run]:
    if preset is not None and len(table.presets) == 1:
        print(f"{table.name} has one preset only: --preset {preset} changes nothing.", file=sys.stderr)
    return table.runs(
        rows=table.rows_named(names_of(rows)),
        columns=table.columns_named(names_of(columns)),
        splits=splits,
        preset=preset or "cpu",
    )


def _table(name: str, results: Path, precision: str, preset: Preset | None = None) -> tuple[Table, Path]:
    table = table_named(name, results).in_preset(preset or "cpu").in_precision(precision)
    return table, _file(results, table)


def _check_folder(results: Path) -> None:
    if results.exists() and not results.is_dir():
        raise InputError(f"--results takes the folder of the records, got the file {results}")


def _file(results: Path, table: Table) -> Path:
    return results / f"{table.name}.jsonl"


def _rendered(report: Summary | Comparison, format: str) -> str | None:
    """The report as text; None for the terminal, which has a width."""
    if format == "terminal":
        return None
    if format == "json":
        return json.dumps(report.as_json(), indent=2) + "\n"
    if isinstance(report, Comparison):
        return comparison_markdown(report) if format == "markdown" else comparison_html(report)
    return to_markdown(report) if format == "markdown" else to_html(report)


def _title(table: Table) -> str:
    return table.title + (" (one preset)" if len(table.presets) == 1 else "")
