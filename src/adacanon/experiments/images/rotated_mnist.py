"""A small network on upright digits, tested on digits at any angle."""

import time
from dataclasses import replace

from adacanon.experiments.images.rotated_digits import (
    EVALUATED,
    RotatedDigits,
    SmallCNN,
    canonicalized,
    mnist,
    plain,
    rotated_digits,
)
from adacanon.experiments.images.soft_digits import CHOSEN, soft_learner
from adacanon.maximizers import GridSearch, RandomSearch
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl, accuracy
from adacanon.training.schedule import Schedule

ANGLES = 48
COMMON: Settings = {"epochs": 6, "batch": 64, "learning_rate": 2e-3, "seed": 0}
ROWS = (
    Row("CNN", "plain"),
    Row("CNN (augmented)", "augmented", settings={"augmented": True}),
    Row("CNN (C4 maximum)", "not retrained", settings={"angles": 4}),
    Row("CNN (C8 maximum)", "not retrained", settings={"angles": 8}),
    Row("AC-CNN (not retrained)", "not retrained", settings={"angles": ANGLES}),
    Row("AC-CNN (paper)", "retrained", settings={"angles": ANGLES, "draws": 12, "forms": 3.0}),
    Row("AC-CNN (cross-entropy)", "chosen", settings={"angles": ANGLES, **CHOSEN}),
)
EPOCHS = {"cpu": 6, "paper": 30}
COLUMN = "any angle"
SEEDS = 4


def settings(row: Row, column: str, preset: str) -> Settings:
    """What a cell depends on."""
    return {**COMMON, "epochs": EPOCHS[preset], **row.own_settings(preset)}


def build(row: Row, data: RotatedDigits, options: Settings) -> Learner:
    """What is trained: the network as it is, or canonicalized."""
    network = SmallCNN(data.classes)
    if row.method == "chosen":
        return soft_learner(network, data, options)
    if row.method != "retrained":
        return plain(network, data, augmented=row.method == "augmented")
    training = RandomSearch(options["draws"])
    return canonicalized(network, data, GridSearch(options["angles"]), training_search=training, forms=options["forms"])


def tested(row: Row, learner: Learner, data: RotatedDigits, options: Settings) -> Learner:
    """What is tested: a network that was trained as it is may get its angles now."""
    if row.method != "not retrained":
        return learner
    final = canonicalized(learner.module, data, GridSearch(options["angles"]))
    return replace(final, engine=learner.engine)


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train on all training images for a fixed number of epochs and test the last one: nothing is chosen on it."""
    row, options = row_named(ROWS, run.row), run.options()
    data = rotated_digits(mnist(), seed=run.split)
    schedule = Schedule.of(options, cosine=True)
    learner, history = train_seeded(run, lambda: build(row, data, options), data.split, schedule, control)
    final, begin = tested(row, learner, data, options), time.perf_counter()
    found = {
        "accuracy": accuracy(final, data.split.test, batch=EVALUATED),
        "upright_accuracy": accuracy(final, data.upright, batch=EVALUATED),
    }
    return {
        **found,
        "passes": float(options.get("angles", 1)),
        "train_loss": history.loss,
        "seconds": history.seconds + time.perf_counter() - begin,
    }


ROTATED_MNIST = Table(
    name="rotated-mnist",
    title="Upright digits in training, any angle in the test",
    rows=ROWS,
    columns=(COLUMN,),
    splits=lambda row, column: SEEDS,
    most_splits=10,
    settings=settings,
    execute=execute,
    extra_metrics=(("upright_accuracy", "upright"), ("passes", "forward passes")),
)
