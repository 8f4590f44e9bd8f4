"""The part benchmark of ShapeNet (Yi et al., 2016) as point clouds, read from one compressed file of arrays.

16 categories of shapes have two to six parts each, 50 in all. Points are centred and scaled again after reading.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from adacanon.data.arrays import Arrays, Statistics, data_file, is_present, opened
from adacanon.errors import DataError, InputError

FILE = Path("pointclouds") / "shapenetpart.npz"
CATEGORIES, PARTS, MOST_PARTS, PADDING = 16, 50, 6, 255
SPLITS = ("train", "val", "test")
OF_SPLIT = ("points", "category", "part_labels", "ids")
KEYS = ("category_names", "category_parts", *(f"{split}_{key}" for split in SPLITS for key in OF_SPLIT))


@dataclass(frozen=True)
class Shapes:
    """One part of the data set.

    Attributes:
        points: (shapes, points, 3) in float32, centred in the unit ball.
        categories: (shapes,) in 0 .. 15.
        labels: the part of every point, (shapes, points) in 0 .. 49.
        ids: names of the shapes.

    Example:
        >>> labels = torch.zeros(2, 64, dtype=torch.int64)
        >>> part = Shapes(torch.randn(2, 64, 3), torch.tensor([0, 4]), labels, ("plane_1", "chair_1"))
        >>> part.points.shape, part.labels.shape
        (torch.Size([2, 64, 3]), torch.Size([2, 64]))
    """

    points: Tensor
    categories: Tensor
    labels: Tensor
    ids: tuple[str, ...]


@dataclass(frozen=True)
class ShapeNetParts:
    """Training, validation and test part.

    Attributes:
        category_names: in the order of their numbers.
        parts: which parts a category has, (categories, parts), True for its own.

    Example:
        >>> labels = torch.zeros(2, 64, dtype=torch.int64)
        >>> part = Shapes(torch.randn(2, 64, 3), torch.tensor([0, 1]), labels, ("plane_1", "bag_1"))
        >>> ShapeNetParts(part, part, part, ("Airplane", "Bag"), torch.ones(2, 3, dtype=torch.bool)).category_names
        ('Airplane', 'Bag')
    """

    train: Shapes
    validation: Shapes
    test: Shapes
    category_names: tuple[str, ...]
    parts: Tensor


def load_shapenet(points: int = 1024, *, folder: Path | None = None) -> ShapeNetParts:
    """The part benchmark from ``pointclouds/shapenetpart.npz`` in a folder of data sets.

    Args:
        points: number of points kept of every shape, the first ones; then the shape is normalised.
        folder: of data sets; ``ADACANON_DATA`` if not given.

    Example:
        >>> load_shapenet(points=512).test.labels.shape  # doctest: +SKIP
        torch.Size([2874, 512])
        >>> load_shapenet(points=0)
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: A cloud needs at least one point, got points=0
    """
    if points < 1:
        raise InputError(f"A cloud needs at least one point, got points={points}")
    with opened(data_file(FILE, folder, of="The part benchmark of ShapeNet"), KEYS) as arrays:
        names = arrays.array("category_names", "U", (CATEGORIES,))
        parts = _parts(arrays)
        train, validation, test = (_shapes(arrays, split, parts, points) for split in SPLITS)
    return ShapeNetParts(train, validation, test, tuple(names.tolist()), torch.from_numpy(parts))


def shapenet_statistics() -> Statistics | None:
    """The counts, or None if the data set is not present; no points are read."""
    if not is_present(FILE):
        return None
    with opened(data_file(FILE, None, of="The part benchmark of ShapeNet"), KEYS) as arrays:
        counts = [len(arrays.labels(f"{split}_category", CATEGORIES)) for split in SPLITS]
        points = arrays.shape("train_points")[1]
    return Statistics(counts[0], counts[1], counts[2], CATEGORIES, PARTS, points)


def _parts(arrays: Arrays) -> np.ndarray:
    """(categories, parts), from the lists of parts that are padded with 255; every part has one category."""
    listed = arrays.array("category_parts", "iu", (CATEGORIES, MOST_PARTS)).astype(np.int64)
    own = listed != PADDING
    parts = np.zeros((CATEGORIES, PARTS), dtype=bool)
    if listed[own].min() < 0 or listed[own].max() >= PARTS:
        raise DataError(f"{arrays.file}: category_parts must lie in 0..{PARTS - 1} or be {PADDING}")
    parts[own.nonzero()[0], listed[own]] = True
    if not (parts.sum(0) == 1).all() or own.sum() != PARTS:
        raise DataError(f"{arrays.file}: category_parts must give every one of {PARTS} parts to one category")
    return parts


def _shapes(arrays: Arrays, split: str, parts: np.ndarray, points: int) -> Shapes:
    categories = arrays.labels(f"{split}_category", CATEGORIES)
    ids = arrays.array(f"{split}_ids", "U", (len(categories),))
    labels = arrays.labels(f"{split}_part_labels", PARTS, (len(categories), None))
    x = arrays.clouds(f"{split}_points", ids, points)
    if labels.shape[1] < points:
        raise DataError(f"{arrays.file}: expected {split}_part_labels of {points} points, got {labels.shape[1]}")
    strange = ~np.take_along_axis(parts[categories], labels, 1).all(1)
    if strange.any():
        raise DataError(
            f"{arrays.file}: {split}_part_labels must be parts of the shape's category, "
            f"those of {int(strange.sum())} shapes are not, the first is {ids[int(strange.argmax())]}"
        )
    return Shapes(x, torch.from_numpy(categories), torch.from_numpy(labels[:, :points].copy()), tuple(ids.tolist()))
