"""Whether speed costs accuracy on clouds: fast settings against exact ones, paired by seed."""

import time
from dataclasses import replace
from typing import Any

from adacanon.core import Canonicalized
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds, canonicalized, modelnet, plain, rotated_clouds
from adacanon.experiments.clouds.searches import KINDS, TWO_FORMS, searches, settings_of
from adacanon.maximizers import RandomSearch
from adacanon.points.pointnet import PointNet
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl, accuracy
from adacanon.training.schedule import Schedule

COMMON: Settings = {"points": 128, "epochs": 12, "batch": 32, "learning_rate": 1e-3, "dropout": 0.3, "seed": 0}
COMMON |= {"widths": [32, 64, 256], "head": [128, 64], "test_poses": 4}


def searching(difference: str, kind: str, training: Settings) -> Row:
    """AC-PointNet with a kind of search and a way to train; the same in all presets."""
    name, kinds = f"AC-PointNet ({difference})", dict.fromkeys(("cpu", "paper"), kind)
    return Row(name, "AC", "PointNet", search=kinds, settings={**settings_of(kind), **training})


ROWS = (
    Row("PointNet", "plain", "PointNet"),
    searching("exact", "random draws", {}),
    searching("coarse search", "coarse draws", {}),
    searching("two forms", "random draws", TWO_FORMS),
    searching("coarse search; two forms", "coarse draws", TWO_FORMS),
    searching("learning search; all forms", "learning draws", {}),
    searching("fast", "learning draws", TWO_FORMS),
)
SEEDS = 10


def settings(row: Row, column: str, preset: str) -> Settings:
    """What a cell depends on; the column is the data set."""
    return {**COMMON, **row.own_settings(preset)}


def build(row: Row, data: RotatedClouds, options: Settings, *, seed: int) -> Learner:
    """A small PointNet as it is, or under the search of the row."""
    network = PointNet(data.classes, widths=options["widths"], head=options["head"], dropout=options["dropout"])
    if row.method == "plain":
        return plain(network, data)
    evaluation, training = searches(options, samples=len(data.split.train))
    forms = options.get("forms")
    return canonicalized(network, data, evaluation, training_search=training, forms=forms, seed=seed)


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train on all training clouds for a fixed number of epochs and test the last one: nothing is chosen on it."""
    row, options = row_named(ROWS, run.row), run.options()
    remembering = row.method == "AC" and KINDS[row.search["cpu"]].remembers
    data = rotated_clouds(
        modelnet(10, options["points"]), seed=run.split, copies=options["test_poses"], fixed=remembering
    )
    schedule = Schedule.of(options, cosine=True)
    learner, history = train_seeded(
        run, lambda: build(row, data, options, seed=run.split), data.split, schedule, control
    )
    begin = time.perf_counter()
    found = accuracy(learner, data.split.test, batch=schedule.batch)
    test_seconds = time.perf_counter() - begin
    return {
        "accuracy": found,
        **_by_full_search(row, learner, data, options, found),
        "train_loss": history.loss,
        "test_seconds": test_seconds,
        "seconds": history.seconds,
    }


def _by_full_search(row: Row, learner: Learner, data: RotatedClouds, options: Settings, found: float) -> dict[str, Any]:
    """What the same network reaches with the exact search, which may be its own."""
    model = learner.module
    if not isinstance(model, Canonicalized):
        return {}
    if row.search["cpu"] == "random draws":
        return {"accuracy_full_search": found}
    full = Canonicalized(model.network, model.family, RandomSearch(options["draws"]), seed=int(model.seed))
    return {"accuracy_full_search": accuracy(replace(learner, module=full), data.split.test, batch=options["batch"])}


FAST_CLOUDS = Table(
    name="fast-clouds",
    title="AC-PointNet on ModelNet10: fast settings against exact ones",
    rows=ROWS,
    columns=("ModelNet10",),
    splits=lambda row, column: SEEDS,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    presets=("cpu",),
    extra_metrics=(("accuracy_full_search", "full search"),),
)
