"""CIFAR-10 and CIFAR-100 (paper: appendix "Truncation Canonicalization with a Pretrained Classifier")."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from adacanon.experiments.images.window_classifier import (
    Seen,
    Tested,
    WindowClassifier,
    central_window,
    softness_of,
    window_learner,
)
from adacanon.experiments.images.window_features import NAMES, WindowFeatures, extract, window_features
from adacanon.images import Preprocessing
from adacanon.reports.progress import passes_bar
from adacanon.runs.executors import Executor
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, History, TrainingControl
from adacanon.training.schedule import Schedule
from adacanon.training.smoke import shortened

LEVELS = 5
WINDOWS = (1, 5, 14, 30, 55)
"""How many windows have at least the sides 32, 28, 24, 20 and 16."""

COMMON: Settings = {"levels": LEVELS, "batch": 128, "learning_rate": 1e-3, "weight_decay": 0.0, "seed": 0}
COMMON |= {"held_out": 0.1, "loss": "cross-entropy", "windows": WINDOWS[-1], "centre_side": 24}
PRESETS: dict[str, Settings] = {
    "cpu": {"input_size": 64, "precision": "bfloat16", "epochs": 30},
    "paper": {"input_size": 224, "precision": "float32", "epochs": 100},
}
CROPS: Settings = {"learning_rate": 3e-3}
CANONICALIZED: Settings = {"loss": "one-vs-rest", "learning_rate": 3e-3}
SOFT: Settings = {"loss": "cross-entropy", "learning_rate": 3e-3, "temperature": 3.0, "scores": "logits", "drawn": 8}
"""The rule that was chosen on training images held out (`temperature`)."""


def variant(name: str, seen: Seen, tested: Tested, **settings: Any) -> Row:
    """A linear classifier by the windows that it sees in training and in the test."""
    return Row(name, "linear classifier", settings={"seen": seen, "tested": tested, **settings})


ROWS = (
    variant("Vanilla", "whole", "whole"),
    variant("Vanilla (one-vs-rest)", "whole", "whole", loss="one-vs-rest"),
    variant("Centre crop", "centre", "centre"),
    variant("Random crops", "random", "whole", **CROPS),
    variant("Test-time mean", "whole", "mean"),
    variant("Test-time max", "whole", "max"),
    variant("Random crops + test-time mean", "random", "mean", **CROPS),
    variant("Random crops + test-time max", "random", "max", **CROPS),
    variant("Eight random crops + test-time mean", "each", "mean", **CROPS, drawn=8),
    *(
        variant(f"Truncation canonicalization ({windows} windows)", "all", "max", **CANONICALIZED, windows=windows)
        for windows in WINDOWS[1:-1]
    ),
    variant("Truncation canonicalization (paper)", "all", "max", **CANONICALIZED),
    variant("Truncation canonicalization (soft)", "some", "soft", **SOFT),
)
SEEDS = 10


def settings(row: Row, column: str, preset: str) -> Settings:
    """What a cell depends on; the column is the data set."""
    return {**COMMON, **PRESETS[preset], **row.own_settings(preset)}


def prepare(runs: Sequence[Run], *, executor: Executor, show: bool) -> None:
    """Extract the features that runs need and that are not on the disk, with a progress bar."""
    distinct = {(run.column, *map(run.options().get, ("input_size", "precision", "levels"))): run for run in runs}
    for run in distinct.values():
        with passes_bar(f"{run.column}, images with all their windows", show=show) as on_shard:
            extract(run.column, run.options(), executor, on_shard=on_shard)


def split_of(data: WindowFeatures, *, seed: int, held_out: float) -> DataSplit:
    """The test part is that of the data set; the seed holds a share of the training part out for validation."""
    index = torch.arange(len(data.labels))
    order = torch.randperm(data.train, generator=torch.Generator().manual_seed(seed))
    count = round(held_out * data.train)
    return shortened(DataSplit(order[count:], order[:count], index[data.train :]))


def build(data: WindowFeatures, options: Settings) -> Learner:
    """The linear classifier of a row, initialised from torch's random state."""
    linear = nn.Linear(data.features.shape[-1], len(data.class_names))
    centre = 0
    if "centre" in (options["seen"], options["tested"]):
        centre = central_window(data.windows, options["centre_side"], pixels=int(data.windows[0, 2]))
    named = {name: options[name] for name in ("seen", "tested", "loss", "windows")}
    softness = softness_of(options) if options["tested"] == "soft" else None
    return window_learner(data, linear, **named, centre=centre, drawn=options.get("drawn", 1), softness=softness)


def trained(run: Run, control: TrainingControl) -> tuple[Learner, History]:
    """The classifier with the parameters of the selected epoch, and what happened on the way."""
    options = run.options()
    data = window_features(run.column, options)
    split = split_of(data, seed=run.split, held_out=options["held_out"])
    schedule = Schedule.of(options, cosine=True)
    return train_seeded(run, lambda: build(data, options), split, schedule, control)


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train, keep the epoch of best validation accuracy, and test it."""
    _, history = trained(run, control)
    return {
        "accuracy": history.selected["test_accuracy"],
        "validation_accuracy": history.selected["validation_accuracy"],
        "validation_loss": history.selected["validation_loss"],
        "kept_epoch": history.selected["epoch"],
        "epochs": float(history.epoch),
        "train_loss": history.loss,
        "seconds": history.seconds,
    }


CIFAR = Table(
    name="cifar",
    title="Truncation canonicalization with a frozen ResNet-18 (paper: the appendix of that name)",
    rows=ROWS,
    columns=tuple(NAMES),
    splits=lambda row, column: SEEDS,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    prepare=prepare,
    extra_metrics=(("validation_accuracy", "validation"),),
)


def cifar10_classifier() -> nn.Module:
    """A classifier of images with values in [0, 1]: the frozen ResNet-18 with the vanilla classifier of the first seed.

    The features of the whole images are extracted at the first call, and kept.
    """
    from adacanon.experiments.images.pretrained import pretrained_resnet18

    options = {**CIFAR.settings_of("Vanilla", "CIFAR-10"), "levels": 1}
    classifier, _ = trained(Run.of("cifar", "Vanilla", "CIFAR-10", 0, options), TrainingControl())
    network = pretrained_resnet18()
    assert isinstance(classifier.module, WindowClassifier)
    network.fc = classifier.module.linear
    return nn.Sequential(Preprocessing(options["input_size"]), network).eval().requires_grad_(False)
