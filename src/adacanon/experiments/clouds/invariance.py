"""How invariant and how continuous a trained AC-PointNet is under every search: predictions that rotations change, how
far they move the scores, and the largest jump where principal axes cross.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.pca_frames import PCAAligned
from adacanon.core import Canonicalized, Maximizer
from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.continuity import mixed_test_clouds
from adacanon.experiments.clouds.invariance_errors import FEW, crossing_paths, largest_jumps, scored, scored_on
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
from adacanon.training.smoke import at_most

OWN, COLUMN = "AC-PointNet as trained", "changed"
ALIGNED = "principal axes"
ANY_NETWORK, OWN_NETWORK = "AC-PointNet (random draws)", "AC-PointNet (paper)"


def random(options: Settings) -> Maximizer:
    """The same random rotations for all shapes."""
    return RandomSearch(options["candidates"])


def refined(options: Settings) -> Maximizer:
    """Random rotations, of which the best climbs, or every one."""
    return SampleAndRefine(options["candidates"], options["steps"], every=options["every"])


def anchored(options: Settings) -> Maximizer:
    """Principal axes in any order, and more rotations after them; the best may climb."""
    return AnchoredSearch(options["candidates"], options["steps"])


def coarse(options: Settings) -> Maximizer:
    """Random rotations on a view of some points first."""
    return CoarseToFine(RandomSearch(options["candidates"]), options["size"])


def coarse_anchored(options: Settings) -> Maximizer:
    """Principal axes in any order on a view of some points first."""
    return CoarseToFine(AnchoredSearch(options["candidates"]), options["size"], low_precision=False)


def halving(options: Settings) -> Maximizer:
    """Many candidates climb on views, fewer and fewer go on; stages are a size, a number that is kept, and steps."""
    stages = tuple(ClimbStage(size, keep, steps=steps) for size, keep, steps in options["stages"])
    anchors = AnchoredSearch(options["candidates"])
    return successive_halving(
        anchors, stages, contenders=options["contenders"], steps=options["steps"], low_precision=False
    )


KINDS: dict[str, Callable[[Settings], Maximizer]] = {
    "random": random,
    "refined": refined,
    "anchored": anchored,
    "coarse": coarse,
    "coarse anchored": coarse_anchored,
    "halving": halving,
}


def _row(name: str, kind: str = "", base: str = ANY_NETWORK, **search: Any) -> Row:
    return Row(name, base=base, search=dict.fromkeys(("cpu", "paper"), kind), settings={"search": search})


ROWS = (
    _row(ALIGNED),
    _row("random", "random", candidates=50),
    _row("random (200 draws)", "random", candidates=200),
    _row("refined", "refined", candidates=50, steps=3, every=False),
    _row("every one of 8 refined", "refined", candidates=8, steps=3, every=True),
    _row("anchored", "anchored", candidates=24, steps=0),
    _row("anchored (96)", "anchored", candidates=96, steps=0),
    _row("anchored and refined", "anchored", candidates=24, steps=3),
    _row("coarse to fine", "coarse", candidates=50, size=32),
    _row("coarse to fine (anchored)", "coarse anchored", candidates=48, size=32),
    _row("successive halving (anchored)", "halving", candidates=48, stages=[[32, 4, 3]], contenders=3, steps=3),
    _row(
        "close to the maximum (anchored)",
        "halving",
        candidates=192,
        stages=[[32, 12, 3], [64, 4, 4]],
        contenders=10,
        steps=8,
    ),
    _row(OWN, "anchored", base=OWN_NETWORK, candidates=24, steps=0),
)
"""Principal axes are an ordinary canonicalization of the same network, without a search. The base is the row of
`modelnet` whose network is searched: one that was trained in all poses, for any search to be tried on it, and for the
last row one that was trained with the search it has here."""

SIZES: Settings = {"shapes": 100, "rotations": 20, "paths": 8, "steps": 64, "tilt": 2.0}


def settings(row: Row, column: str, preset: str) -> Settings:
    """Those of the network in `modelnet`, the search, and what it is tried on."""
    network = modelnet.settings(MODELNET.row(row.base), column, preset)
    return {"network": network, **row.own_settings(preset), **SIZES}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """One search on a network that `modelnet` has left in the cache folder, or that is trained now."""
    begin = time.perf_counter()
    row, options = row_named(ROWS, run.row), run.options()
    network_run = Run.of("modelnet", row.base, "accuracy", run.split, options["network"])
    learner, data = modelnet.kept_or_trained(network_run, control)
    assert isinstance(learner.module, Canonicalized)
    network, batch = learner.module.network, options["network"]["batch"]
    assert isinstance(network, nn.Module)
    module = searched(network, row.search["cpu"], options["search"], seed=run.split)
    points, labels = (x[: options["shapes"]] for x in mixed_test_clouds(data))
    scores = scored(module, points, batch=batch)
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    few = at_most(len(points), FEW)
    rotated = rotated_scores(module, points[:few], rotations=options["rotations"], seed=run.split, batch=batch)
    errors = rotation_errors(scores[:few], rotated)
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


def searched(network: nn.Module, kind: str, options: Settings, *, seed: int) -> nn.Module:
    """The network under a kind of search, or aligned with principal axes where it is none."""
    if not kind:
        return PCAAligned(network)
    return Canonicalized(network, Rotations(), KINDS[kind](options), seed=seed)


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
    smoke={"rotations": 1, "paths": 1, "steps": 4},
)
