"""Files of named arrays (``.npz``), whose content is checked as it is read."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adacanon.errors import DataError


@dataclass(frozen=True)
class ArrayFile:
    """An open file, whose arrays are unpacked when they are asked for."""

    file: Path
    archive: Any

    def __contains__(self, key: str) -> bool:
        return key in self.archive.files

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

    def axes(self, key: str) -> int:
        """How many axes an array has."""
        with _intact(self.file):
            return int(np.ndim(self.archive[key]))

    def labels(self, part: str, classes: int) -> np.ndarray:
        """The labels of a part, in 0 .. classes - 1."""
        labels = self.array(f"{part}_labels", "iu", (None,)).astype(np.int64)
        if labels.min() < 0 or labels.max() >= classes:
            raise DataError(
                f"{self.file}: {part}_labels must lie in 0..{classes - 1}, got {labels.min()}..{labels.max()}"
            )
        return labels


@contextmanager
def opened(file: Path, keys: Sequence[str]) -> Iterator[ArrayFile]:
    """A file that holds at least the arrays ``keys``."""
    with file.open("rb") as stream:
        with _intact(file):
            archive = np.load(stream)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DataError(f"{file}: expected named arrays, got a single one. Hint: numpy.savez writes them")
        missing = [key for key in keys if key not in archive.files]
        if missing:
            raise DataError(f"{file}: expected the arrays {', '.join(keys)}; missing {', '.join(missing)}")
        yield ArrayFile(file, archive)


@contextmanager
def _intact(file: Path) -> Iterator[None]:
    """What numpy, zip and zlib say about a damaged file becomes one error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, RuntimeError) as error:
        raise DataError(f"{file} is damaged or no file of arrays: {error}. Hint: copy it again") from error
