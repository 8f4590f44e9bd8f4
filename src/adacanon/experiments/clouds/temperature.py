"""Loss, scores and temperature of a soft maximum on clouds, tried together on training shapes held out: no test shape
is read.
"""

from dataclasses import replace
from itertools import product

from adacanon.core.loss import LOSSES
from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.held_out import EVERY
from adacanon.experiments.clouds.soft_clouds import effective_forms, soft_learner
from adacanon.points import PointNet
from adacanon.runs.run import INFINITE, Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row
from adacanon.training.loop import TrainingControl
from adacanon.training.schedule import Schedule

TEMPERATURES: tuple[float | str, ...] = (0.0, 0.3, 1.0, 3.0, INFINITE)


def soft_row(temperature: float | str, loss: str, scores: str = "logits", *, frames: int = 4) -> Row:
    """AC-PointNet with a soft maximum over principal axes: those in the order of their variances, or in any order."""
    size = "mean" if temperature == INFINITE else f"temperature {temperature:g}"
    name = f"{size}; {loss}" + ("" if scores == "logits" else f" on {scores}") + ("" if frames == 4 else f"; {frames}")
    own = {"temperature": temperature, "loss": loss, "scores": scores, "frames": frames}
    return Row(name, "AC", "PointNet", settings=own)


ROWS = (
    *(soft_row(temperature, loss) for loss, temperature in product(LOSSES, TEMPERATURES)),
    *(soft_row(temperature, "cross-entropy", "log-probabilities") for temperature in (0.3, 1.0, 3.0)),
)


def settings(row: Row, column: str, preset: str) -> Settings:
    """As in `modelnet`, what the row has of its own, and which shapes are held out."""
    return {**modelnet.settings(row, column, preset), "held_out": EVERY}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train for a fixed number of epochs; the shapes held out stand in the place of the test shapes."""
    data, options = modelnet.clouds_of(run), run.options()
    learner, history = train_seeded(
        run,
        lambda: soft_learner(PointNet(data.classes), data, options, seed=run.split),
        data.split,
        Schedule.of(options),
        control,
    )
    figures = modelnet.tested(run, learner, data, history)
    return {**figures, "effective_forms": effective_forms(learner.module, data, batch=options["batch"])}


TEMPERATURE_GRID = replace(
    modelnet.MODELNET,
    name="temperature-clouds",
    title="ModelNet, loss, scores and temperature of AC-PointNet: accuracy on training shapes that are held out",
    rows=ROWS,
    splits=lambda row, column: 1,
    settings=settings,
    execute=execute,
    extra_metrics=(("changed", "changed"), ("moved", "moved"), ("effective_forms", "effective forms")),
    comparable=lambda options: False,
)
