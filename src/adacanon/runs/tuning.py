"""Hyperparameters by Optuna, on the validation part alone.

Every method gets the same budget: some trials on one split. A trial is a run like any other, with its record in a file:
the study is rebuilt from these records, so that it can stop anywhere and go on.
"""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from adacanon.errors import InputError
from adacanon.extras import optional
from adacanon.runs.choices import chosen_file, write_choice
from adacanon.runs.pool import process_pool
from adacanon.runs.run import Run, Settings, relevant
from adacanon.runs.runner import Failure, run_missing
from adacanon.runs.table import Table
from adacanon.training.records import Record

TRIALS = 12
SPLIT = 0
LIMITS: Settings = {"epochs": 100, "patience": 25}
SearchSpace = dict[str, list[Any]]
"""The values that each hyperparameter may take."""


Find = Callable[[str], Table]
"""From the name of a table to the table; a function of a module, because processes find it by name."""


def tune(
    find: Find, name: str, rows: tuple[str, ...], columns: tuple[str, ...], file: Path, *, jobs: int, trials: int
) -> Path:
    """Studies of all rows and columns of the table ``find(name)``, some at a time.

    The records of trials go to ``file``, and the choices to ``chosen.json`` beside it, which ``run`` reads; its path is
    returned.
    """
    table = find(name)
    if jobs < 1:
        raise InputError(f"At least one study is done at a time, got jobs={jobs}")
    strangers = [column for column in columns if table.tuned and column not in table.tuned]
    if strangers:
        raise InputError(f"Studies of {table.name} are for {', '.join(table.tuned)}; got {', '.join(strangers)}")
    chosen = chosen_file(file.parent)
    pairs = [(row, column) for column in columns for row in rows]
    for (row, column), records in zip(pairs, _studies(find, name, pairs, file, jobs, trials), strict=True):
        choice = best(_search_space(table, row), records)
        write_choice(chosen, row, column, choice)
        accuracy = max(record["metrics"]["validation_accuracy"] for record in records)
        print(f"{row}, {column}: {choice}, validation accuracy {accuracy:.1f}", flush=True)
    return chosen


def _studies(
    find: Find, name: str, pairs: list[tuple[str, str]], file: Path, jobs: int, trials: int
) -> Iterator[list[Record]]:
    """The records of the studies of pairs of a row and a column, in their order."""
    if jobs == 1:
        yield from (_study_named(find, name, *pair, file, trials) for pair in pairs)
        return
    with process_pool(min(jobs, len(pairs))) as pool:
        for future in [pool.submit(_study_named, find, name, *pair, file, trials) for pair in pairs]:
            yield future.result()


def _study_named(find: Find, name: str, row: str, column: str, file: Path, trials: int) -> list[Record]:
    import torch

    torch.set_num_threads(1)
    return study(find(name), row, column, file, trials=trials)


def _search_space(table: Table, row: str) -> SearchSpace:
    if table.search_space is None:
        raise InputError(f"{table.name} has no hyperparameters to choose")
    return table.search_space(table.row(row))


def study(table: Table, row: str, column: str, file: Path, *, trials: int = TRIALS) -> list[Record]:
    """Run what is missing of a study and return the records of its trials in order; failed trials are left out."""
    space, records, failures = _search_space(table, row), list[Record](), list[Failure]()
    for number in range(trials):
        options = {**table.settings_of(row, column), **LIMITS, **_proposal(space, records, number), "trial": number}
        run = Run.of(f"{table.name}-tuning", row, column, SPLIT, options)
        failures += run_missing(table, [run], file, show=False)
        records += relevant([run], file)
    if not records:
        raise InputError(f"Every trial of {row} on {column} failed, the last one with {failures[-1]}")
    for failure in failures:
        warnings.warn(f"A trial is left out of the study: {failure}", stacklevel=2)
    return records


def best(space: SearchSpace, records: list[Record]) -> Settings:
    """The values of the trial with the best validation accuracy, ties broken by validation loss."""
    winner = max(records, key=lambda r: (r["metrics"]["validation_accuracy"], -r["metrics"]["validation_loss"]))
    return {name: winner["settings"][name] for name in space}


def _proposal(space: SearchSpace, records: list[Record], number: int) -> Settings:
    """The next trial of a study that knows the records so far."""
    with optional("adacanon tune"):
        import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=number, n_startup_trials=6)
    search = optuna.create_study(direction="maximize", sampler=sampler)
    distributions = {name: optuna.distributions.CategoricalDistribution(values) for name, values in space.items()}
    for record in records:
        search.add_trial(
            optuna.trial.create_trial(
                params={name: record["settings"][name] for name in space},
                distributions=distributions,  # type: ignore[arg-type]
                value=record["metrics"]["validation_accuracy"] - 1e-3 * record["metrics"]["validation_loss"],
            )
        )
    return search.ask(distributions).params  # type: ignore[arg-type]
