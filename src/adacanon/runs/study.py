"""An Optuna study that is asked for trials and told how they ended, in any order that leaves its proposals the same."""

import warnings
from collections.abc import Sequence
from typing import Any

from adacanon.errors import InputError
from adacanon.extras import optional
from adacanon.runs.run import Outcome, Run, Settings
from adacanon.runs.table import Table
from adacanon.training.records import Record

STARTUP = 6
"""Trials at random, before those that follow from others."""
SPLIT = 0
LIMITS: Settings = {"epochs": 100, "patience": 25}
SearchSpace = dict[str, list[Any]]
"""The values that each hyperparameter may take."""


class Study:
    """The trials of one row and column.

    A trial at random depends on its number alone, so the first ones run side by side. Each of the others depends on all
    before it, and waits for them: the choices are those of one trial after the other.
    """

    def __init__(self, table: Table, row: str, column: str, trials: int) -> None:
        if trials < 1:
            raise InputError(f"A study needs at least one trial, got trials={trials}")
        self.table, self.row, self.column, self.trials = table, row, column, trials
        self.space = search_space(table, row)
        self._asked: dict[Run, int] = {}
        self._told: dict[int, Outcome] = {}

    def ready(self) -> Sequence[Run]:
        """The trials whose settings are known and that were not given out before."""
        numbers = range(len(self._asked), self.trials)
        known = [number for number in numbers if number < STARTUP or number == len(self._told)]
        runs = [self._trial(number) for number in known]
        self._asked.update(zip(runs, known, strict=True))
        return runs

    def first(self) -> list[Run]:
        """The trials at random, which depend on no others; asking for them gives none out."""
        return [self._trial(number) for number in range(min(STARTUP, self.trials))]

    def tell(self, outcome: Outcome) -> None:
        """How a trial ended."""
        self._told[self._asked[outcome.run]] = outcome

    def has(self, run: Run) -> bool:
        """Whether this study has asked for a run."""
        return run in self._asked

    @property
    def is_over(self) -> bool:
        """Whether all trials have ended."""
        return len(self._told) == self.trials

    def records(self) -> list[Record]:
        """Of the trials, in order; failed trials are left out, with a warning."""
        ended = [outcome for _, outcome in sorted(self._told.items())]
        failures = [f"{outcome.run.name}: {outcome.failure}" for outcome in ended if outcome.record is None]
        found = [outcome.record for outcome in ended if outcome.record is not None]
        if not found:
            raise InputError(f"Every trial of {self.row} on {self.column} failed, the last one with {failures[-1]}")
        for failure in failures:
            warnings.warn(f"A trial is left out of the study: {failure}", stacklevel=3)
        return found

    def _trial(self, number: int) -> Run:
        earlier = [self._told[i].record for i in range(number) if i in self._told]
        proposal = proposed(self.space, [record for record in earlier if record is not None], number)
        options = {**self.table.settings_of(self.row, self.column), **LIMITS, **proposal, "trial": number}
        return Run.of(f"{self.table.name}-tuning", self.row, self.column, SPLIT, options)


class Studies:
    """Several studies that share a fleet."""

    def __init__(self, studies: Sequence[Study]) -> None:
        self.studies = studies

    def ready(self) -> Sequence[Run]:
        """What any of them is ready for."""
        return [run for study in self.studies for run in study.ready()]

    def tell(self, outcome: Outcome) -> None:
        """Tell the study that has asked."""
        next(study for study in self.studies if study.has(outcome.run)).tell(outcome)


def search_space(table: Table, row: str) -> SearchSpace:
    """The hyperparameters of a row and their values."""
    if table.search_space is None:
        raise InputError(f"{table.name} has no hyperparameters to choose")
    return table.search_space(table.row(row))


def proposed(space: SearchSpace, records: Sequence[Record], number: int) -> Settings:
    """The next trial of a study that knows the records so far."""
    with optional("adacanon tune"):
        import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=number, n_startup_trials=STARTUP)
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
