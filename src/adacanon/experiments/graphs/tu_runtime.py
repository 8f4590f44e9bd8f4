"""Seconds per epoch and parameters of every row (paper: appendix "Computational Requirement Comparison")."""

import time
from collections.abc import Callable
from dataclasses import replace

import torch

from adacanon.experiments.graphs.tu import METHODS, TU, row_of, settings
from adacanon.experiments.graphs.tu_data import split_of, tu_data
from adacanon.runs.choices import Choices
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl, training_epoch
from adacanon.training.timing import medians

REFERENCE = "GIN"
REFERENCE_SETTINGS: Settings = {"layers": 3}
"""Width and batches are those of the row."""

REPETITIONS = 5


def runtime_settings(row: Row, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
    """The settings of the row in ``tu``, and how often an epoch is timed."""
    every = settings(row, column, preset, choices=choices)
    others = {name: value for name, value in every.items() if name not in ("epochs", "patience")}
    return {**others, "repetitions": REPETITIONS}


def learners_of(run: Run) -> dict[str, Learner]:
    """The row and the reference, on the same data."""
    options = run.options()
    data = tu_data(run.column, options["features"])
    train = split_of(data, run.split).train
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return {
            "row": METHODS[row_of(run).method](data, options, train, 0),
            "reference": METHODS[REFERENCE](data, {**options, **REFERENCE_SETTINGS}, train, 0),
        }


def epoch_of(run: Run, learner: Learner) -> Callable[[], object]:
    """Single training epochs on the training part of the run."""
    options = run.options()
    train = split_of(tu_data(run.column, options["features"]), run.split).train
    optimizer = torch.optim.Adam(learner.module.parameters(), lr=options["learning_rate"])
    generator = torch.Generator().manual_seed(0)
    return lambda: training_epoch(learner, optimizer, train, options["batch"], generator)


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Epochs of row and reference in turn, so that their ratio means something."""
    begin = time.perf_counter()
    learners = learners_of(run)
    actions = {name: epoch_of(run, learner) for name, learner in learners.items()}
    seconds = medians(actions, repetitions=run.options()["repetitions"])
    return {
        "seconds_per_epoch": seconds["row"],
        "ratio": seconds["row"] / seconds["reference"],
        "parameters": float(sum(p.numel() for p in learners["row"].module.parameters())),
        "seconds": time.perf_counter() - begin,
    }


TU_RUNTIME = replace(
    TU,
    name="tu-runtime",
    title="Seconds per training epoch and parameters (paper: appendix)",
    splits=lambda row, column: 1,
    most_splits=1,
    settings=runtime_settings,
    execute=execute,
    presets=("cpu",),
    metric="seconds_per_epoch",
    extra_metrics=(("ratio", "ratio to GIN"), ("parameters", "parameters")),
    search_space=None,
    smoke={"repetitions": 1},
)
