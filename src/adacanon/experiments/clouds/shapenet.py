"""Parts of rotated shapes (paper: "ShapeNet Part Segmentation")."""

import time
from collections.abc import Callable
from typing import Any

from torch import nn

from adacanon.baselines.clouds.vn_segmentation import VNDGCNNSegmentation, VNPointNetSegmentation
from adacanon.experiments.clouds.methods import WRAPPERS, adaptive_row, plain_row, rival_row
from adacanon.experiments.clouds.modelnet import BACKBONES as CLASSIFICATION
from adacanon.experiments.clouds.modelnet import FALLING
from adacanon.experiments.clouds.rotated_shapes import (
    RotatedShapes,
    canonicalized_finder,
    part_figures,
    plain_finder,
    rotated_shapes,
    shapenet,
)
from adacanon.experiments.clouds.searches import searches
from adacanon.maximizers import AnchoredSearch
from adacanon.points import DGCNNSegmentation, PointNetSegmentation
from adacanon.runs.run import Run, Settings, number
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl
from adacanon.training.schedule import Schedule

COMMON: dict[str, Settings] = {
    "paper": {"points": 2048, "epochs": 250, "batch": 32, "k": 40, "weight_decay": 1e-4, "seed": 0},
    "cpu": {"points": 128, "epochs": 8, "batch": 32, "k": 10, "weight_decay": 1e-4, "seed": 0},
}
BACKBONES: dict[str, dict[str, Settings]] = {
    "paper": {name: CLASSIFICATION["paper"][name] for name in ("PointNet", "DGCNN")},
    "cpu": {"PointNet": FALLING, "DGCNN": FALLING},
}
NETWORKS: dict[str, Callable[[Settings], nn.Module]] = {
    "PointNet": lambda options: PointNetSegmentation(),
    "DGCNN": lambda options: DGCNNSegmentation(k=options["k"]),
}
VECTOR_NEURONS: dict[str, Callable[[Settings], nn.Module]] = {
    "PointNet": lambda options: VNPointNetSegmentation(k=options["k"]),
    "DGCNN": lambda options: VNDGCNNSegmentation(k=options["k"]),
}
TWO = ("PointNet", "DGCNN")
RIVALS = tuple(rival_row(method, backbone) for method in ("VN", "CN") for backbone in TWO)
BLENDED: Settings = {"temperature": 0.3, "frames": 4}
"""The rule that was chosen on the validation part (`shapenet-held-out`)."""


def blended_row(backbone: str, **settings: Any) -> Row:
    """The answers of all principal frames of sorted axes, blended by their certainty."""
    own = {**BLENDED, **settings}
    note = "".join(f"; {name} {own[name]}" for name in settings)
    return Row(f"AC-{backbone} (blended{note})", "blended", backbone, settings=own)


ROWS = (*map(plain_row, TWO), *RIVALS, *map(adaptive_row, TWO), *map(blended_row, TWO))
SEEDS = 10


def settings(row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on; a shared form leaves no choice of forms."""
    own = {name: value for name, value in row.own_settings(preset).items() if name != "forms"}
    return {**COMMON[preset], **BACKBONES[preset][row.backbone], **own}


def build(row: Row, data: RotatedShapes, options: Settings, *, seed: int) -> Learner:
    """A row bound to its data; all are trained with the cross-entropy of points."""
    if row.method == "VN":
        return plain_finder(VECTOR_NEURONS[row.backbone](options), data)
    network = NETWORKS[row.backbone](options)
    if row.method == "AC":
        found = searches(options, samples=len(data.split.train))
        return canonicalized_finder(network, data, found, seed=seed)
    if row.method == "blended":
        frames = AnchoredSearch(options["frames"], whole=options["frames"] == 24)
        return canonicalized_finder(
            network, data, (frames, None), temperature=number(options["temperature"]), seed=seed
        )
    return plain_finder(WRAPPERS[row.method](network, options), data)


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train for a fixed number of epochs and test the last one: nothing is chosen on the test part."""
    return tested(row_named(ROWS, run.row), run, control)


def tested(row: Row, run: Run, control: TrainingControl) -> dict[str, float]:
    """The figures of a run, on the test part or on the part that is held out."""
    options = run.options()
    data = rotated_shapes(
        shapenet(options["points"]),
        seed=run.split,
        fixed=options.get("fixed", False),
        held_out=options.get("held_out", False),
    )
    schedule = Schedule.of(options)
    finder, history = train_seeded(
        run, lambda: build(row, data, options, seed=run.split), data.split, schedule, control
    )
    begin = time.perf_counter()
    return {
        **part_figures(finder, data, data.split.test, batch=schedule.batch),
        "train_loss": history.loss,
        "epochs": float(history.epoch),
        "parameters": float(sum(p.numel() for p in finder.module.parameters())),
        "test_seconds": time.perf_counter() - begin,
        "seconds": history.seconds,
    }


SHAPENET = Table(
    name="shapenet",
    title="ShapeNet parts, training and test under random rotations (paper: ShapeNet Part Segmentation)",
    rows=ROWS,
    columns=("mIoU",),
    splits=lambda row, column: 1,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    metric="miou",
    comparable=lambda options: options["points"] == COMMON["paper"]["points"],
    extra_metrics=(("shape_miou", "over shapes"), ("point_accuracy", "points")),
)
