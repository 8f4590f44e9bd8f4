"""A linear classifier under a soft maximum over windows of an image: what is measured of it as its temperature changes.

The network below the classifier is frozen, and the features of all windows are computed once. No test image is read.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.core import effective_number, soft_weights
from adacanon.experiments.images.cifar import COMMON, PRESETS, split_of
from adacanon.experiments.images.window_classifier import WindowClassifier, softness_of, window_learner
from adacanon.experiments.images.window_features import WindowFeatures, images_of, own_features, window_features
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.training.calibration import calibration_error, scaled_calibration_error
from adacanon.training.loop import DataSplit, TrainingControl
from adacanon.training.schedule import Schedule

DATA = "CIFAR-10"
CROPS: Settings = {**COMMON, **PRESETS["cpu"], "learning_rate": 3e-3, "cosine": True}
SHIFTED, SHIFT = 200, 2.0
PATHS, STEPS, FARTHEST = 8, 33, 4.0
"""How many images are shifted, by how many pixels; how many paths of shifts there are, in how many steps and how far.
"""


def figures(run: Run, control: TrainingControl, column: str = DATA) -> dict[str, float]:
    """Train on nine tenths of the training images, and measure on the last: the last epoch, nothing is chosen."""
    options = run.options()
    data = window_features(column, options)
    train, held_out = _held_out(data, run.split, options)
    split = DataSplit(train, train[:0], held_out)

    def build() -> Any:
        linear = nn.Linear(data.features.shape[-1], len(data.class_names))
        named = {"seen": "all", "tested": "soft", "loss": options["loss"], "windows": options["windows"]}
        return window_learner(data, linear, softness=softness_of(options), **named)

    learner, history = train_seeded(run, build, split, Schedule.of(options), control)
    module, labels = learner.module.eval(), data.labels[held_out]
    assert isinstance(module, WindowClassifier)
    scores, forms = _scores(module, data.features[held_out], options)
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    found = {
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        "calibration_error": calibration_error(scores, labels),
        "scaled_calibration_error": scaled_calibration_error(scores, labels),
        "effective_forms": forms,
        "train_loss": history.loss,
        "seconds": history.seconds,
    }
    if column != DATA:
        return found
    shifted, on_paths = shifted_features(column, options)
    before = _scores(module, data.features[:SHIFTED], options)[0]
    after = _scores(module, shifted, options)[0]
    on_the_way = _scores(module, on_paths, options)[0].unflatten(0, (PATHS, STEPS))
    return found | {
        "changed": 100 * float((after.argmax(1) != before.argmax(1)).double().mean()),
        "moved": float((after - before).abs().mean()) / unit,
        "jump": float(on_the_way.diff(dim=1).abs().amax((1, 2)).mean()) / unit,
    }


def shifted_features(column: str, options: Settings) -> tuple[Tensor, Tensor]:
    """Features of the first training images, shifted; and of some of them along paths, one path after the other."""
    images = images_of(column).train.scaled()[:SHIFTED]
    along = torch.linspace(0, FARTHEST, STEPS)
    paths = torch.cat([shifted(images[i : i + 1].expand(STEPS, -1, -1, -1), along) for i in range(PATHS)])
    every = torch.cat([shifted(images, torch.full((SHIFTED,), SHIFT)), paths])
    features = own_features(column, every, options)
    return features[:SHIFTED], features[SHIFTED:]


def shifted(images: Tensor, pixels: Tensor) -> Tensor:
    """Images moved to the right, each by its own number of pixels; the left edge is repeated.

    Shape:
        (batch, channels, height, width) and (batch,) -> (batch, channels, height, width)
    """
    maps = torch.eye(2, 3).repeat(len(images), 1, 1)
    maps[:, 0, 2] = -2 * pixels / images.shape[3]
    grid = functional.affine_grid(maps, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)


def _held_out(data: WindowFeatures, seed: int, options: Settings) -> tuple[Tensor, Tensor]:
    split = split_of(data, seed=seed, held_out=options["held_out"])
    return split.train, split.validation


@torch.no_grad()
def _scores(module: WindowClassifier, features: Tensor, options: Settings) -> tuple[Tensor, float]:
    """Scores of images, and how many windows decide that of the predicted class, on average."""
    assert module.soft is not None
    temperature = 0.0 if module.soft.temperature is None else module.soft.temperature()
    scores, forms = [], []
    for rows in features.split(250):
        pooled = module(rows)
        of_windows = module.soft.head(rows.float()).transpose(0, 1)  # (windows, images, classes)
        best = pooled.argmax(1, keepdim=True)
        winner = of_windows.gather(2, best.expand(len(of_windows), -1, -1))
        scores.append(pooled)
        forms.append(effective_number(soft_weights(winner, temperature)).flatten())
    return torch.cat(scores), float(torch.cat(forms).mean())
