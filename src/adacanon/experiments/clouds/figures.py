"""The figures on clouds by name: from records, or from networks that `modelnet` has left in the cache folder."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from adacanon.errors import DataError, InputError
from adacanon.experiments.clouds import chairs, continuity, modelnet
from adacanon.experiments.clouds.continuity import CONTINUITY
from adacanon.experiments.clouds.learning_curve import LEARNING_CURVE, course
from adacanon.experiments.clouds.stability import AT_RANDOM, STABILITY, curve
from adacanon.folders import cache_folder
from adacanon.reports import continuity_figure, gallery, learning_curve_figure, stability_figure
from adacanon.runs.run import Run, checkpoint_of, relevant
from adacanon.runs.runner import summary_of
from adacanon.training.checkpoint import remove_checkpoint
from adacanon.training.hardware import Hardware
from adacanon.training.loop import TrainingControl

Files = dict[str, bytes]
"""Name -> content. Pages hold the points of shapes, whose licences do not allow to pass them on: they are not for the
results that are committed."""

Draw = Callable[[Path, str, tuple[str, ...], Hardware], Files]
"""From the results, the preset, some rows, and where missing networks are trained."""

SHAPE, STEPS = 0, 512
"""The test shape on whose path `continuity` is drawn, and the clouds on it."""


def draw_stability(results: Path, preset: str, rows: tuple[str, ...], hardware: Hardware) -> Files:
    """From the records of `stability`."""
    check_no_rows("stability", rows)
    summary = summary_of(STABILITY, STABILITY.runs(preset=preset), results / f"{STABILITY.name}.jsonl")
    drawn = curve(summary)
    if not drawn:
        raise DataError(
            f"There are no records of `stability`, preset {preset}, in {results}. Hint: adacanon run stability"
        )
    return {"stability.png": stability_figure.draw(drawn, at_random=AT_RANDOM)}


def draw_continuity(results: Path, preset: str, rows: tuple[str, ...], hardware: Hardware) -> Files:
    """From the networks of its rows."""
    curves = {}
    for run in CONTINUITY.runs(rows=CONTINUITY.rows_named(rows), splits=1, preset=preset):
        with _control(run, hardware) as control:
            curves[run.row] = continuity.scores_on_the_way(run, control, shape=SHAPE, steps=STEPS)
    return {"continuity.png": continuity_figure.draw(curves)}


def draw_chairs(results: Path, preset: str, rows: tuple[str, ...], hardware: Hardware) -> Files:
    """A picture, and a page on which the chairs are turned by hand, from the network of AC-PointNet."""
    check_no_rows("chairs", rows)
    options = modelnet.settings(modelnet.MODELNET.row(chairs.METHOD), "accuracy", preset)
    run = Run.of("modelnet", chairs.METHOD, "accuracy", 0, options)
    with _control(run, hardware) as control:
        shown = chairs.gallery(run, control)
    return {"chairs.png": gallery.draw(shown), "chairs.html": gallery.page(shown).encode()}


def draw_learning_curve(results: Path, preset: str, rows: tuple[str, ...], hardware: Hardware) -> Files:
    """From the records of `modelnet-curve`, which has one preset."""
    runs = LEARNING_CURVE.runs(rows=LEARNING_CURVE.rows_named(rows), preset=preset)
    records = relevant(runs, results / f"{LEARNING_CURVE.name}.jsonl")
    if not records:
        raise DataError(
            f"There are no records of `{LEARNING_CURVE.name}` in {results}. Hint: adacanon run {LEARNING_CURVE.name}"
        )
    curves = {
        row: {record["column"]: course(record) for record in records if record["row"] == row}
        for row in LEARNING_CURVE.row_names
    }
    return {"learning-curve.png": learning_curve_figure.draw({row: of for row, of in curves.items() if of})}


FIGURES: dict[str, Draw] = {
    "learning-curve": draw_learning_curve,
    "stability": draw_stability,
    "continuity": draw_continuity,
    "chairs": draw_chairs,
}


def check_no_rows(name: str, rows: tuple[str, ...]) -> None:
    """Refuse rows where a figure has none to choose from."""
    if rows:
        raise InputError(f"{name} has one method and no rows, got {', '.join(rows)}")


@contextmanager
def _control(run: Run, hardware: Hardware) -> Iterator[TrainingControl]:
    """A network that is missing is trained; its state is kept now and then, until the figure is there."""
    checkpoint = checkpoint_of(run, cache_folder() / "networks" / "unfinished")
    yield TrainingControl(
        checkpoint,
        on_epoch=lambda epoch, loss: print(f"{run.row}, epoch {epoch}: loss {loss:.3f}", flush=True),
        hardware=hardware,
    )
    remove_checkpoint(checkpoint)
