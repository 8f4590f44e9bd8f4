"""Whether speed costs accuracy on clouds: fast settings against exact ones, paired by seed."""

import time
from dataclasses import replace
from typing import Any

from adacanon.core import Canonicalized
from adacanon.experiments.clouds.posed_clouds import CloudClassifier, PosedClouds, canonicalized, modelnet, plain, posed
from adacanon.experiments.clouds.searches import COARSE, EXACT, FAST, FEW, LEARNING, searches
from adacanon.maximizers import RandomSearch
from adacanon.points.pointnet import PointNet
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Table
from adacanon.training.loop import Schedule, Sitting, accuracy

COMMON: Settings = {"points": 128, "epochs": 12, "batch": 32, "learning_rate": 1e-3, "dropout": 0.3, "seed": 0}
COMMON |= {"widths": [32, 64, 256], "head": [128, 64], "test_poses": 4}
ROWS: dict[str, Settings] = {
    "PointNet": {},
    "AC-PointNet (exact)": EXACT,
    "AC-PointNet (coarse search)": COARSE,
    "AC-PointNet (two forms)": {**EXACT, **FEW},
    "AC-PointNet (coarse search; two forms)": {**COARSE, **FEW},
    "AC-PointNet (learning search; all forms)": {**COARSE, **LEARNING},
    "AC-PointNet (fast)": FAST,
}
SEEDS = 10


def settings(row: str, column: str, preset: str) -> Settings:
    """What a cell depends on; the column is the data set."""
    return {**COMMON, **ROWS[row]}


def build(data: PosedClouds, options: Settings, *, seed: int) -> CloudClassifier:
    """Plain without draws, on the whole cloud without a coarse view, with gradients of all forms unless told."""
    network = PointNet(data.classes, widths=options["widths"], head=options["head"], dropout=options["dropout"])
    if "draws" not in options:
        return plain(network, data)
    evaluation, training = searches(options, samples=len(data.parts.train))
    forms = options.get("forms")
    return canonicalized(network, data, evaluation, in_training=training, forms=forms, seed=seed)


def execute(run: Run, sitting: Sitting) -> dict[str, float]:
    """Train on all training clouds for a fixed number of epochs and test the last one: nothing is chosen on it."""
    options = run.options()
    data = posed(
        modelnet(10, options["points"]), seed=run.split, copies=options["test_poses"], fixed="slots" in options
    )
    schedule = Schedule(options["epochs"], options["batch"], options["learning_rate"], cosine=True)
    learner, history = train_seeded(run, lambda: build(data, options, seed=run.split), data.parts, schedule, sitting)
    begin = time.perf_counter()
    found = accuracy(learner, data.parts.test, batch=schedule.batch)
    test_seconds = time.perf_counter() - begin
    return {
        "accuracy": found,
        **_by_full_search(learner, data, options, found),
        "train_loss": history.loss,
        "test_seconds": test_seconds,
        "seconds": history.seconds,
    }


def _by_full_search(learner: CloudClassifier, data: PosedClouds, options: Settings, found: float) -> dict[str, Any]:
    """What the same network reaches with the exact search, which may be its own."""
    model = learner.module
    if not isinstance(model, Canonicalized):
        return {}
    if "size" not in options:
        return {"accuracy_full_search": found}
    full = Canonicalized(model.network, model.family, RandomSearch(options["draws"]), seed=int(model.seed))
    return {"accuracy_full_search": accuracy(replace(learner, module=full), data.parts.test, batch=options["batch"])}


FAST_CLOUDS = Table(
    name="fast-clouds",
    title="AC-PointNet on ModelNet10: fast settings against exact ones",
    rows=tuple(ROWS),
    columns=("ModelNet10",),
    splits=lambda row, column: SEEDS,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    also=(("accuracy_full_search", "full search"),),
    notes=(
        "ModelNet10 with 128 points, training and test in random poses, a small PointNet (32, 64, 256), 12 epochs with "
        "Adam and a cosine schedule, the last epoch tested, every test cloud in four poses; rows with the same seed "
        "share initialisation, poses and the order of batches.",
        "Exact: 50 draws on the whole cloud, all classes in the pass with gradients. Coarse search: 50 draws on the 32 "
        "farthest points; in evaluation at most 6 finalists on the whole cloud. Two forms: that of the true class and "
        "of the hardest other one in the pass with gradients. Learning search: coarse, with 4 remembered winners of "
        "every training cloud (which then keep their poses) and calibrated scores; in evaluation 200 candidates on "
        "the view, a pilot and at most 6 finalists. Fast: learning search and two forms. "
        "'full search' is the same network evaluated with 50 draws on the whole cloud.",
        "Paired differences with their 95 % bounds: `python -m benchmarks.graphs.fast_accuracy`.",
    ),
)
