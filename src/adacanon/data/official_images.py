"""The official files of CIFAR-10, CIFAR-100 and MNIST, made into the one file of arrays that ``load_images`` reads.

- ``cifar-10-python.tar.gz``, ``cifar-100-python.tar.gz``, or what they hold, unpacked:
  https://www.cs.toronto.edu/~kriz/cifar.html
- a folder with ``train-images-idx3-ubyte``, ``train-labels-idx1-ubyte``, ``t10k-images-idx3-ubyte`` and
  ``t10k-labels-idx1-ubyte``, with or without ``.gz``

The archives of CIFAR are pickles. They are read by an unpickler that knows arrays and nothing else: no code runs.
"""

import codecs
import gzip
import io
import math
import pickle
import struct
import tarfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from adacanon.data.images import file_of, layout_of
from adacanon.data.official import OnProgress, counted, silent
from adacanon.errors import DataError
from adacanon.files import write_whole
from adacanon.folders import cache_folder

Arrays = dict[str, np.ndarray]

CIFAR10_TRAIN = tuple(f"data_batch_{i}" for i in range(1, 6))
ARCHIVES = {"cifar10": "cifar-10-python.tar.gz", "cifar100": "cifar-100-python.tar.gz"}
MNIST_NAMES = {"train": "train", "test": "t10k"}
LARGEST = 2**28
"""Bytes of one file after unpacking; the largest official one has 153 million."""

DAMAGE = (tarfile.TarError, zlib.error, EOFError, OSError, ValueError, TypeError, KeyError, IndexError, AttributeError)


def import_images(name: str, source: str | Path, *, folder: Path | None = None) -> Path:
    """Read the official files of a data set and write them as one file of arrays.

    Args:
        name: cifar10, cifar100 or mnist.
        source: the archive of CIFAR, the folder that holds it or its files, or the folder of the files of MNIST.
        folder: of data sets, to which ``images/NAME.npz`` is written; the cache folder if not given.

    Returns:
        the file, on the disk as a whole or not at all.

    Example:
        >>> import_images("cifar10", "cifar-10-python.tar.gz").name  # doctest: +SKIP
        'cifar10.npz'
        >>> import_images("cifar10", "no-such-file.tar.gz")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        adacanon.errors.DataError: no-such-file.tar.gz is missing. Hint: fetch it from the page of ...
    """
    arrays = read_images(name, Path(source))
    file = (folder or cache_folder()) / file_of(name)
    write_whole(file, lambda stream: np.savez_compressed(stream, **arrays))  # type: ignore[arg-type]
    return file


def read_images(name: str, source: Path, on_progress: OnProgress = silent) -> Arrays:
    """The arrays of the file; arguments as in :func:`import_images`."""
    layout = layout_of(name)
    if not source.exists():
        raise DataError(f"{source} is missing. Hint: fetch it from the page of the data set, see official_images.py")
    arrays = READERS[name](source, on_progress)
    for part in ("train", "test"):
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
        if images.shape[1:] != layout.shape or len(images) != len(labels):
            raise DataError(
                f"{source}: expected {part} images of shape {layout.shape}, one per label, "
                f"got {images.shape} and {len(labels)} labels. Hint: these are the files of another data set"
            )
        arrays[f"{part}_index"] = np.arange(len(labels), dtype=np.uint16)
    return arrays


def _cifar10(archive: Path, on_progress: OnProgress) -> Arrays:
    names = (*CIFAR10_TRAIN, "test_batch", "batches.meta")
    found = _contents(archive, ARCHIVES["cifar10"], names, on_progress)
    content = {"train": [found[name] for name in CIFAR10_TRAIN], "test": [found["test_batch"]]}
    class_names = {"class_names": _names(archive, found["batches.meta"], b"label_names")}
    return _joined(archive, content, b"labels") | class_names


def _cifar100(archive: Path, on_progress: OnProgress) -> Arrays:
    found = _contents(archive, ARCHIVES["cifar100"], ("train", "test", "meta"), on_progress)
    kinds = {"class_names": b"fine_label_names", "coarse_names": b"coarse_label_names"}
    names = {key: _names(archive, found["meta"], kind) for key, kind in kinds.items()}
    return _joined(archive, {part: [found[part]] for part in ("train", "test")}, b"fine_labels") | names


def _joined(archive: Path, content: dict[str, list[Any]], labels: bytes) -> Arrays:
    """Rows of 3072 bytes, a colour after the other, become images with channels last."""
    arrays: Arrays = {}
    try:
        for part, batches in content.items():
            rows = np.concatenate([np.asarray(batch[b"data"], dtype=np.uint8) for batch in batches])
            arrays[f"{part}_images"] = rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            arrays[f"{part}_labels"] = np.concatenate([batch[labels] for batch in batches]).astype(np.uint8)
    except DAMAGE as error:
        raise _damaged(archive, error) from error
    return arrays


def _names(archive: Path, content: Any, key: bytes) -> np.ndarray:
    try:
        return np.array([name.decode() for name in content[key]])
    except DAMAGE as error:
        raise _damaged(archive, error) from error


def _contents(source: Path, archive: str, names: Sequence[str], on_progress: OnProgress) -> dict[str, Any]:
    """What the files of a data set hold: of an archive, of a folder with the archive, or of the unpacked archive."""
    if source.is_file():
        found = _members(source, names, on_progress)
    elif (source / archive).is_file():
        return _contents(source / archive, archive, names, on_progress)
    else:
        files = [source / name for name in names if (source / name).is_file()]
        found = {file.name: _unpickled(file) for file in counted(files, on_progress)}
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(
            f"{source}: expected the files {', '.join(names)}, or the archive {archive}; missing {', '.join(missing)}. "
            "Hint: the version for python is needed"
        )
    return found


def _unpickled(file: Path) -> Any:
    try:
        with file.open("rb") as stream:
            return _ArraysOnly(io.BytesIO(_bounded(stream)), encoding="bytes").load()
    except (pickle.UnpicklingError, *DAMAGE) as error:
        raise _damaged(file, error) from error


def _members(archive: Path, names: Sequence[str], on_progress: OnProgress) -> dict[str, Any]:
    """What files of an archive hold, in whatever folder they are, read in one pass."""
    found: dict[str, Any] = {}
    try:
        with gzip.open(archive) as unpacked, tarfile.open(fileobj=unpacked, mode="r|") as tar:
            for member in tar:
                name = Path(member.name).name
                if name in names and (stream := tar.extractfile(member)) is not None:
                    found[name] = _ArraysOnly(io.BytesIO(_bounded(stream)), encoding="bytes").load()
                    on_progress(len(found), len(names))
            while unpacked.read(2**20):  # to the end, where the checksum is
                pass
    except (pickle.UnpicklingError, *DAMAGE) as error:
        raise _damaged(archive, error) from error
    return found


def _bounded(stream: IO[bytes] | gzip.GzipFile) -> bytes:
    """All bytes of a file, which may be compressed, unless there are far more than in any of the official ones."""
    content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"it holds more than {LARGEST // 2**20} MB")
    return content


class _ArraysOnly(pickle.Unpickler):
    """Plain containers, strings, numbers, and numpy's arrays."""

    def find_class(self, module: str, name: str) -> Any:
        reconstruct = np.empty(0).__reduce__()[0]
        known = {
            ("numpy.core.multiarray", "_reconstruct"): reconstruct,
            ("numpy._core.multiarray", "_reconstruct"): reconstruct,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
            ("_codecs", "encode"): codecs.encode,
        }
        if (module, name) not in known:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no array")
        return known[module, name]


def _mnist(folder: Path, on_progress: OnProgress) -> Arrays:
    names = {
        f"{part}_{kind}": f"{prefix}-{kind}-idx{axes}-ubyte"
        for part, prefix in MNIST_NAMES.items()
        for kind, axes in (("images", 3), ("labels", 1))
    }
    return {key: _idx(folder, name) for key, name in counted(list(names.items()), on_progress)}


def _idx(folder: Path, name: str) -> np.ndarray:
    """Bytes after a header: two zeros, 8 for bytes, the number of axes, and their lengths."""
    file = next((f for f in (folder / name, folder / f"{name}.gz") if f.is_file()), None)
    if file is None:
        raise DataError(f"{folder / name} is missing, with or without .gz. Hint: name the folder of the four files")
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as stream:
            content = _bounded(stream)
        kind, axes = struct.unpack(">HBB", content[:4])[1:]
        shape = struct.unpack(f">{axes}I", content[4 : 4 + 4 * axes])
    except (struct.error, *DAMAGE) as error:
        raise _damaged(file, error) from error
    body = content[4 + 4 * axes :]
    if kind != 8 or len(body) != math.prod(shape):
        raise _damaged(file, ValueError(f"{len(body)} bytes for an array of shape {shape} and type {kind}"))
    return np.frombuffer(body, dtype=np.uint8).reshape(shape)


def _damaged(file: Path, error: Exception) -> DataError:
    reason = str(error) or type(error).__name__
    return DataError(f"{file} is damaged or not the official file: {reason}. Hint: fetch it again")


READERS: dict[str, Callable[[Path, OnProgress], Arrays]] = {"cifar10": _cifar10, "cifar100": _cifar100, "mnist": _mnist}
