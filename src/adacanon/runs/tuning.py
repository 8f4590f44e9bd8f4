"""Hyperparameters by Optuna, on the validation part alone.

Every method gets the same budget: some trials on one split. A trial is a run like any other, with its record in a file:
the study is rebuilt from these records, so that it can stop anywhere and go on.
"""

from contextlib import closing
from pathlib import Path

from adacanon.errors import InputError
from adacanon.reports.progress import progress_bars, progress_line
from adacanon.runs.choices import chosen_file, write_choice
from adacanon.runs.executors import Executor, ThisProcess
from adacanon.runs.fleet import Fleet, check_writable
from adacanon.runs.run import Settings, missing
from adacanon.runs.study import SearchSpace, Studies, Study
from adacanon.runs.table import Table
from adacanon.training.records import Record

TRIALS = 12


def tune(
    table: Table,
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    file: Path,
    *,
    executor: Executor,
    trials: int,
    show: bool = False,
) -> Path:
    """Studies of all rows and columns of a table, which share the executor.

    The records of trials go to ``file``, and the choices to ``chosen.json`` beside it, which ``run`` reads; its path is
    returned.
    """
    strangers = [column for column in columns if table.tuned and column not in table.tuned]
    if strangers:
        raise InputError(f"Studies of {table.name} are for {', '.join(table.tuned)}; got {', '.join(strangers)}")
    chosen = chosen_file(file.parent)
    studies = [Study(table, row, column, trials) for column in columns for row in rows]
    _finish(table, studies, file, executor, show=show)
    for study in studies:
        records = study.records()
        choice = best(study.space, records)
        write_choice(chosen, study.row, study.column, choice)
        accuracy = max(record["metrics"]["validation_accuracy"] for record in records)
        print(f"{study.row}, {study.column}: {choice}, validation accuracy {accuracy:.1f}", flush=True)
    return chosen


def study(table: Table, row: str, column: str, file: Path, *, trials: int = TRIALS) -> list[Record]:
    """Run what is missing of a study and return the records of its trials in order; failed trials are left out."""
    one = Study(table, row, column, trials)
    _finish(table, [one], file, ThisProcess(), show=False)
    return one.records()


def best(space: SearchSpace, records: list[Record]) -> Settings:
    """The values of the trial with the best validation accuracy, ties broken by validation loss."""
    winner = max(records, key=lambda r: (r["metrics"]["validation_accuracy"], -r["metrics"]["validation_loss"]))
    return {name: winner["settings"][name] for name in space}


def _finish(table: Table, studies: list[Study], file: Path, executor: Executor, *, show: bool) -> None:
    check_writable(file)
    _prepare(table, studies, file, executor, show=show)
    with progress_bars(show=show) as progress:
        overall = progress.add_task(f"{table.name}, trials", total=sum(study.trials for study in studies))
        with closing(Fleet(table.execute, file, executor).outcomes(Studies(studies))) as outcomes:
            for outcome in outcomes:
                progress.update(overall, advance=1, description=f"{table.name}, last trial {outcome.run.name}")
                progress_line(progress, f"trial of {outcome.run.name}: {'done' if outcome.record else 'failed'}")


def _prepare(table: Table, studies: list[Study], file: Path, executor: Executor, *, show: bool) -> None:
    """What the first trials share. Later ones may have other bands; what they lack, they compute themselves."""
    todo = missing([run for study in studies for run in study.first()], file)
    if table.prepare is not None and todo:
        table.prepare(todo, executor=executor, show=show)
