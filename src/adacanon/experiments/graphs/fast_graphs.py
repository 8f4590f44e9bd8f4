"""Whether speed costs accuracy on graphs: fast settings against exact ones, paired by seed."""

from typing import Any

import torch

from adacanon.experiments.graphs import tu
from adacanon.experiments.graphs.spectral_methods import SHORT
from adacanon.experiments.graphs.tu_data import tu_data
from adacanon.runs.choices import Choices
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, History, TrainingControl, accuracy
from adacanon.training.schedule import Schedule
from adacanon.training.smoke import shortened

METHOD = "A-NLSF"


def searching(difference: str, **settings: Any) -> Row:
    """A-NLSF with another search."""
    return Row(f"{METHOD} ({difference})", METHOD, base=METHOD, settings=settings)


ROWS = (
    searching("exact", resample_every=1, steps=5, step_size=SHORT, low_precision=False),
    searching("exact; long steps", resample_every=1, steps=5, low_precision=False),
    searching("one short step", step_size=SHORT, low_precision=False),
    searching("five short steps", steps=5, step_size=SHORT, low_precision=False),
    searching("fast; full precision", low_precision=False),
    searching("fast"),
)
EPOCHS, SEEDS = 100, 20


def settings(row: Row, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
    """Those of A-NLSF in ``tu``, and what makes them exact."""
    every = tu.settings(tu.TU.row(row.base), column, preset, choices=choices)
    own = {name: value for name, value in every.items() if name != "patience"}
    return {**own, **row.own_settings(preset), "epochs": EPOCHS}


def halves(samples: int, *, seed: int) -> DataSplit:
    """One random half for training, the other for the test."""
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed))
    return shortened(DataSplit(order[samples // 2 :], order[:0], order[: samples // 2]))


def trained(run: Run, control: TrainingControl) -> tuple[Learner, DataSplit, History]:
    """The learner after a fixed number of epochs, the halves, and what happened on the way."""
    options = run.options()
    data = tu_data(run.column, options["features"])
    split = halves(len(data.dataset.labels), seed=run.split)
    schedule = Schedule.of(options, cosine=True)
    method = tu.METHODS[METHOD]
    learner, history = train_seeded(
        run, lambda: method(data, options, split.train, run.split), split, schedule, control
    )
    return learner, split, history


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train, and test the last epoch: nothing is chosen on it."""
    learner, split, history = trained(run, control)
    return {
        "accuracy": accuracy(learner, split.test, batch=run.options()["batch"]),
        "train_loss": history.loss,
        "seconds": history.seconds,
    }


FAST_GRAPHS = Table(
    name="fast-graphs",
    title="A-NLSF: fast settings against exact ones",
    rows=ROWS,
    columns=("MUTAG", "ENZYMES"),
    splits=lambda row, column: SEEDS,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    presets=("cpu",),
    choices=tu.CHOICES,
)
