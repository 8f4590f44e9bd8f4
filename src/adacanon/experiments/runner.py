"""Running the missing runs of a table, with a progress bar and without losing the others when one fails."""

from collections.abc import Callable
from pathlib import Path

from adacanon.experiments.run import OnEpoch, Run, Table, complete, missing, relevant
from adacanon.experiments.tables import published
from adacanon.reports.summary import Summary, summarise


def run_missing(table: Table, runs: list[Run], file: Path, *, show: bool = True) -> list[str]:
    """Execute what has no record yet, one run after the other; returns a line for every run that failed."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    todo, failures = missing(runs, file), []
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, disable=not show) as progress:
        overall = progress.add_task(table.name, total=len(runs), completed=len(runs) - len(todo))
        for run in todo:
            name = f"{run.row}, split {run.split + 1}"
            task = progress.add_task(name, total=run.options().get("epochs"))
            try:
                complete(table, run, file, on_epoch=_advance(progress.update, task, name))
            except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
                failures.append(f"{name}: {type(error).__name__}: {error}")
            progress.remove_task(task)
            progress.advance(overall)
    return failures


def summary_of(table: Table, runs: list[Run], file: Path, *, notes: tuple[str, ...] | None = None) -> Summary:
    """The figures of these runs beside the paper's, with the table's notes or others."""
    expected: dict[tuple[str, str], int] = {}
    for run in runs:
        expected[run.row, run.column] = expected.get((run.row, run.column), 0) + 1
    return summarise(
        table.title,
        relevant(runs, file),
        expected=expected,
        published=published(table.name),
        notes=table.notes if notes is None else notes,
    )


def _advance(update: Callable[..., None], task: int, name: str) -> OnEpoch:
    return lambda epoch, loss: update(task, completed=epoch, description=f"{name}, loss {loss:.3f}")
