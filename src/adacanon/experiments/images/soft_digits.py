"""A small network under a soft maximum over angles: what is measured of it as its temperature changes.

It is trained on upright digits and tested at any angle. No test image of the data set is read.
"""

import math

import torch
from torch import Tensor, nn

from adacanon.core import Canonicalized, Objective, Temperature
from adacanon.core.loss import LOSSES
from adacanon.data.images import ImageDataset
from adacanon.experiments.images.rotated_digits import (
    FAMILY,
    RotatedDigits,
    SmallCNN,
    mnist,
    randomly_rotated,
    rotated_digits,
)
from adacanon.maximizers import GridSearch, RandomSearch
from adacanon.runs.run import Run, Settings, number
from adacanon.runs.seeded import train_seeded
from adacanon.training.calibration import calibration_error, scaled_calibration_error
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import TrainingControl
from adacanon.training.schedule import Schedule

SOFT: Settings = {"temperature": 1.0, "loss": "cross-entropy", "scores": "logits", "draws": 8}
"""The rule that was chosen on training digits held out (`temperature`)."""

DIGITS: Settings = {"epochs": 5, "batch": 64, "learning_rate": 2e-3, "cosine": True, "seed": 0}
DIGITS |= {"train": 2000, "held_out": 1500, "angles": 24, "draws": 6}
PATHS, STEPS, FARTHEST = 8, 121, 30.0
"""Digits that are turned step by step, and how far, in degrees."""


def figures(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train on some of the training digits, and measure on others, turned."""
    options = run.options()
    data = rotated_digits(_held_out(mnist(), run.split, options), seed=run.split)
    learner, history = train_seeded(
        run, lambda: soft_learner(SmallCNN(data.classes), data, options), data.split, Schedule.of(options), control
    )
    turned, labels = data.images[data.split.test], data.labels[data.split.test]
    module = learner.module.eval()
    assert isinstance(module, Canonicalized)
    scores, forms = _scores(module, turned)
    again, _ = _scores(module, randomly_rotated(data.images[data.upright], torch.Generator().manual_seed(1000)))
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    on_paths = _scores(module, _paths(data.images[data.upright][:PATHS]))[0].unflatten(0, (PATHS, STEPS))
    return {
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        "calibration_error": calibration_error(scores, labels),
        "scaled_calibration_error": scaled_calibration_error(scores, labels),
        "changed": 100 * float((again.argmax(1) != scores.argmax(1)).double().mean()),
        "moved": float((again - scores).abs().mean()) / unit,
        "jump": float(on_paths.diff(dim=1).abs().amax((1, 2)).mean()) / unit,
        "effective_forms": forms,
        "train_loss": history.loss,
        "seconds": history.seconds,
    }


def soft_learner(network: nn.Module, data: RotatedDigits, options: Settings) -> Learner:
    """A network under a soft maximum over angles, random ones in training and equally spaced ones in evaluation. The
    settings name ``temperature``, ``loss``, ``scores``, ``angles``, ``draws``, and perhaps ``forms`` and ``learned``.
    """
    if options["scores"] == "log-probabilities":
        network = nn.Sequential(network, nn.LogSoftmax(1))
    temperature = number(options["temperature"])
    model = Canonicalized(
        network,
        FAMILY,
        GridSearch(options["angles"]),
        training_search=RandomSearch(options["draws"]),
        temperature=Temperature(temperature, learned=True) if options.get("learned") else temperature,
    )
    loss = LOSSES[options["loss"]]
    objective = Objective(model, loss=loss, forms=options.get("forms"))
    return Learner(model, data.labels, looked_up(data.images), loss, objective=objective)


def _held_out(data: ImageDataset, seed: int, options: Settings) -> ImageDataset:
    """Training images alone, some of them in the place of the test images; the seed determines which."""
    order = torch.randperm(len(data.train.labels), generator=torch.Generator().manual_seed(seed))
    count = options["held_out"]
    return data.held_out(order[count : count + options["train"]], order[:count])


def _paths(images: Tensor) -> Tensor:
    """Images turned step by step, one path after the other."""
    angles = torch.linspace(0, math.radians(FARTHEST), STEPS).repeat(len(images))
    return FAMILY.transform(images, angles, torch.arange(len(images)).repeat_interleave(STEPS))


@torch.no_grad()
def _scores(module: Canonicalized, images: Tensor) -> tuple[Tensor, float]:
    """Scores of images, and how many forms decide that of the predicted class, on average."""
    found = [module.canonicalize(rows) for rows in images.split(250)]
    scores = torch.cat([record.logits for record in found])
    if module.temperature is None:
        return scores, 1.0
    forms = torch.cat([record.effective_forms for record in found if record.effective_forms is not None])
    return scores, float(forms.gather(1, scores.argmax(1, keepdim=True)).mean())
