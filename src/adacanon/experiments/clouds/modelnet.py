"""Classification of rotated shapes (paper: its table on ModelNet40, the protocol z/SO(3), and the backbones)."""

import time
from dataclasses import replace

import torch

from adacanon.experiments.clouds.methods import (
    adaptive_row,
    augmented_row,
    build,
    plain_row,
    random_draws_row,
    rival_row,
)
from adacanon.experiments.clouds.posed_clouds import VERTICAL, PosedClouds, modelnet, posed
from adacanon.experiments.clouds.steadiness import scored, steadiness
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.runs.trained_networks import keep, restored
from adacanon.training.learner import Learner
from adacanon.training.loop import History, Sitting
from adacanon.training.schedule import Schedule

COMMON: dict[str, Settings] = {
    "paper": {"classes": 40, "points": 1024, "epochs": 250, "batch": 32, "k": 20, "weight_decay": 1e-4, "seed": 0},
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
CONTROLS = (rival_row("PCA", "PointNet"), rival_row("PCA-FA", "PointNet"))
ROWS = (*PLAIN, *AUGMENTED, *RIVALS, *ADAPTIVE, random_draws_row("PointNet"), *CONTROLS)
Z_ROWS = (*PLAIN, *RIVALS, *ADAPTIVE, *CONTROLS)
BACKBONE_ROWS = tuple(row for backbone in BACKBONES["cpu"] for row in (plain_row(backbone), adaptive_row(backbone)))
SEEDS = 10


def settings(row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on: the preset, the backbone, and what the row has of its own."""
    return {**COMMON[preset], **BACKBONES[preset][row.backbone], **row.own_settings(preset)}


def z_settings(row: Row, column: str, preset: str) -> Settings:
    """As above, with training clouds turned about the vertical axis only."""
    return {**settings(row, column, preset), "axis": "vertical"}


def execute(run: Run, sitting: Sitting) -> dict[str, float]:
    """Train for a fixed number of epochs and test the last one: nothing is chosen on the test part."""
    return tested(run, *trained(row_of(run), run, sitting))


def row_of(run: Run) -> Row:
    """The record of a run's row; the tables that share their rows share the records."""
    return row_named((*ROWS, *BACKBONE_ROWS), run.row)


def tested(run: Run, learner: Learner, data: PosedClouds, history: History) -> dict[str, float]:
    """The figures of a training, on the test part."""
    batch = run.options()["batch"]
    begin = time.perf_counter()
    points, labels = data.points[data.parts.test], data.labels[data.parts.test]
    scores = scored(learner.module, points, batch=batch)
    test_seconds = time.perf_counter() - begin
    return {
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        **steadiness(learner.module, points, scores, seed=run.split, batch=batch),
        "shapes": float(len(data.labels)),
        "train_loss": history.loss,
        "epochs": float(history.epoch),
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "test_seconds": test_seconds,
        "seconds": history.seconds,
    }


def trained(row: Row, run: Run, sitting: Sitting) -> tuple[Learner, PosedClouds, History]:
    """The learner of a run after its last epoch; the network of a first split is kept for the figures."""
    options = run.options()
    data = clouds_of(run)
    learner, history = train_seeded(
        run, lambda: build(row, data, options, seed=run.split), data.parts, Schedule.of(options), sitting
    )
    if run.split == 0:
        keep(run, learner.module, data.fingerprint)
    return learner, data, history


def kept_or_trained(run: Run, sitting: Sitting, row: Row | None = None) -> tuple[Learner, PosedClouds]:
    """The learner that an earlier run has left in the cache folder, or else trained now and kept, of whatever split."""
    data, row = clouds_of(run), row or row_of(run)
    with torch.random.fork_rng(devices=[]):
        learner = build(row, data, run.options(), seed=run.split)
    if restored(run, learner.module, data.fingerprint):
        return learner, data
    learner, _, _ = trained(row, run, sitting)
    keep(run, learner.module, data.fingerprint)
    return learner, data


def clouds_of(run: Run) -> PosedClouds:
    """The data of a run in their poses."""
    options = run.options()
    shapes = modelnet(options["classes"], options["points"])
    return posed(
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
    return 3 if row.backbone == "PointNet" else 1


PROTOCOL = (
    "Preset `cpu`: ModelNet10 (3,991 training and 908 test shapes), 128 points, batches of 32, 12 epochs for PointNet "
    "and 10 for the others, Adam with learning rate 0.001 and a cosine schedule, weight decay 0.0001, 10 neighbours "
    "where a network looks for neighbours, networks of the published sizes (PointNet++ and RSCNN with 32 and 8 "
    "centres). The paper's figures are for ModelNet40, 1,024 points and 250 epochs: compare rows with rows, not with "
    "these.",
    "One setting per backbone, the same for all its rows; none was tuned. The -Aug rows have five fixed poses of every "
    "training shape instead of a new one at every step. In `cpu` an epoch takes one of the five at random, so that all "
    "rows of a backbone take the same number of gradient steps; in `paper` it takes all of them.",
    "Test shapes are turned by rotations that the seed determines, the same for all methods; the last epoch is tested, "
    "nothing is chosen on the test part.",
    "Preset `paper`: ModelNet40, 1,024 points, 250 epochs, batches of 32; Adam with learning rate 0.001, halved every "
    "20 epochs, for PointNet, and for DeepSet, PointNet++ and RSCNN, of which the paper says nothing; for DGCNN "
    "gradient descent with momentum 0.9, the learning rate falling from 0.1 to 0.001 along a cosine; 50 draws on "
    "whole clouds for the AC rows. Momentum, halving, and the weight decay of networks other than PointNet are those "
    "of the backbones' authors, not of the paper.",
    "Times are those of the runs, on one thread each and on machines of unequal speed.",
)
ALSO = (("changed", "changed"), ("moved", "moved"))
ALSO_NOTE = (
    "'changed' is the share of test predictions, in percent, that another random rotation changes, 'moved' the mean "
    "change of a score by it, in units of the deviation of scores between shapes. How far scores jump where principal "
    "axes change places is in `continuity`."
)
CONTROLS_NOTE = (
    "PCA-PointNet aligns with principal axes, PCA-FA-PointNet averages over their signs: controls that the paper does "
    "not have."
)
SEARCH_NOTE = (
    "In `cpu` the AC rows take the best of 24 rotations for each class, into the principal axes of the cloud in any "
    "order and with any signs: the family's own search, invariant wherever variances differ. In training these are "
    "compared on the 32 farthest points with calibrated scores, and two forms are trained on, that of the true class "
    "and the hardest other one. AC-DGCNN, which ranks poses badly on so few points, compares them on whole clouds in "
    "training, but only ten: 6 of the 24, others at every step, and up to 4 that were the best for one of the "
    "strongest classes when the shape was last seen; for that, training shapes keep their poses, on which "
    "nothing else depends. '(random draws)' searches among rotations that know nothing of the cloud, as the paper "
    "does, but with shortcuts that the paper has not: in training 50 draws and 4 remembered winners on a view, in "
    "evaluation 200 candidates on a view and the best on the cloud; its training clouds keep their poses. In `paper` "
    "both rows are the paper's own search, 50 draws on the whole cloud. How the search was chosen is in "
    "[clouds](../docs/clouds.md)."
)

MODELNET = Table(
    name="modelnet",
    title="ModelNet, training and test under random rotations (paper: its table on ModelNet40)",
    rows=ROWS,
    columns=("accuracy",),
    splits=_splits,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    also=ALSO,
    notes=(*PROTOCOL, SEARCH_NOTE, ALSO_NOTE, CONTROLS_NOTE),
    comparable=lambda options: options["classes"] == 40,
)

MODELNET_Z = replace(
    MODELNET,
    name="modelnet-z",
    title="ModelNet, training about the vertical axis, test under all rotations (paper: z/SO(3))",
    rows=Z_ROWS,
    splits=_z_splits,
    settings=z_settings,
)

MODELNET_BACKBONES = replace(
    MODELNET,
    name="modelnet-backbones",
    title="ModelNet, five backbones with and without adaptive canonicalization (paper: point cloud backbones)",
    rows=BACKBONE_ROWS,
    notes=(
        *PROTOCOL,
        SEARCH_NOTE,
        ALSO_NOTE,
        "Rows that `modelnet` has too are taken over from it. The paper does not test DeepSet.",
    ),
    shares="modelnet",
)
