"""Loss, scores and temperature of a soft maximum on clouds, tried together on training shapes held out: no test shape
is read.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.core import Canonicalized, Objective, one_vs_rest
from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.held_out import EVERY
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds
from adacanon.maximizers import AnchoredSearch
from adacanon.points import PointNet, Rotations
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import TrainingControl
from adacanon.training.schedule import Schedule

INFINITE = "infinite"
"""JSON has no word for infinity."""

LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "one-vs-rest": one_vs_rest,
    "cross-entropy": functional.cross_entropy,
}
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


def build(data: RotatedClouds, options: Settings, *, seed: int) -> Learner:
    """A PointNet under a soft maximum; every form carries its gradient."""
    network: nn.Module = PointNet(data.classes)
    if options["scores"] == "log-probabilities":
        network = nn.Sequential(network, nn.LogSoftmax(1))
    model = Canonicalized(
        network,
        Rotations(),
        AnchoredSearch(options["frames"], whole=False),
        temperature=temperature_of(options),
        seed=seed,
    )
    loss = LOSSES[options["loss"]]
    inputs, objective = looked_up(data.points), Objective(model, loss=loss)
    return Learner(model, data.labels, inputs, loss, data.for_training, objective)


def temperature_of(options: Settings) -> float:
    """The number that settings stand for."""
    return float("inf") if options["temperature"] == INFINITE else options["temperature"]


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train for a fixed number of epochs; the shapes held out stand in the place of the test shapes."""
    data, options = modelnet.clouds_of(run), run.options()
    learner, history = train_seeded(
        run, lambda: build(data, options, seed=run.split), data.split, Schedule.of(options), control
    )
    figures = modelnet.tested(run, learner, data, history)
    return {**figures, "effective_forms": effective_forms(learner.module, data, batch=options["batch"])}


@torch.no_grad()
def effective_forms(module: nn.Module, data: RotatedClouds, *, batch: int) -> float:
    """How many forms decide the score of the predicted class, on average over the shapes held out."""
    assert isinstance(module, Canonicalized)
    module.eval()
    if module.temperature is None:
        return 1.0
    numbers = []
    for index in data.split.test.split(batch):
        found = module.canonicalize(data.points[index])
        assert found.effective_forms is not None
        numbers.append(found.effective_forms.gather(1, found.logits.argmax(1, keepdim=True)))
    return float(torch.cat(numbers).mean())


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
