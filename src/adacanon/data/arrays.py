"""Named arrays in one compressed file, checked as they are read."""

import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adacanon.data.array_rows import check_size, header_of, read_rows
from adacanon.errors import DataError, InputError, MissingDataError
from adacanon.folders import cache_folder, data_folder

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
    EOFError,
    OSError,
    ValueError,
    KeyError,
    RuntimeError,
    MemoryError,
)
"""What numpy, zip and zlib raise for files that are cut off or changed."""


@dataclass(frozen=True)
class Arrays:
    """An open file, whose arrays are unpacked when they are asked for."""

    file: Path
    archive: Any

    def __contains__(self, key: str) -> bool:
        return key in self.archive.files

    def array(self, key: str, kinds: str, shape: tuple[int | None, ...]) -> np.ndarray:
        """An array of one of numpy's kinds of types; None in a shape stands for any length above zero."""
        with _intact(self.file):
            check_size(self.file, key)
            array = np.asarray(self.archive[key])
        self._check_kind(key, kinds, shape, array.shape, array.dtype)
        return array.astype(array.dtype.newbyteorder("="), copy=False)

    def some_rows(self, key: str, kinds: str, shape: tuple[int | None, ...], rows: np.ndarray) -> np.ndarray:
        """Rows of such an array, in increasing order; no memory is needed for the others, unless the array is stored
        column by column.
        """
        with _intact(self.file):
            header = header_of(self.file, key)
            self._check_kind(key, kinds, shape, header.shape, header.dtype)
            if not header.by_columns:
                check_size(self.file, key, share=len(rows) / header.shape[0])
                return read_rows(self.file, key, rows)
        return self.array(key, kinds, shape)[rows]

    def _check_kind(
        self, key: str, kinds: str, wanted: tuple[int | None, ...], shape: tuple[int, ...], dtype: np.dtype
    ) -> None:
        fits = len(shape) == len(wanted) and 0 not in shape
        fits = fits and all(m in (n, None) for n, m in zip(shape, wanted, strict=True))
        if dtype.kind not in kinds or not fits:
            lengths = ", ".join("any" if n is None else str(n) for n in wanted)
            raise DataError(
                f"{self.file}: expected {key} of shape ({lengths}) and a type of kind {' or '.join(kinds)}, "
                f"got {shape} of {dtype}"
            )

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape of an array, which is not unpacked."""
        with _intact(self.file):
            return header_of(self.file, key).shape

    def labels(self, key: str, classes: int, shape: tuple[int | None, ...] = (None,)) -> np.ndarray:
        """Whole numbers in 0 .. classes - 1."""
        labels = self.array(key, "iu", shape).astype(np.int64)
        if labels.min() < 0 or labels.max() >= classes:
            raise DataError(f"{self.file}: {key} must lie in 0..{classes - 1}, got {labels.min()}..{labels.max()}")
        return labels

    def clouds(self, key: str, ids: np.ndarray, points: int, rows: Any = slice(None)) -> Tensor:
        """The first points of some clouds, in float32 and normalised; an error names a cloud that is none."""
        clouds = self.array(key, "f", (len(ids), None, 3))[rows]
        if points > clouds.shape[1]:
            raise InputError(f"{self.file} holds {clouds.shape[1]} points of every cloud, got points={points}")
        clouds = clouds[:, :points]
        check_points(self.file, key, clouds, ids[rows])
        return _normalise(torch.from_numpy(clouds).to(torch.float32, copy=True).contiguous())


@contextmanager
def opened(file: Path, keys: tuple[str, ...]) -> Iterator[Arrays]:
    """The arrays of a file that must hold these."""
    with file.open("rb") as stream:
        with _intact(file):
            archive = np.load(stream)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DataError(f"{file}: expected named arrays, got a single one. Hint: numpy.savez writes them")
        missing = [key for key in keys if key not in archive.files]
        if missing:
            raise DataError(f"{file}: expected the arrays {', '.join(keys)}; missing {', '.join(missing)}")
        yield Arrays(file, archive)


def data_file(name: Path, folder: Path | None, *, of: str) -> Path:
    """Where a file lies in a folder of data sets, ``ADACANON_DATA`` if none is given."""
    root = folder or data_folder()
    if root is None:
        raise MissingDataError(
            f"{of} is read from {name}, in a folder to be named. Hint: set ADACANON_DATA to that folder"
        )
    if not (root / name).is_file():
        raise MissingDataError(
            f"{root / name} is missing. Hint: set ADACANON_DATA to a folder that holds {name}, "
            "or make it from the official files: adacanon data import --help"
        )
    return root / name


def imported_file(name: Path, folder: Path | None, *, make: str) -> Path:
    """Where a file lies that can be imported: in the folder, or else in ``ADACANON_DATA`` or in the cache folder.

    Args:
        make: how to make it from the official files, for the error.
    """
    folders = [folder] if folder else [data_folder(), cache_folder()]
    places = [root / name for root in folders if root is not None]
    for place in places:
        if place.is_file():
            return place
    raise MissingDataError(
        f"{' and '.join(map(str, places))} {'is' if len(places) == 1 else 'are'} missing. Hint: set ADACANON_DATA to a "
        f"folder that holds {name}, or make it from the official files by {make}"
    )


def is_present(name: Path) -> bool:
    """Whether the folder of data sets, ``ADACANON_DATA``, holds a file."""
    root = data_folder()
    return root is not None and (root / name).is_file()


def check_points(file: Path, key: str, clouds: np.ndarray, ids: np.ndarray) -> None:
    """Refuse clouds (clouds, points, 3) that hold numbers which are not finite, or one point alone, many times."""
    for bad, expected in (
        (~np.isfinite(clouds).all((1, 2)), "finite coordinates"),
        ((clouds == clouds[:, :1]).all((1, 2)) & (clouds.shape[1] > 1), "points that are not all the same"),
    ):
        if bad.any():
            raise DataError(
                f"{file}: expected {expected} in {key}, {int(bad.sum())} clouds have others, the first is "
                f"{ids[int(bad.argmax())]}"
            )


@dataclass(frozen=True)
class Statistics:
    """What a data set of clouds holds; ``parts`` are those of segmentation, ``points`` those of every cloud."""

    train: int
    validation: int
    test: int
    classes: int
    parts: int
    points: int


def normalised(points: Tensor) -> Tensor:
    r""":math:`x_i \mapsto (x_i - \bar x) / \max_j \|x_j - \bar x\|` in every cloud; coinciding points go to zero.

    Shape:
        (..., points, channels) -> the same

    Example:
        >>> normalised(torch.tensor([[0.0, 0.0], [4.0, 0.0]])).tolist()
        [[-1.0, 0.0], [1.0, 0.0]]
    """
    return _normalise(points.clone())


def _normalise(points: Tensor) -> Tensor:
    """In place."""
    points -= points.mean(-2, keepdim=True)
    radius = torch.linalg.vector_norm(points, dim=-1).amax(-1)[..., None, None]
    return points.div_(radius.clamp_(min=torch.finfo(points.dtype).tiny))


@contextmanager
def _intact(file: Path) -> Iterator[None]:
    """What numpy, zip and zlib say about a damaged file becomes one error."""
    try:
        yield
    except DataError:  # has its reason already
        raise
    except DAMAGE as error:
        reason = str(error).partition(". ")[0]  # numpy goes on with advice that is not meant for readers of a data set
        raise DataError(f"{file} is damaged or no file of arrays: {reason}. Hint: copy it again") from error
