"""ModelNet40 and its subset ModelNet10 (Wu et al., 2015) as point clouds, read from one compressed file of arrays.

The file holds the first points of ``modelnet40_normal_resampled`` in half precision, normalised over ten times as many
points. They are centred and scaled again after reading. "Up" is the second axis.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from adacanon.data.array_files import ArrayFile, opened
from adacanon.errors import DataError, InputError
from adacanon.folders import data_folder

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
    """

    points: Tensor
    labels: Tensor
    ids: tuple[str, ...]


@dataclass(frozen=True)
class ModelNet:
    """Training and test part, and the names of the classes in the order of their labels."""

    train: Clouds
    test: Clouds
    class_names: tuple[str, ...]


def load_modelnet(classes: Literal[40, 10] = 40, points: int = 1024, *, folder: Path | None = None) -> ModelNet:
    """ModelNet40 or ModelNet10 from ``pointclouds/modelnet40.npz`` in a folder of data sets.

    Args:
        classes: 10 keeps the shapes that are marked as ModelNet10, and numbers their classes anew.
        points: so many of every cloud are kept, the first ones; then the cloud is :func:`normalised`.
        folder: of data sets; ``ADACANON_DATA`` if not given.
    """
    if classes not in (CLASSES, SUBSET):
        raise InputError(f"ModelNet comes with {CLASSES} classes or {SUBSET} of them, got classes={classes}")
    if points < 1:
        raise InputError(f"A cloud needs at least one point, got points={points}")
    file = _file(folder)
    with opened(file, KEYS) as source:
        names = source.array("class_names", "U", (CLASSES,))
        kept = _kept(source) if classes == SUBSET else np.arange(CLASSES)
        train, test = (_part(source, part, kept, points) for part in PARTS)
    return ModelNet(train, test, tuple(names[kept].tolist()))


def normalised(points: Tensor) -> Tensor:
    r""":math:`x_i \mapsto (x_i - \bar x) / \max_j \|x_j - \bar x\|` in every cloud; coinciding points go to zero.

    Shape:
        (..., points, channels) -> the same
    """
    return _normalise(points.clone())


def _normalise(points: Tensor) -> Tensor:
    """In place."""
    points -= points.mean(-2, keepdim=True)
    radius = torch.linalg.vector_norm(points, dim=-1).amax(-1)[..., None, None]
    return points.div_(radius.clamp_(min=torch.finfo(points.dtype).tiny))


def _file(folder: Path | None) -> Path:
    root = folder or data_folder()
    if root is None:
        raise DataError(
            f"ModelNet is read from {FILE}, in a folder to be named. Hint: set ADACANON_DATA to that folder"
        )
    if not (root / FILE).is_file():
        raise DataError(f"{root / FILE} is missing. Hint: set ADACANON_DATA to a folder that holds {FILE}")
    return root / FILE


def _kept(source: ArrayFile) -> np.ndarray:
    """The classes of ModelNet10 among the forty, in order."""
    labels = [source.labels(part, CLASSES)[source.array(f"{part}_in_modelnet10", "b", (None,))] for part in PARTS]
    kept = np.unique(np.concatenate(labels))
    if len(kept) != SUBSET:
        raise DataError(f"{source.file}: in_modelnet10 must mark shapes of {SUBSET} classes, got {len(kept)}")
    return kept


def _part(source: ArrayFile, part: str, kept: np.ndarray, points: int) -> Clouds:
    labels = source.labels(part, CLASSES)
    ids = source.array(f"{part}_ids", "U", (len(labels),))
    whole = len(kept) == CLASSES
    rows = slice(None) if whole else source.array(f"{part}_in_modelnet10", "b", (len(labels),))
    clouds = source.array(f"{part}_points", "f", (len(labels), None, 3))
    if points > clouds.shape[1]:
        raise InputError(f"{source.file} holds {clouds.shape[1]} points of every cloud, got points={points}")
    x = torch.from_numpy(clouds[rows, :points]).to(torch.float32, copy=True).contiguous()
    _check_finite(source, part, x, ids[rows])
    return Clouds(_normalise(x), torch.from_numpy(np.searchsorted(kept, labels[rows])), tuple(ids[rows].tolist()))


def _check_finite(source: ArrayFile, part: str, points: Tensor, ids: np.ndarray) -> None:
    bad = ~points.sum((1, 2)).isfinite()  # a sum is finite if and only if all coordinates are
    if bad.any():
        first = ids[int(bad.int().argmax())]
        raise DataError(
            f"{source.file}: coordinates of {part}_points must be finite, "
            f"those of {int(bad.sum())} clouds are not, the first is {first}"
        )
