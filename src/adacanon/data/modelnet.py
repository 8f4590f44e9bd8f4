"""ModelNet40 and its subset ModelNet10 (Wu et al., 2015) as point clouds, read from one compressed file of arrays.

The file holds the first points of ``modelnet40_normal_resampled`` in half precision, normalised over ten times as many
points. They are centred and scaled again after reading. "Up" is the second axis.
"""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

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
    with _opened(file) as archive:
        source = _Source(file, archive)
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


@contextmanager
def _intact(file: Path) -> Iterator[None]:
    """What numpy, zip and zlib say about a damaged file becomes one error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise DataError(f"{file} is damaged or no file of arrays: {error}. Hint: copy it again") from error


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    with file.open("rb") as stream:
        with _intact(file):
            archive = np.load(stream)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DataError(f"{file}: expected named arrays, got a single one. Hint: numpy.savez writes them")
        missing = [key for key in KEYS if key not in archive.files]
        if missing:
            raise DataError(f"{file}: expected the arrays {', '.join(KEYS)}; missing {', '.join(missing)}")
        yield archive


@dataclass(frozen=True)
class _Source:
    """An open file, whose arrays are unpacked when they are asked for."""

    file: Path
    archive: Any

    def array(self, key: str, kinds: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """An array of one of numpy's kinds of types; None in a shape stands for any length above zero."""
        with _intact(self.file):
            array = np.asarray(self.archive[key])
        fits = array.ndim == len(shape) and 0 not in array.shape
        fits = fits and all(m in (n, None) for n, m in zip(array.shape, shape, strict=True))
        if array.dtype.kind not in kinds or not fits:
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise DataError(
                f"{self.file}: expected {key} of shape ({wanted}) and a type of kind {' or '.join(kinds)}, "
                f"got {array.shape} of {array.dtype}"
            )
        return array

    def labels(self, part: str) -> np.ndarray:
        labels = self.array(f"{part}_labels", "iu", (None,)).astype(np.int64)
        if labels.min() < 0 or labels.max() >= CLASSES:
            raise DataError(
                f"{self.file}: {part}_labels must lie in 0..{CLASSES - 1}, got {labels.min()}..{labels.max()}"
            )
        return labels


def _kept(source: _Source) -> np.ndarray:
    """The classes of ModelNet10 among the forty, in order."""
    labels = [source.labels(part)[source.array(f"{part}_in_modelnet10", "b", (None,))] for part in PARTS]
    kept = np.unique(np.concatenate(labels))
    if len(kept) != SUBSET:
        raise DataError(f"{source.file}: in_modelnet10 must mark shapes of {SUBSET} classes, got {len(kept)}")
    return kept


def _part(source: _Source, part: str, kept: np.ndarray, points: int) -> Clouds:
    labels = source.labels(part)
    ids = source.array(f"{part}_ids", "U", (len(labels),))
    whole = len(kept) == CLASSES
    rows = slice(None) if whole else source.array(f"{part}_in_modelnet10", "b", (len(labels),))
    clouds = source.array(f"{part}_points", "f", (len(labels), None, 3))
    if points > clouds.shape[1]:
        raise InputError(f"{source.file} holds {clouds.shape[1]} points of every cloud, got points={points}")
    x = torch.from_numpy(clouds[rows, :points]).to(torch.float32, copy=True).contiguous()
    _check_finite(source, part, x, ids[rows])
    return Clouds(_normalise(x), torch.from_numpy(np.searchsorted(kept, labels[rows])), tuple(ids[rows].tolist()))


def _check_finite(source: _Source, part: str, points: Tensor, ids: np.ndarray) -> None:
    bad = ~points.sum((1, 2)).isfinite()  # a sum is finite if and only if all coordinates are
    if bad.any():
        first = ids[int(bad.int().argmax())]
        raise DataError(
            f"{source.file}: coordinates of {part}_points must be finite, "
            f"those of {int(bad.sum())} clouds are not, the first is {first}"
        )
