"""Digits at any angle, and a small network on them: what a training sees, and what it is tested on."""

from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.core import Canonicalized, Maximizer, Objective, one_vs_rest
from adacanon.data.images import ImageDataset, load_images
from adacanon.images import Rotations
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit
from adacanon.training.smoke import one_batch, shortened

FAMILY = Rotations("disc")
EVALUATED = 250
"""Images that are evaluated at a time; no result depends on it."""


class SmallCNN(nn.Module):
    """Three convolutions, each with a normalization; averages over nine parts of the image; a linear classifier."""

    def __init__(self, classes: int, *, widths: tuple[int, int, int] = (16, 32, 64)) -> None:
        super().__init__()
        first, second, third = widths
        self.layers = nn.Sequential(
            *_convolution(1, first), nn.MaxPool2d(2), *_convolution(first, second), nn.MaxPool2d(2)
        )
        self.last = nn.Sequential(*_convolution(second, third))
        self.classifier = nn.Linear(third * 9, classes)

    def forward(self, images: Tensor) -> Tensor:
        features = functional.adaptive_avg_pool2d(self.last(self.layers(images)), 3)
        return self.classifier(features.flatten(1))


def _convolution(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()


@dataclass(frozen=True)
class RotatedDigits:
    """The training images upright, then the test images at angles that the seed determines, then these upright.

    Attributes:
        split: the test part holds the rotated ones.
        upright: the test images as they are.
    """

    images: Tensor
    labels: Tensor
    split: DataSplit
    upright: Tensor
    classes: int


def plain(network: nn.Module, data: RotatedDigits, *, augmented: bool) -> Learner:
    """A network as it is, trained with cross-entropy; ``augmented`` turns images whenever they are trained on."""
    seen = (lambda index: (randomly_rotated(data.images[index]),)) if augmented else None
    return Learner(network, data.labels, looked_up(data.images), training_inputs=seen)


def canonicalized(
    network: nn.Module,
    data: RotatedDigits,
    search: Maximizer,
    *,
    training_search: Maximizer | None = None,
    forms: float | None = None,
) -> Learner:
    """A network under rotations, trained one-vs-rest."""
    model = Canonicalized(network, FAMILY, search, training_search=training_search)
    objective = Objective(model, loss=one_vs_rest, forms=forms)
    return Learner(model, data.labels, looked_up(data.images), one_vs_rest, objective=objective)


def rotated_digits(data: ImageDataset, *, seed: int) -> RotatedDigits:
    """All images on their discs, so that no corner tells an angle."""
    train, test = (FAMILY.prepare(part.scaled()) for part in (data.train, data.test))
    images = torch.cat([train, randomly_rotated(test, torch.Generator().manual_seed(seed)), test])
    labels = torch.cat([data.train.labels, data.test.labels, data.test.labels])
    index = torch.arange(len(images))
    first, second = len(train), len(train) + len(test)
    parts = shortened(DataSplit(index[:first], index[:0], index[first:first]))
    split = replace(parts, test=one_batch(index[first:second], batch=EVALUATED))
    return RotatedDigits(images, labels, split, one_batch(index[second:], batch=EVALUATED), len(data.class_names))


def randomly_rotated(images: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Every image by an angle of its own."""
    angles = FAMILY.points.sample(len(images), generator=generator)
    return FAMILY.transform(images, angles, torch.arange(len(images)))


@lru_cache(maxsize=1)
def mnist() -> ImageDataset:
    """The data set, read once per process."""
    return load_images("mnist")
