"""How invariant and how continuous a trained AC-PointNet is under every search: predictions that rotations change, how
far they move the scores, and the largest jump where principal axes cross.
"""

import time
from typing import NamedTuple

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.pca_frames import PCAAligned
from adacanon.core import Canonicalized, Maximizer
from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.continuity import mixed_test_clouds
from adacanon.experiments.clouds.invariance_errors import crossing_paths, largest_jumps, scored, scored_on
from adacanon.experiments.clouds.modelnet import MODELNET
from adacanon.experiments.clouds.rotated_clouds import randomly_rotated
from adacanon.maximizers import (
    AnchoredSearch,
    ClimbStage,
    CoarseToFine,
    RandomSearch,
    SampleAndRefine,
    successive_halving,
)
from adacanon.points import Rotations
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.loop import TrainingControl

OWN, COLUMN = "AC-PointNet as trained", "changed"
ALIGNED = "principal axes"
ANY_NETWORK, OWN_NETWORK = "AC-PointNet (random draws)", "AC-PointNet"
ANCHORED = AnchoredSearch(48)
SEARCHES: dict[str, Maximizer | None] = {
    ALIGNED: None,
    "random": RandomSearch(50),
    "random (200 draws)": RandomSearch(200),
    "refined": SampleAndRefine(50, steps=3),
    "every one of 8 refined": SampleAndRefine(8, steps=3, every=True),
    "anchored": AnchoredSearch(24),
    "anchored (96)": AnchoredSearch(96),
    "anchored and refined": AnchoredSearch(24, steps=3),
    "coarse to fine": CoarseToFine(RandomSearch(50), size=32),
    "coarse to fine (anchored)": CoarseToFine(ANCHORED, size=32, reduced=False),
    "successive halving (anchored)": successive_halving(
        ANCHORED, (ClimbStage(32, 4, steps=3),), steps=3, reduced=False
    ),
    "close to the maximum (anchored)": successive_halving(
        AnchoredSearch(192),
        (ClimbStage(32, 12, steps=3), ClimbStage(64, 4, steps=4)),
        contenders=10,
        steps=8,
        reduced=False,
    ),
    OWN: AnchoredSearch(24),
}
"""Kind -> search; principal axes are an ordinary canonicalization of the same network, without one."""

ROWS = tuple(
    Row(kind, base=OWN_NETWORK if kind == OWN else ANY_NETWORK, search=dict.fromkeys(("cpu", "paper"), kind))
    for kind in SEARCHES
)
"""The base is the row of `modelnet` whose network is searched: one that was trained in all poses, for any search to be
tried on it, and for the last row one that was trained with the search it has here."""

SIZES: Settings = {"shapes": 100, "rotations": 20, "paths": 8, "steps": 64, "tilt": 2.0}


def settings(row: Row, column: str, preset: str) -> Settings:
    """Those of the network in `modelnet`, the search, and what it is tried on."""
    network = modelnet.settings(MODELNET.row(row.base), column, preset)
    return {"network": network, "search": repr(SEARCHES[row.search[preset]]), **SIZES}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """One search on a network that `modelnet` has left in the cache folder, or that is trained now."""
    begin = time.perf_counter()
    row, options = row_named(ROWS, run.row), run.options()
    network_run = Run.of("modelnet", row.base, "accuracy", run.split, options["network"])
    learner, data = modelnet.kept_or_trained(network_run, control)
    assert isinstance(learner.module, Canonicalized)
    network, batch = learner.module.network, options["network"]["batch"]
    assert isinstance(network, nn.Module)
    module = searched(network, SEARCHES[row.search["cpu"]], seed=run.split)
    points, labels = (x[: options["shapes"]] for x in mixed_test_clouds(data))
    scores = scored(module, points, batch=batch)
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    rotated = rotated_scores(module, points, rotations=options["rotations"], seed=run.split, batch=batch)
    errors = rotation_errors(scores, rotated)
    through, past = (
        crossing_paths(points[: options["paths"]], options["steps"], tilt=tilt) for tilt in (0.0, options["tilt"])
    )
    jumps, aligned = (mean_jumps(m, through, batch=batch) for m in (module, PCAAligned(network)))
    return {
        **errors._asdict(),
        "moved_share": errors.moved / unit,
        "jump": jumps.all / unit,
        "jump_share": 100 * jumps.all / max(aligned.all, 1e-12),
        "winner_share": 100 * jumps.winner / max(aligned.winner, 1e-12),
        "near": mean_jumps(module, past, batch=batch).all / unit,
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        "seconds": time.perf_counter() - begin,
    }


class Errors(NamedTuple):
    """What rotations do to scores.

    Attributes:
        changed: predictions other than that of the first pose, in percent.
        shapes: shapes with at least one of these, in percent.
        moved: mean absolute change of a score.
    """

    changed: float
    shapes: float
    moved: float


def rotation_errors(scores: Tensor, rotated: Tensor) -> Errors:
    """From scores (shapes, classes) in the first pose and (rotations, shapes, classes) in others."""
    other = rotated.argmax(2) != scores.argmax(1)
    moved = (rotated - scores).abs().mean()
    return Errors(100 * float(other.double().mean()), 100 * float(other.any(0).double().mean()), float(moved))


def rotated_scores(module: nn.Module, points: Tensor, *, rotations: int, seed: int, batch: int) -> Tensor:
    """Scores of every cloud under rotations of its own, (rotations, clouds, classes)."""
    generator = torch.Generator().manual_seed(seed + 1)
    return torch.stack([scored(module, randomly_rotated(points, generator), batch=batch) for _ in range(rotations)])


class Jumps(NamedTuple):
    """The largest jump of a path, on average over paths: of all scores, and of the largest score, which decides."""

    all: float
    winner: float


def mean_jumps(module: nn.Module, paths: Tensor, *, batch: int) -> Jumps:
    """Along paths (paths, steps, points, 3)."""
    scores = scored_on(module, paths, batch=batch)
    winner = scores.amax(2, keepdim=True)
    return Jumps(float(largest_jumps(scores).mean()), float(largest_jumps(winner).mean()))


def searched(network: nn.Module, search: Maximizer | None, *, seed: int) -> nn.Module:
    """The network under a search, or aligned with principal axes."""
    return PCAAligned(network) if search is None else Canonicalized(network, Rotations(), search, seed=seed)


INVARIANCE = Table(
    name="invariance",
    title="A trained AC-PointNet under every search: predictions that rotations change, in percent, and jumps",
    rows=ROWS,
    columns=(COLUMN,),
    splits=lambda row, column: 1,
    most_splits=10,
    settings=settings,
    execute=execute,
    metric=COLUMN,
    extra_metrics=(
        ("shapes", "shapes, %"),
        ("moved", "moved"),
        ("moved_share", "moved, relative"),
        ("jump", "jump"),
        ("jump_share", "% of axes"),
        ("winner_share", "winner, % of axes"),
        ("near", "near miss"),
        ("accuracy", "accuracy"),
    ),
)
