"""Does a preset start? Two optimizer steps and one evaluation batch of a run in its full sizes, in its own process.

Nothing of it stays: there is no record and no checkpoint, and what the run keeps in the cache folder goes to a folder
that is removed.
"""

import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from adacanon.errors import AdacanonError, MissingDataError
from adacanon.folders import cache_folder
from adacanon.runs.run import FAILURES, Run, Settings, Training
from adacanon.runs.smoke_cache import SmokeCache
from adacanon.runs.table import Table
from adacanon.training.loop import TrainingControl
from adacanon.training.smoke import smoke

Status = Literal["ok", "failed", "no data", "stopped"]
PRELOADED = (__name__, "torch_geometric.data", "torch_geometric.nn", "adacanon.experiments.catalogue")
"""Imported once, by the process that all others are copies of: to import them for every row would take longer than most
rows.
"""


@dataclass(frozen=True)
class Trial:
    """What the smoke run of a row and column came to.

    Attributes:
        status: "no data" where a data set is not on this machine, "stopped" where time was up; ``steps`` says how far
            it came.
        reason: of a failure, or what is missing.
        seconds: from loading the data to the last figure.
        processor_seconds: of all cores together; on a machine that others use too, look at these.
        megabytes: the peak of the process, data sets and libraries included.
        grown: the same above what the process had before.
        steps: of all optimizers; more than two where a row trains several networks, none where it takes a network
            that another row has trained.
        parameters: of the network that was trained last.
        notes: how the run differs from the real one.
        key: of the run with the settings that were tried.
    """

    table: str
    row: str
    column: str
    status: Status
    reason: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    megabytes: int = 0
    grown: int = 0
    steps: int = 0
    parameters: int = 0
    notes: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True)
class Limits:
    """What a smoke run may take: threads, GB of memory, and seconds of a processor."""

    threads: int
    memory: float | None
    seconds: float | None


@dataclass(frozen=True)
class Cell:
    """A row and column of a table, with the run that is tried.

    Attributes:
        same: equal for runs that compute the same, which is then done once.
    """

    table: Table
    run: Run
    same: tuple[Any, ...]

    @property
    def batch(self) -> int | None:
        """Of a training step."""
        options = self.run.options()
        return options.get("network", options).get("batch")


def cells_of(
    table: Table, *, rows: tuple[str, ...] = (), columns: tuple[str, ...] = (), preset: str = "paper"
) -> list[Cell]:
    """The first splits of rows and columns. Without columns, every row in its first column and every column with its
    first row: all networks and all data sets are there, and the time stays bearable.
    """
    table = table.in_preset(preset)
    runs = table.runs(rows=rows, columns=columns, splits=1, preset=preset)
    runs = [run for run in runs if table.splits(table.row(run.row), run.column)]
    return [_cell(table, run, preset) for run in (runs if columns else _covering(runs))]


def _covering(runs: Sequence[Run]) -> list[Run]:
    """Some runs with every row and every column of these."""
    found, names = list[Run](), set[tuple[str, str]]()
    for run in runs:
        own = {("row", run.row), ("column", run.column)}
        if not own <= names:
            found.append(run)
            names |= own
    return found


def _cell(table: Table, run: Run, preset: str) -> Cell:
    row = table.row(run.row)
    short = replace(run, settings=Run.of("", "", "", 0, smoke_settings(run.options(), table.smoke)).settings)
    what = (row.method, row.backbone, row.base, row.search.get(preset, ""))
    return Cell(table, short, (table.reuses or table.name, *what, run.column, short.settings))


def smoke_settings(options: Settings, own: Settings) -> Settings:
    """The settings of a run with as many epochs as two steps take, one point of a grid, and what the table has of its
    own. Sizes of networks, inputs, batches and searches stay as they are.

    Example:
        >>> smoke_settings({"epochs": 250, "batch": 32, "draws": 50, "paths": 8}, {"paths": 1})
        {'epochs': 1, 'batch': 32, 'draws': 50, 'paths': 1}
    """
    found = {**options, **{name: value for name, value in own.items() if name in options}}
    if "epochs" in options:
        found["epochs"] = 1 if "batch" in options else 2  # without a batch, a step takes all samples
    if "grid" in options:
        found["grid"] = {name: values[:1] for name, values in options["grid"].items()}
    if "network" in options:
        found["network"] = smoke_settings(options["network"], {})
    return found


def tried(
    cells: Sequence[Cell],
    *,
    jobs: int = 1,
    threads: int = 1,
    most_memory: float | None = None,
    most_seconds: float | None = None,
) -> Generator[Trial, None, None]:
    """The trials of some cells, in their order, each in a process of its own.

    Args:
        jobs: processes at a time.
        threads: of torch in each of them.
        most_memory: of each of them, in GB; nine tenths of what the machine has left, if not given.
        most_seconds: of a processor for each of them, after which it is stopped.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*PRELOADED, *{cell.table.execute.__module__ for cell in cells}])
    first: dict[tuple[Any, ...], Cell] = {}
    for cell in cells:
        first.setdefault(cell.same, cell)
    limits = Limits(threads, most_memory or free_memory(jobs), most_seconds)
    with SmokeCache() as cache, ThreadPoolExecutor(jobs) as pool:
        children = _Children()
        futures = {
            same: pool.submit(_in_process, context, cell, cache, limits, children) for same, cell in first.items()
        }
        try:
            for cell in cells:
                yield _named(cell, first[cell.same], futures[cell.same].result())
        finally:
            for future in futures.values():
                future.cancel()
            children.end()


class _Children:
    """The processes of a command, which end with it; one that starts later is ended at once."""

    def __init__(self) -> None:
        self._started: list[Any] = []
        self._ended = False
        self._lock = threading.Lock()

    def start(self, process: Any) -> None:
        with self._lock:
            process.start()
            self._started.append(process)
            if self._ended:
                process.terminate()

    def end(self) -> None:
        with self._lock:
            self._ended = True
            for process in self._started:
                process.terminate()


def _named(cell: Cell, done: Cell, trial: Trial) -> Trial:
    """A trial under the name of a cell that computes the same as the one that was done."""
    if cell is done:
        return trial
    run, notes = cell.run, (*trial.notes, f"the same run as {done.run.table}, {done.run.row}")
    named = replace(trial, table=run.table, row=run.row, column=run.column, notes=notes, key=run.key)
    return replace(named, seconds=0.0, processor_seconds=0.0)


def _in_process(context: Any, cell: Cell, cache: SmokeCache, limits: Limits, children: _Children) -> Trial:
    receiver, sender = context.Pipe(duplex=False)
    with cache.of_one_run() as folder:
        arguments = (sender, cell.table.execute, cell.run, cell.batch, folder, limits)
        process = context.Process(target=_child, args=arguments, daemon=True)
        children.start(process)
        sender.close()
        try:
            trial: Trial | None = receiver.recv()
        except EOFError:
            trial = None
        process.join()
    run = cell.run
    if trial is None:
        return Trial(run.table, run.row, run.column, "failed", f"its process ended with {process.exitcode}")
    return replace(trial, reason=trial.reason.replace(str(folder), str(cache_folder())))


def _child(sender: Connection, training: Training, run: Run, batch: int | None, cache: Path, limits: Limits) -> None:
    threading.Thread(target=_end_with_command, daemon=True).start()
    torch.set_num_threads(limits.threads)
    SmokeCache.enter(cache)
    if limits.memory is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (int(limits.memory * 2**30),) * 2)
    if limits.seconds is not None:
        signal.signal(signal.SIGPROF, _time_is_up)
        signal.setitimer(signal.ITIMER_PROF, limits.seconds)
    sender.send(trial_of(training, run, batch))


class TimeIsUpError(AdacanonError):
    """A smoke run has had the time that it was given."""


def _time_is_up(number: int, frame: Any) -> None:
    raise TimeIsUpError("Its time was up")


def _end_with_command() -> None:
    """When the command is killed, nobody is left to hear of this run."""
    command = multiprocessing.parent_process()
    if command is not None:
        command.join()
        os._exit(1)


def trial_of(training: Training, run: Run, batch: int | None) -> Trial:
    """Try a run in this process; a failure becomes a line of text."""
    counted = _Counted()
    before, begin, processor = peak_megabytes(), time.perf_counter(), time.process_time()
    status: Status = "ok"
    reason = ""
    with smoke(batch) as current, counted:
        try:
            training(run, TrainingControl())
        except MissingDataError as error:
            status, reason = "no data", str(error)
        except TimeIsUpError as error:
            status, reason = "stopped", str(error)
        except (*FAILURES, MemoryError) as error:
            status, reason = "failed", f"{type(error).__name__}: {error}"
    peak = peak_megabytes()
    return Trial(
        run.table,
        run.row,
        run.column,
        status,
        reason,
        round(time.perf_counter() - begin, 1),
        round(time.process_time() - processor, 1),
        peak,
        peak - before,
        counted.steps,
        counted.parameters,
        tuple(current.notes),
        run.key,
    )


class _Counted:
    """Counts the steps of all optimizers inside a block, and the parameters of the last one."""

    steps = 0
    parameters = 0

    def __enter__(self) -> "_Counted":
        self._handle = register_optimizer_step_post_hook(self._step)
        return self

    def __exit__(self, *error: object) -> None:
        self._handle.remove()

    def _step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.steps += 1
        self.parameters = sum(p.numel() for group in optimizer.param_groups for p in group["params"])


def peak_megabytes() -> int:
    """The largest memory that this process has had so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / 2**20 if sys.platform == "darwin" else peak / 2**10)


def free_memory(jobs: int) -> float | None:
    """Nine tenths of what the machine has left, in GB and for each job. A run that needs more fails by itself, and the
    machine need not end some other process. None where this is not known.
    """
    with suppress(FileNotFoundError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 0.9 * int(line.split()[1]) / 2**20 / jobs
    return None
