"""Running the missing runs of a table, with progress bars and without losing the others when one fails."""

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adacanon.errors import InputError
from adacanon.reports.paired import Comparison, compared
from adacanon.reports.progress import progress_bars, progress_line, progress_lines
from adacanon.reports.summary import Summary, summarise
from adacanon.runs.executors import Executor, executor_named
from adacanon.runs.fleet import Fleet, Listed, check_writable
from adacanon.runs.notes import read_notes
from adacanon.runs.run import Run, checkpoint_of, missing, relevant, taken_over
from adacanon.runs.table import Table
from adacanon.training.checkpoint import remove_checkpoint
from adacanon.training.loop import OnEpoch
from adacanon.training.records import Record, append_record, read_records

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Failure(NamedTuple):
    """The name of a run that failed, and why."""

    run: str
    reason: str

    def __str__(self) -> str:
        return f"{self.run}: {self.reason}"


def run_missing(
    table: Table,
    runs: list[Run],
    file: Path,
    *,
    executor: Executor | None = None,
    jobs: int = 1,
    show: bool = True,
    checkpoint_every: float = 10.0,
) -> list[Failure]:
    """Execute what has no record yet; returns what failed. Other commands may do the same at the same time.

    Args:
        executor: where runs are computed; without one, on this machine.
        jobs: runs at a time on this machine; more than one go to processes of their own with one thread each.
        checkpoint_every: time between two checkpoints of a run.
    """
    if executor is None:
        with executor_named(jobs=jobs) as own:
            return run_missing(table, runs, file, executor=own, show=show, checkpoint_every=checkpoint_every)
    _take_over(table, runs, file)
    todo, failures = missing(runs, file), list[Failure]()
    _remove_finished(file.parent / "checkpoints", runs, todo)
    if not todo:
        return []
    check_writable(file)
    if table.prepare is not None:
        table.prepare(todo, executor=executor, show=show)
    with progress_bars(show=show) as progress:
        overall = progress.add_task(table.name, total=len(runs), completed=len(runs) - len(todo))
        bars = _EpochBars(progress)
        fleet = Fleet(table.execute, file, executor, checkpoint_every=checkpoint_every, on_epoch=bars.of)
        with closing(fleet.outcomes(Listed(todo))) as outcomes:
            for run, record, failure in outcomes:
                bars.remove()
                if record is None:
                    failures.append(Failure(run.name, failure))
                progress.update(overall, advance=1, description=f"{table.name}, last {run.name}")
                progress_line(progress, f"{run.name}: {'done' if record else 'failed'}")
    return failures


def _take_over(table: Table, runs: list[Run], file: Path) -> None:
    """What another table has run already is not run again."""
    others = read_records(file.with_name(f"{table.reuses}.jsonl")) if table.reuses else []
    for run in missing(runs, file) if others else []:
        record = taken_over(run, others)
        if record is not None:
            append_record(file, record, once="key")


def summary_of(table: Table, runs: list[Run], file: Path, *, notes: tuple[str, ...] | None = None) -> Summary:
    """The figures of these runs beside the paper's, with the notes beside the records, or others."""
    expected: dict[tuple[str, str], int] = {}
    columns = {run.column for run in runs}
    for row in table.rows:
        for column in table.columns:
            count = sum(run.row == row.name and run.column == column for run in runs)
            quoted = row.published_only and column in columns & set(table.published.get(row.name, {}))
            expected |= {(row.name, column): count} if count or quoted else {}
    records = relevant(runs, file)
    own = read_notes(file.parent, table.name) if notes is None else notes
    return summarise(
        table.title,
        records,
        expected=expected,
        published=table.published,
        notes=(*own, *machine_notes(records)),
        metric=table.metric,
        extra_metrics=table.extra_metrics,
        comparable=all(table.comparable(run.options()) for run in runs),
    )


def machine_notes(records: list[Record]) -> tuple[str, ...]:
    """What a reader must know of records that do not come from one process of a processor in precision 32.

    Example:
        >>> machine_notes([{"machine": {"device": "cpu", "precision": "bf16", "processes": 2, "nodes": 1}}, {}])
        ('1 of 2 records: computed on cpu, precision bf16, processes 2.',)
    """
    kinds = Counter(
        f"computed on {machine['device']}, precision {machine['precision']}, processes {machine['processes']}"
        for machine in (record.get("machine") for record in records)
        if machine
    )
    return tuple(f"{count} of {len(records)} records: {kind}." for kind, count in sorted(kinds.items()))


def comparison_of(table: Table, runs: list[Run], file: Path, row: str) -> Comparison:
    """A row minus each of the others, over the splits that both have."""
    (name,) = table.rows_named((row,))
    records = relevant(runs, file)
    found = compared(records, name, table.row_names, table.columns, title=table.title, metric=table.metric)
    if not found.differences:
        raise InputError(f"{name} shares no split with another row in {file}. Hint: adacanon run {table.name}")
    return found


class _EpochBars:
    """A bar for the epochs of the run that is trained in this process."""

    def __init__(self, progress: "Progress") -> None:
        self.progress = progress
        self.tasks: list[TaskID] = []

    def of(self, run: Run) -> OnEpoch:
        task = self.progress.add_task(run.name, total=run.options().get("epochs"))
        self.tasks.append(task)
        return _advance(self.progress, task, run)

    def remove(self) -> None:
        while self.tasks:
            self.progress.remove_task(self.tasks.pop())


def _remove_finished(folder: Path, runs: list[Run], todo: list[Run]) -> None:
    """A run that was stopped between its record and this has left its checkpoint behind."""
    for run in set(runs) - set(todo):
        remove_checkpoint(checkpoint_of(run, folder))


def _advance(progress: "Progress", task: "TaskID", run: Run) -> OnEpoch:
    line, epochs = progress_lines(progress), run.options().get("epochs", "?")

    def advance(epoch: int, loss: float) -> None:
        progress.update(task, completed=epoch, description=f"{run.name}, loss {loss:.3f}")
        line(f"{run.name}: epoch {epoch} of {epochs}, loss {loss:.3f}")

    return advance
