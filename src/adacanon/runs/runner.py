"""Running the missing runs of a table, with progress bars and without losing the others when one fails."""

from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adacanon.errors import InputError
from adacanon.reports.paired import Comparison, compared
from adacanon.reports.progress import progress_bars, progress_line, progress_lines
from adacanon.reports.summary import Summary, summarise
from adacanon.runs.notes import read_notes
from adacanon.runs.pool import in_processes
from adacanon.runs.run import Outcome, Run, attempt, checkpoint_of, missing, relevant, taken_over
from adacanon.runs.table import Table
from adacanon.training.checkpoint import remove_checkpoint
from adacanon.training.loop import OnEpoch, TrainingControl
from adacanon.training.records import append_record, read_records

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Failure(NamedTuple):
    """The name of a run that failed, and why."""

    run: str
    reason: str

    def __str__(self) -> str:
        return f"{self.run}: {self.reason}"


def run_missing(
    table: Table, runs: list[Run], file: Path, *, jobs: int = 1, show: bool = True, checkpoint_every: float = 10.0
) -> list[Failure]:
    """Execute what has no record yet; returns what failed.

    Args:
        jobs: runs at a time; more than one go to processes of their own with one thread each.
        checkpoint_every: time between two checkpoints of a run.
    """
    if jobs < 1:
        raise InputError(f"At least one run is done at a time, got jobs={jobs}")
    _take_over(table, runs, file)
    todo, failures = missing(runs, file), list[Failure]()
    folder = file.parent / "checkpoints"
    _remove_finished(folder, runs, todo)
    if todo and table.prepare is not None:
        table.prepare(todo, show=show)
    with progress_bars(show=show) as progress:
        overall = progress.add_task(table.name, total=len(runs), completed=len(runs) - len(todo))
        if jobs > 1:
            source = in_processes(table.execute, todo, folder, jobs=jobs, checkpoint_every=checkpoint_every)
        else:
            source = _one_by_one(table, todo, folder, checkpoint_every, progress)
        with closing(source) as outcomes:
            for run, record, failure in outcomes:
                if record is None:
                    failures.append(Failure(run.name, failure))
                else:
                    append_record(file, record)
                    remove_checkpoint(checkpoint_of(run, folder))
                progress.update(overall, advance=1, description=f"{table.name}, last {run.name}")
                progress_line(progress, f"{run.name}: {'done' if record else 'failed'}")
    return failures


def _take_over(table: Table, runs: list[Run], file: Path) -> None:
    """What another table has run already is not run again."""
    others = read_records(file.with_name(f"{table.reuses}.jsonl")) if table.reuses else []
    for run in missing(runs, file) if others else []:
        record = taken_over(run, others)
        if record is not None:
            append_record(file, record)


def summary_of(table: Table, runs: list[Run], file: Path, *, notes: tuple[str, ...] | None = None) -> Summary:
    """The figures of these runs beside the paper's, with the notes beside the records, or others."""
    expected: dict[tuple[str, str], int] = {}
    columns = {run.column for run in runs}
    for row in table.rows:
        for column in table.columns:
            count = sum(run.row == row.name and run.column == column for run in runs)
            quoted = row.published_only and column in columns & set(table.published.get(row.name, {}))
            expected |= {(row.name, column): count} if count or quoted else {}
    return summarise(
        table.title,
        relevant(runs, file),
        expected=expected,
        published=table.published,
        notes=read_notes(file.parent, table.name) if notes is None else notes,
        metric=table.metric,
        extra_metrics=table.extra_metrics,
        comparable=all(table.comparable(run.options()) for run in runs),
    )


def comparison_of(table: Table, runs: list[Run], file: Path, row: str) -> Comparison:
    """A row minus each of the others, over the splits that both have."""
    (name,) = table.rows_named((row,))
    records = relevant(runs, file)
    found = compared(records, name, table.row_names, table.columns, title=table.title, metric=table.metric)
    if not found.differences:
        raise InputError(f"{name} shares no split with another row in {file}. Hint: adacanon run {table.name}")
    return found


def _one_by_one(
    table: Table, todo: list[Run], folder: Path, checkpoint_every: float, progress: "Progress"
) -> Generator[Outcome, None, None]:
    for run in todo:
        task = progress.add_task(run.name, total=run.options().get("epochs"))
        control = TrainingControl(checkpoint_of(run, folder), checkpoint_every, _advance(progress, task, run))
        yield attempt(table.execute, run, control)
        progress.remove_task(task)


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
