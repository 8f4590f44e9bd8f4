"""A PointNet under a soft maximum over principal axes: how it is built, and what is measured of it."""

import torch
from torch import Tensor, nn

from adacanon.core import Canonicalized, Objective, Temperature
from adacanon.core.loss import LOSSES
from adacanon.experiments.clouds.invariance_errors import (
    crossing_paths,
    invariance_errors,
    largest_jumps,
    scored,
    scored_on,
)
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds, modelnet, rotated_clouds
from adacanon.maximizers import AnchoredSearch
from adacanon.points import PointNet, Rotations
from adacanon.runs.run import Run, Settings, number
from adacanon.runs.seeded import train_seeded
from adacanon.training.calibration import calibration_error, scaled_calibration_error
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import TrainingControl
from adacanon.training.schedule import Schedule

SOFT: Settings = {"temperature": 1.0, "loss": "cross-entropy", "scores": "logits", "frames": 4}
"""The rule of the soft rows, chosen on shapes that are held out."""

FOLDS = 4
SMALL: Settings = {"classes": 10, "points": 64, "epochs": 10, "batch": 32, "learning_rate": 1e-3, "cosine": True}
SMALL |= {"weight_decay": 1e-4, "widths": [32, 32, 64, 256], "head": [128], "frames": 4, "seed": 0}
"""A small PointNet on a few points of every shape: many runs, so that differences of a point can be seen."""

PATHS, STEPS = 8, 256


def figures(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train on three of four folds of the training shapes, and measure on the fourth: no test shape is read."""
    options = run.options()
    shapes = modelnet(options["classes"], options["points"]).held_out(FOLDS, first=run.split % FOLDS)
    data = rotated_clouds(shapes, seed=run.split)
    learner, history = train_seeded(
        run,
        lambda: soft_learner(small_network(data, options), data, options),
        data.split,
        Schedule.of(options),
        control,
    )
    points, labels = data.points[data.split.test], data.labels[data.split.test]
    batch = options["batch"]
    scores = scored(learner.module, points, batch=batch)
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    mixed = points[torch.randperm(len(points), generator=torch.Generator().manual_seed(0))[:PATHS]]
    on_paths = scored_on(learner.module, crossing_paths(mixed, STEPS), batch=batch)
    return {
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        "calibration_error": calibration_error(scores, labels),
        "scaled_calibration_error": scaled_calibration_error(scores, labels),
        **invariance_errors(learner.module, points, scores, seed=run.split, batch=batch),
        "jump": float(largest_jumps(on_paths).mean()) / unit,
        "effective_forms": effective_forms(learner.module, data, batch=batch),
        "train_loss": history.loss,
        "seconds": history.seconds,
    }


def small_network(data: RotatedClouds, options: Settings) -> nn.Module:
    """A PointNet with the widths of the settings."""
    return PointNet(data.classes, widths=options["widths"], head=options["head"])


def soft_learner(network: nn.Module, data: RotatedClouds, options: Settings, *, seed: int = 0) -> Learner:
    """A network under a soft maximum. The settings name ``temperature``, ``loss``, ``scores``, ``frames``, and perhaps
    ``forms``, those of a cloud that carry gradients, and ``learned``, whether the temperature is.
    """
    if options["scores"] == "log-probabilities":
        network = nn.Sequential(network, nn.LogSoftmax(1))
    model = Canonicalized(
        network,
        Rotations(),
        AnchoredSearch(options["frames"], whole=options["frames"] == 24),
        temperature=Temperature(number(options["temperature"]), learned=True)
        if options.get("learned")
        else number(options["temperature"]),
        seed=seed,
    )
    loss = LOSSES[options["loss"]]
    objective = Objective(model, loss=loss, forms=options.get("forms"))
    return Learner(model, data.labels, looked_up(data.points), loss, data.for_training, objective)


@torch.no_grad()
def effective_forms(module: nn.Module, data: RotatedClouds, *, batch: int) -> float:
    """How many forms decide the score of the predicted class, on average over the shapes held out."""
    assert isinstance(module, Canonicalized)
    module.eval()
    if module.temperature is None:
        return 1.0
    numbers: list[Tensor] = []
    for index in data.split.test.split(batch):
        found = module.canonicalize(data.points[index])
        assert found.effective_forms is not None
        numbers.append(found.effective_forms.gather(1, found.logits.argmax(1, keepdim=True)))
    return float(torch.cat(numbers).mean())
