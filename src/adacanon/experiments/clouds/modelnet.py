"""Classification of rotated shapes (paper: its table on ModelNet40, the protocol z/SO(3), and the backbones)."""

import time
from dataclasses import replace

import torch

from adacanon.experiments.clouds import full_size
from adacanon.experiments.clouds.invariance_errors import invariance_errors, scored
from adacanon.experiments.clouds.methods import (
    adaptive_row,
    all_frames_row,
    augmented_row,
    build,
    plain_row,
    random_draws_row,
    rival_row,
    soft_row,
)
from adacanon.experiments.clouds.rotated_clouds import VERTICAL, RotatedClouds, modelnet, rotated_clouds
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import check_precision, train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.runs.trained_networks import keep, restored
from adacanon.training.learner import Learner
from adacanon.training.loop import History, TrainingControl
from adacanon.training.schedule import Schedule

COMMON: dict[str, Settings] = {
    "paper": {"classes": 40, "points": 1024, "epochs": 250, "batch": 32, "k": 20, "weight_decay": 1e-4, "seed": 0},
    "full": {"classes": 40, "points": 1024, "epochs": full_size.EPOCHS, "batch": 32, "k": 20, "weight_decay": 1e-4}
    | {"seed": 0},
    "cpu": {"classes": 10, "points": 128, "batch": 32, "k": 10, "weight_decay": 1e-4, "seed": 0},
}
ADAM: Settings = {"learning_rate": 1e-3, "halved_every": 20}
FALLING: Settings = {"learning_rate": 1e-3, "cosine": True}
SMALL_BALLS = [[32, 0.5, 16], [8, 1.0, 16]]
BACKBONES: dict[str, dict[str, Settings]] = {
    "paper": {
        "DeepSet": ADAM,
        "PointNet": ADAM,
        "PointNet++": {**ADAM, "levels": [[512, 0.2, 32], [128, 0.4, 64]]},
        "RSCNN": {**ADAM, "levels": [[512, 0.23, 48], [128, 0.32, 64]]},
        "DGCNN": {"learning_rate": 0.1, "cosine": True, "last_rate": 1e-3, "momentum": 0.9},
    },
    "full": {"PointNet": FALLING},
    "cpu": {
        "DeepSet": {**FALLING, "epochs": 10},
        "PointNet": {**FALLING, "epochs": 12},
        "PointNet++": {**FALLING, "epochs": 10, "levels": SMALL_BALLS},
        "RSCNN": {**FALLING, "epochs": 10, "levels": SMALL_BALLS},
        "DGCNN": {**FALLING, "epochs": 10},
    },
}
"""One setting per backbone, the same for all its rows."""

TWO = ("PointNet", "DGCNN")
PLAIN, AUGMENTED = tuple(map(plain_row, TWO)), tuple(map(augmented_row, TWO))
RIVALS = tuple(rival_row(method, backbone) for method in ("VN", "CN") for backbone in TWO)
ADAPTIVE = tuple(map(adaptive_row, TWO))
SOFT = tuple(map(soft_row, TWO))
CONTROLS = (
    rival_row("PCA", "PointNet"),
    rival_row("PCA-FA", "PointNet"),
    all_frames_row("PointNet"),
    rival_row("PCA", "DGCNN"),
)
ROWS = (*PLAIN, *AUGMENTED, *RIVALS, *ADAPTIVE, random_draws_row("PointNet"), *SOFT, *CONTROLS)
Z_ROWS = (*PLAIN, *RIVALS, *ADAPTIVE, *SOFT, *CONTROLS)
BACKBONE_ROWS = tuple(
    row for backbone in BACKBONES["cpu"] for row in (plain_row(backbone), adaptive_row(backbone), soft_row(backbone))
)
SEEDS = 10


def settings(row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on: the preset, the backbone, and what the row has of its own."""
    return {**COMMON[preset], **BACKBONES[preset][row.backbone], **row.own_settings(preset)}


def z_settings(row: Row, column: str, preset: str) -> Settings:
    """As above, with training clouds rotated about the vertical axis only."""
    return {**settings(row, column, preset), "axis": "vertical"}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train for a fixed number of epochs and test the last one: nothing is chosen on the test part."""
    return tested(run, *trained(row_of(run), run, control))


def row_of(run: Run) -> Row:
    """The record of a run's row; the tables that share their rows share the records."""
    return row_named((*ROWS, *BACKBONE_ROWS, *full_size.ROWS), run.row)


def tested(run: Run, learner: Learner, data: RotatedClouds, history: History) -> dict[str, float]:
    """The figures of a training, on the test part."""
    batch = run.options()["batch"]
    begin = time.perf_counter()
    points, labels = data.points[data.split.test], data.labels[data.split.test]
    scores = scored(learner.module, points, batch=batch)
    test_seconds = time.perf_counter() - begin
    return {
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        **invariance_errors(learner.module, points, scores, seed=run.split, batch=batch),
        "shapes": float(len(data.labels)),
        "train_loss": history.loss,
        "epochs": float(history.epoch),
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "test_seconds": test_seconds,
        "seconds": history.seconds,
    }


def trained(row: Row, run: Run, control: TrainingControl) -> tuple[Learner, RotatedClouds, History]:
    """The learner of a run after its last epoch; the network of a first split is kept for the figures."""
    options = run.options()
    data = clouds_of(run)
    learner, history = train_seeded(
        run, lambda: build(row, data, options, seed=run.split), data.split, Schedule.of(options), control
    )
    if run.split == 0:
        keep(run, learner.module, data.fingerprint)
    return learner, data, history


def kept_or_trained(run: Run, control: TrainingControl, row: Row | None = None) -> tuple[Learner, RotatedClouds]:
    """The learner that an earlier run has left in the cache folder, or else trained now and kept, of whatever split."""
    check_precision(run, control.hardware)
    data, row = clouds_of(run), row or row_of(run)
    with torch.random.fork_rng(devices=[]):
        learner = build(row, data, run.options(), seed=run.split)
    if restored(run, learner.module, data.fingerprint):
        return learner, data
    learner, _, _ = trained(row, run, control)
    keep(run, learner.module, data.fingerprint)
    return learner, data


def clouds_of(run: Run) -> RotatedClouds:
    """The data of a run in their poses."""
    options = run.options()
    shapes = modelnet(options["classes"], options["points"])
    return rotated_clouds(
        shapes.held_out(options["held_out"]) if "held_out" in options else shapes,
        seed=run.split,
        fixed=options.get("fixed", False),
        axis=VERTICAL if options.get("axis") == "vertical" else None,
        expansion=options.get("expansion", 1),
        whole=options.get("whole", False),
    )


def _splits(row: Row, column: str) -> int:
    return {"PointNet": 3, "DGCNN": 2}.get(row.backbone, 1)


def _z_splits(row: Row, column: str) -> int:
    return 1 if (row.method, row.backbone) == ("VN", "DGCNN") else _splits(row, column)


EXTRA_METRICS = (("changed", "changed"), ("moved", "moved"))

MODELNET = Table(
    name="modelnet",
    title="ModelNet, training and test under random rotations (paper: its table on ModelNet40)",
    rows=ROWS,
    columns=("accuracy",),
    splits=_splits,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    extra_metrics=EXTRA_METRICS,
    comparable=lambda options: options["classes"] == 40,
    presets=("cpu", "paper", "full"),
)
MODELNET = replace(MODELNET, variants={"full": full_size.variant(MODELNET, full_size.SPLITS)})

MODELNET_Z = replace(
    MODELNET,
    name="modelnet-z",
    title="ModelNet, training about the vertical axis, test under all rotations (paper: z/SO(3))",
    rows=Z_ROWS,
    splits=_z_splits,
    settings=z_settings,
    variants={},
)
MODELNET_Z = replace(MODELNET_Z, variants={"full": full_size.variant(MODELNET_Z, full_size.Z_SPLITS)})

MODELNET_BACKBONES = replace(
    MODELNET,
    name="modelnet-backbones",
    title="ModelNet, five backbones with and without adaptive canonicalization (paper: point cloud backbones)",
    rows=BACKBONE_ROWS,
    reuses="modelnet",
    presets=("cpu", "paper"),
    variants={},
)
