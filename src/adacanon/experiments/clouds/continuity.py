r"""Scores along paths of shapes whose principal axes cross, for every way to deal with poses; the paper has no such.

A path begins at a test shape and shrinks its longest principal axis until it has changed places with the second one
(:func:`~adacanon.experiments.clouds.invariance_errors.crossing_paths`). The jump is the largest change of a score
between neighbours. With finer and finer steps that of a continuous function goes to zero, that of a discontinuous one
does not.
"""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.pca_frames import PCAFrameAveraged
from adacanon.core import Canonicalized
from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.invariance_errors import crossing_paths, largest_jumps, scored, scored_on
from adacanon.experiments.clouds.modelnet import MODELNET
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds
from adacanon.maximizers import RandomSearch
from adacanon.points.rotations import axis_frames
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl

RANDOM, AVERAGED = "AC-PointNet (random draws)", "PCA-FA-PointNet"


def as_trained(name: str) -> Row:
    """The network of a row of `modelnet`, evaluated as it was trained."""
    return Row(name, "as trained", base=name)


ROWS = (
    as_trained("PointNet"),
    as_trained("PCA-PointNet"),
    as_trained(AVERAGED),
    Row("PCA-FA-PointNet (any order)", "averaged over all axis frames", base=AVERAGED),
    as_trained("CN-PointNet"),
    as_trained("VN-PointNet"),
    as_trained("AC-PointNet (paper)"),
    as_trained(RANDOM),
    Row("AC-PointNet (fixed candidates)", "all draws on the whole cloud", base=RANDOM),
)
COLUMN = "jump"
PATHS, STEPS, COARSER, TILTS = 8, 1024, (4, 16), (2.0, 0.3)
"""Paths, clouds on each (an even number, so that none lies on the crossing), how many steps of it make one of a coarser
path, and the tilts of those that pass a crossing, in degrees.
"""


def settings(row: Row, column: str, preset: str) -> Settings:
    """Those of the network in `modelnet`, and the paths."""
    network = modelnet.settings(MODELNET.row(row.base), column, preset)
    return {"network": network, "paths": PATHS, "steps": STEPS, "tilts": list(TILTS)}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """The jumps of a network that `modelnet` has left in the cache folder, or that is trained now."""
    begin = time.perf_counter()
    options = run.options()
    learner, data = learner_of(run, control)
    module, batch = module_of(run, learner), options["network"]["batch"]
    points, labels = mixed_test_clouds(data)
    scores = scored(module, points, batch=batch)
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    on_the_way, *past = (
        scored_on(module, crossing_paths(points[: options["paths"]], options["steps"], tilt=tilt), batch=batch)
        for tilt in (0.0, *options["tilts"])
    )
    finest = largest_jumps(on_the_way)
    crossing = scored_on(module, crossing_paths(points[: options["paths"]], 3), batch=batch)[:, 1]
    beside = on_the_way[:, options["steps"] // 2 - 1 :][:, :2].mean(1)
    coarser = {f"jump_{n}": float(largest_jumps(on_the_way[:, ::n]).mean()) / unit for n in COARSER}
    return {
        COLUMN: float(finest.mean()) / unit,
        "largest": float(finest.max()) / unit,
        "winner": float(largest_jumps(on_the_way.amax(2, keepdim=True)).mean()) / unit,
        **coarser,
        "crossing": float((crossing - beside).abs().amax(1).mean()) / unit,
        **{f"near_{n}": float(largest_jumps(tilted).mean()) / unit for n, tilted in enumerate(past)},
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        "seconds": time.perf_counter() - begin,
    }


def scores_on_the_way(run: Run, control: TrainingControl, *, shape: int, steps: int) -> Tensor:
    """Scores along the path of one test shape, in units of their deviation over the shapes, (steps, classes)."""
    learner, data = learner_of(run, control)
    module, batch = module_of(run, learner), run.options()["network"]["batch"]
    points, _ = mixed_test_clouds(data)
    unit = scored(module, points[:256], batch=batch).std(0).mean().clamp(min=1e-12)
    path = crossing_paths(points[shape : shape + 1], steps)
    return scored_on(module, path, batch=batch)[0] / unit


def learner_of(run: Run, control: TrainingControl) -> tuple[Learner, RotatedClouds]:
    """The network that a row is about, as `modelnet` trains it, and its data."""
    base, options = row_named(ROWS, run.row).base, run.options()["network"]
    return modelnet.kept_or_trained(Run.of("modelnet", base, "accuracy", run.split, options), control)


def module_of(run: Run, learner: Learner) -> nn.Module:
    """The network as it was trained, or evaluated in another way: with a search over all candidates on the whole cloud,
    or averaged over more frames.
    """
    return EVALUATED[row_named(ROWS, run.row).method](learner.module, run.options()["network"])


def _with_all_frames(model: nn.Module, options: Settings) -> nn.Module:
    assert isinstance(model, PCAFrameAveraged)
    return PCAFrameAveraged(model.network, axis_frames)


def _with_all_draws(model: nn.Module, options: Settings) -> nn.Module:
    assert isinstance(model, Canonicalized)
    return Canonicalized(model.network, model.family, RandomSearch(options["draws"]), seed=int(model.seed))


EVALUATED: dict[str, Callable[[nn.Module, Settings], nn.Module]] = {
    "as trained": lambda model, options: model,
    "averaged over all axis frames": _with_all_frames,
    "all draws on the whole cloud": _with_all_draws,
}


def mixed_test_clouds(data: RotatedClouds) -> tuple[Tensor, Tensor]:
    """Test clouds in their poses, in an order that mixes the classes, and their labels."""
    test = data.split.test
    index = test[torch.randperm(len(test), generator=torch.Generator().manual_seed(0))]
    return data.points[index], data.labels[index]


CONTINUITY = Table(
    name="continuity",
    title="Largest jump of a score along paths of shapes whose principal axes cross",
    rows=ROWS,
    columns=(COLUMN,),
    splits=lambda row, column: 1,
    most_splits=10,
    settings=settings,
    execute=execute,
    metric=COLUMN,
    extra_metrics=(
        *((f"jump_{n}", f"{n} x coarser") for n in COARSER),
        ("largest", "largest of all"),
        ("winner", "winner"),
        ("crossing", "on it"),
        *((f"near_{n}", f"{tilt:g}° beside") for n, tilt in enumerate(TILTS)),
        ("accuracy", "accuracy"),
    ),
    smoke={"paths": 1, "steps": 2 * max(COARSER), "tilts": list(TILTS[:1])},
)
