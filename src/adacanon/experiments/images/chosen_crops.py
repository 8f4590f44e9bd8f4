"""Which windows truncation canonicalization chooses for the true class of test images."""

import torch
from torch import Tensor

from adacanon.experiments.images.cifar import CIFAR, trained
from adacanon.experiments.images.window_classifier import WindowClassifier
from adacanon.experiments.images.window_features import WindowFeatures, images_of, window_features
from adacanon.reports.crops_figure import ChosenCrops
from adacanon.training.loop import TrainingControl

ROW = "Truncation canonicalization (paper)"
CLASSES_SHOWN = 10


def chosen_crops(column: str, *, examples: int = 3, preset: str = "cpu") -> ChosenCrops:
    """Train the row with the first seed and look at what it chooses; of many classes, the first ten are shown."""
    (run,) = CIFAR.runs(rows=(ROW,), columns=(column,), splits=1, preset=preset)
    learner, _ = trained(run, TrainingControl())
    assert isinstance(learner.module, WindowClassifier)
    pixels = images_of(column).test.scaled()
    return crops_of(learner.module, window_features(column, run.options()), pixels, examples=examples)


@torch.no_grad()
def crops_of(classifier: WindowClassifier, data: WindowFeatures, pixels: Tensor, *, examples: int) -> ChosenCrops:
    """Of a trained classifier; ``pixels`` are the test images."""
    labels = data.labels[data.train :]
    windows = torch.cat([_chosen(classifier, data, rows) for rows in torch.arange(len(labels)).split(100)])
    shown = min(CLASSES_SHOWN, len(data.class_names))
    first = [(labels == label).nonzero().flatten()[:examples] for label in range(shown)]
    return ChosenCrops(
        class_names=data.class_names[:shown],
        images=torch.stack([pixels[rows] for rows in first]),
        windows=torch.stack([windows[rows] for rows in first]),
        coverage=torch.stack([coverage(windows[labels == label], pixels.shape[-1]) for label in range(shown)]),
        sides=torch.stack([windows[labels == label, 2].double().mean() for label in range(shown)]),
    )


def _chosen(classifier: WindowClassifier, data: WindowFeatures, rows: Tensor) -> Tensor:
    """The windows (count, 4) at which the true classes of test images have their largest scores."""
    index = data.train + rows
    scores = classifier.linear(data.features[index].float())
    own = scores.gather(2, data.labels[index][:, None, None].expand(-1, scores.shape[1], 1)).squeeze(2)
    return data.windows[own.argmax(1)]


def coverage(windows: Tensor, pixels: int) -> Tensor:
    """The share of windows (count, 4) that hold each pixel, (pixels, pixels)."""
    place = torch.arange(pixels)
    top, left, height, width = (column.unsqueeze(1) for column in windows.unbind(1))
    rows, columns = ((place >= a) & (place < a + n) for a, n in ((top, height), (left, width)))
    return (rows.unsqueeze(2) & columns.unsqueeze(1)).double().mean(0)
