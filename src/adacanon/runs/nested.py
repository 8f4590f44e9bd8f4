"""Model selection inside a run: one training per point of a grid, and a final one with the best point.

The grid is part of the settings, so that a run's key covers it. Only training and validation samples are seen here: the
split that comes has no test part, and whoever calls reads the test samples once, with the network that comes out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch

from adacanon.errors import InputError
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import on_hardware
from adacanon.training.checkpoint import stage_checkpoint
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, History, TrainingControl, train
from adacanon.training.schedule import Schedule

Build = Callable[[Settings, int], Learner]
"""From the settings of one training and a seed to a learner."""


@dataclass(frozen=True)
class Selection:
    """What a nested run has found.

    Attributes:
        learner: with the parameters of the selected epoch of the final training.
        history: of the final training.
        chosen: which point of the grid, from 0.
        grid: the history of every point.
    """

    learner: Learner
    history: History
    chosen: int
    grid: tuple[History, ...]

    @property
    def seconds(self) -> float:
        """Of all trainings together."""
        return self.history.seconds + sum(one.seconds for one in self.grid)


def points(grid: Mapping[str, list[Any]]) -> list[Settings]:
    """All combinations of the values of a grid, the last name varying fastest.

    Example:
        >>> points({"rate": [0.1, 0.01], "dropout": [0.0]})
        [{'rate': 0.1, 'dropout': 0.0}, {'rate': 0.01, 'dropout': 0.0}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def select_and_train(run: Run, build: Build, split: DataSplit, control: TrainingControl) -> Selection:
    """Train every point of the run's grid, choose the one of best validation accuracy (ties by validation loss), and
    train it once more from another start.

    Every training has its own seed, the same for all rows of a table, and a checkpoint of its own: a run that was
    stopped goes on where it was.
    """
    if len(split.test) or not len(split.validation):
        raise InputError("Model selection needs a validation part and must not see a test part. Hint: test=index[:0]")
    grid = points(run.options()["grid"])
    histories = tuple(
        _trained(run, build, point, split, _stage(control, str(i)), seed=i)[1] for i, point in enumerate(grid)
    )
    chosen = max(range(len(grid)), key=lambda i: _rank(histories[i]))
    final = _stage(control, "final")
    learner, history = _trained(run, build, grid[chosen], split, final, seed=len(grid))
    return Selection(learner, history, chosen, histories)


def _rank(history: History) -> tuple[float, float]:
    return history.selected["validation_accuracy"], -history.selected["validation_loss"]


def _trained(
    run: Run, build: Build, point: Settings, split: DataSplit, control: TrainingControl, *, seed: int
) -> tuple[Learner, History]:
    options = {**run.options(), **point}
    start = 1000 * (1000 * options["seed"] + seed) + run.split
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(start)
        learner = on_hardware(run, build(options, start), control)
        generator = torch.Generator().manual_seed(start)
        return learner, train(learner, split, Schedule.of(options), generator=generator, control=control)


def _stage(control: TrainingControl, name: str) -> TrainingControl:
    if control.until is not None:
        raise InputError("A run of several trainings goes to the end, got until. Hint: leave it out")
    checkpoint = None if control.checkpoint is None else stage_checkpoint(control.checkpoint, name)
    return replace(control, checkpoint=checkpoint)
