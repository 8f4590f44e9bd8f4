"""ModelNet40 and its subset ModelNet10 (Wu et al., 2015) as point clouds, read from one compressed file of arrays.

The file holds the first points of ``modelnet40_normal_resampled`` in half precision, normalised over ten times as many
points. They are centred and scaled again after reading. "Up" is the second axis.
"""

from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from adacanon.data.arrays import Arrays, Statistics, data_file, is_present, normalised, opened
from adacanon.errors import DataError, InputError

__all__ = ["Clouds", "ModelNet", "load_modelnet", "normalised"]

FILE = Path("pointclouds") / "modelnet40.npz"
CLASSES = 40
SUBSET = 10
PARTS = ("train", "test")
KEYS = ("class_names", *(f"{part}_{key}" for part in PARTS for key in ("points", "labels", "ids", "in_modelnet10")))


@dataclass(frozen=True)
class Clouds:
    """One part of a data set.

    Attributes:
        points: (samples, points, 3) in float32, centred in the unit ball.
        labels: (samples,) in 0 .. classes - 1.
        ids: names of the shapes.

    Example:
        >>> part = Clouds(torch.randn(3, 64, 3), torch.tensor([0, 1, 0]), ("chair_1", "desk_1", "chair_2"))
        >>> part.where(part.labels == 0).ids
        ('chair_1', 'chair_2')
    """

    points: Tensor
    labels: Tensor
    ids: tuple[str, ...]

    def where(self, mask: Tensor) -> "Clouds":
        """The shapes that a mask (samples,) is true for."""
        return Clouds(self.points[mask], self.labels[mask], tuple(compress(self.ids, mask.tolist())))


@dataclass(frozen=True)
class ModelNet:
    """Training and test part, and the names of the classes in the order of their labels.

    Example:
        >>> part = Clouds(torch.randn(4, 64, 3), torch.tensor([0, 1, 0, 1]), ("a", "b", "c", "d"))
        >>> ModelNet(part, part, ("chair", "desk")).held_out(every=2).test.ids
        ('a', 'c')
    """

    train: Clouds
    test: Clouds
    class_names: tuple[str, ...]

    def held_out(self, every: int, *, first: int = 0) -> "ModelNet":
        """The training part alone: every n-th of its shapes takes the place of the test shapes, from ``first`` on."""
        chosen = torch.arange(len(self.train.labels)) % every == first
        return ModelNet(self.train.where(~chosen), self.train.where(chosen), self.class_names)


def load_modelnet(classes: Literal[40, 10] = 40, points: int = 1024, *, folder: Path | None = None) -> ModelNet:
    """ModelNet40 or ModelNet10 from ``pointclouds/modelnet40.npz`` in a folder of data sets.

    Args:
        classes: 10 keeps the shapes that are marked as ModelNet10, and numbers their classes anew.
        points: number of points kept of every cloud, the first ones; then the cloud is :func:`normalised`.
        folder: of data sets; ``ADACANON_DATA`` if not given.

    Example:
        >>> load_modelnet(10, points=128).train.points.shape  # doctest: +SKIP
        torch.Size([3991, 128, 3])
        >>> load_modelnet(7)
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: ModelNet comes with 40 classes or 10 of them, got classes=7
    """
    if classes not in (CLASSES, SUBSET):
        raise InputError(f"ModelNet comes with {CLASSES} classes or {SUBSET} of them, got classes={classes}")
    if points < 1:
        raise InputError(f"A cloud needs at least one point, got points={points}")
    with opened(data_file(FILE, folder, of="ModelNet"), KEYS) as arrays:
        names = arrays.array("class_names", "U", (CLASSES,))
        kept = _kept(arrays) if classes == SUBSET else np.arange(CLASSES)
        train, test = (_part(arrays, part, kept, points) for part in PARTS)
    return ModelNet(train, test, tuple(names[kept].tolist()))


def modelnet_statistics(classes: Literal[40, 10]) -> Statistics | None:
    """The counts, or None if the data set is not present; no points are read."""
    if not is_present(FILE):
        return None
    with opened(data_file(FILE, None, of="ModelNet"), KEYS) as arrays:
        points = arrays.shape("train_points")[1]
        if classes == CLASSES:
            train, test = (len(arrays.labels(f"{part}_labels", CLASSES)) for part in PARTS)
        else:
            train, test = (int(arrays.array(f"{part}_in_modelnet10", "b", (None,)).sum()) for part in PARTS)
    return Statistics(train, 0, test, classes, 0, points)


def _kept(arrays: Arrays) -> np.ndarray:
    """The classes of ModelNet10 among the forty, in order."""
    labels = {part: arrays.labels(f"{part}_labels", CLASSES) for part in PARTS}
    train, test = (np.unique(of_part[_marks(arrays, part, of_part)]) for part, of_part in labels.items())
    if len(train) != SUBSET or not np.array_equal(train, test):
        raise DataError(
            f"{arrays.file}: in_modelnet10 must mark shapes of the same {SUBSET} classes in both parts, got "
            f"{len(train)} classes in train and {len(test)} in test"
        )
    return train


def _marks(arrays: Arrays, part: str, labels: np.ndarray) -> np.ndarray:
    return arrays.array(f"{part}_in_modelnet10", "b", (len(labels),))


def _part(arrays: Arrays, part: str, kept: np.ndarray, points: int) -> Clouds:
    labels = arrays.labels(f"{part}_labels", CLASSES)
    ids = arrays.array(f"{part}_ids", "U", (len(labels),))
    rows = slice(None) if len(kept) == CLASSES else _marks(arrays, part, labels)
    x = arrays.clouds(f"{part}_points", ids, points, rows)
    return Clouds(x, torch.from_numpy(np.searchsorted(kept, labels[rows])), tuple(ids[rows].tolist()))
