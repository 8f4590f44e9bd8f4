"""Scenes for training, validation and test, and how well the parts in them are found, upright and turned."""

import hashlib
import math
import time
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.data.convex_shapes import turns
from adacanon.data.scenes import SCENE_CLASSES, Scenes, pixel_centres, random_scenes
from adacanon.training.learner import Criterion, Learner, looked_up
from adacanon.training.loop import DataSplit
from adacanon.training.part_metrics import class_ious
from adacanon.training.smoke import shortened

PARTS = ("train", "validation", "test")
BATCH = 50
"""Images that are segmented at a time; no result depends on it."""


class Pictures(NamedTuple):
    """Images (n, 1, side, side) and the classes of their pixels (n, side, side)."""

    images: Tensor
    labels: Tensor


@dataclass(frozen=True)
class TurnedScenes:
    """Some scenes, and an angle for each of them."""

    scenes: Scenes
    angles: Tensor

    @cached_property
    def upright(self) -> Pictures:
        """As they stand."""
        return Pictures(*self.scenes.draw())

    @cached_property
    def turned(self) -> Pictures:
        """Each drawn at its angle: nothing is interpolated."""
        return Pictures(*self.scenes.draw(self.angles))

    @property
    def fingerprint(self) -> str:
        """Of the pictures, for networks that are kept."""
        return hashlib.sha256(self.upright.images.numpy().tobytes()).hexdigest()[:12]

    @property
    def all(self) -> DataSplit:
        """All scenes for training, none to choose an epoch by."""
        index = torch.arange(len(self.scenes))
        return shortened(DataSplit(index, index[:0], index[:0]))


@lru_cache(maxsize=3)
def turned_scenes(part: str, samples: int, *, seed: int) -> TurnedScenes:
    """One part of the data set of a seed; the parts have streams of their own."""
    generator = torch.Generator().manual_seed(len(PARTS) * seed + PARTS.index(part))
    scenes = random_scenes(samples, generator=generator)
    return TurnedScenes(scenes, random_angles(samples, generator))


def random_angles(samples: int, generator: torch.Generator | None = None) -> Tensor:
    """Evenly over the circle."""
    return 2 * math.pi * torch.rand(samples, generator=generator)


class Loss(NamedTuple):
    """What is trained on."""

    loss: Tensor


def segmenter(module: nn.Module, data: TurnedScenes) -> Learner:
    """A network, canonicalized or not, on upright scenes with the cross-entropy of pixels."""
    images, labels = data.upright
    return Learner(module, labels, looked_up(images), weighted_cross_entropy(labels))


def augmented_segmenter(module: nn.Module, data: TurnedScenes) -> Learner:
    """The same on scenes that are drawn at a new angle whenever they are trained on."""
    upright = segmenter(module, data)

    def objective(labels: Tensor, index: Tensor) -> Loss:
        images, turned_labels = data.scenes.draw(random_angles(len(index)), index=index)
        device = labels.device
        return Loss(upright.criterion(module(images.to(device)), turned_labels.to(device)))

    return replace(upright, training_inputs=lambda index: (), objective=objective)


def weighted_cross_entropy(labels: Tensor) -> Criterion:
    """With a weight for each class that falls with the root of its share of the pixels. Without weights, networks of
    some seeds never learn doors, which have one pixel in a hundred.
    """
    pixels = torch.bincount(labels.flatten(), minlength=len(SCENE_CLASSES)).double()
    weights = pixels.clamp(min=1).rsqrt()
    weight = (weights / weights.mean()).float()
    return lambda scores, labels: functional.cross_entropy(scores, labels, weight=weight.to(scores.device))


def segmentation_figures(module: nn.Module, data: TurnedScenes) -> dict[str, float]:
    """In percent: mean intersection over union of the classes, on turned scenes and on upright ones, and the pixels
    that change their class when the scene is turned. Only pixels on the disc count. Time is that of the processor.
    """
    begin = time.process_time()
    turned, upright = segmented(module, data.turned.images), segmented(module, data.upright.images)
    seconds = time.process_time() - begin
    return {
        "miou": mean_iou(turned, data.turned.labels),
        "upright_miou": mean_iou(upright, data.upright.labels),
        "changed": changed_pixels(upright, turned, data),
        "milliseconds": 1000 * seconds / (2 * len(turned)),
    }


@torch.no_grad()
def segmented(module: nn.Module, images: Tensor) -> Tensor:
    """The class of the largest score of every pixel, (n, side, side)."""
    module.eval()
    return torch.cat([module(some).argmax(1) for some in images.split(BATCH)])


def mean_iou(predicted: Tensor, labels: Tensor) -> float:
    """In percent, over pixels on the disc."""
    disc = on_disc(labels.shape[-1])
    return 100 * float(class_ious(predicted[:, disc], labels[:, disc], len(SCENE_CLASSES)).mean())


def changed_pixels(upright: Tensor, turned: Tensor, data: TurnedScenes) -> float:
    """Percent of pixels whose class on the turned scene is not the one at the same place of the upright scene.

    The same place is the nearest pixel. Where the true classes differ between the two, at edges, nothing is counted:
    a perfect segmenter has 0.
    """
    side = upright.shape[-1]
    x, y = (pixel_centres(side) @ turns(data.angles)).unbind(-1)
    column, row = (((place + 1) * side / 2 - 0.5).round().long().clamp(0, side - 1) for place in (x, -y))
    before, true = (labels.flatten(1).gather(1, row * side + column) for labels in (upright, data.upright.labels))
    counted = (true == data.turned.labels.flatten(1)) & on_disc(side).flatten()
    return 100 * float((before != turned.flatten(1))[counted].double().mean())


def on_disc(side: int) -> Tensor:
    """Which pixels (side, side) have their centre on the inscribed disc."""
    return (pixel_centres(side).norm(dim=-1) <= 1).reshape(side, side)
