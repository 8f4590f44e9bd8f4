"""Some rows of an array in an archive, with memory for these rows alone: an archive of a few megabytes may unpack to
many gigabytes.
"""

import math
import zipfile
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from adacanon.errors import DataError

BLOCK = 2**24
"""Bytes that are unpacked at a time."""

MOST_SAMPLES = 20_000_000
"""The draw of some samples needs a number for each of them."""

LARGEST_WHOLE, LARGEST_RATIO = 2**30, 200
"""Rows of an array are not kept if they have more bytes than this, and more than so many times its compressed bytes."""


class Header(NamedTuple):
    """What an archive says of an array before its numbers."""

    shape: tuple[int, ...]
    dtype: np.dtype
    by_columns: bool
    """Whether the numbers of a row are apart."""


def header_of(file: Path, key: str) -> Header:
    """The header of an array, which is not unpacked; refused if the numbers after it cannot be as many."""
    with zipfile.ZipFile(file) as archive, archive.open(f"{key}.npy") as stream:
        return _header(file, key, stream, archive.getinfo(f"{key}.npy").file_size)


def check_size(file: Path, key: str, *, share: float = 1.0) -> None:
    """Refuse to hold an array, or this share of its rows, that is far larger than the file suggests."""
    with zipfile.ZipFile(file) as archive:
        entry = archive.getinfo(f"{key}.npy")
    wanted = share * entry.file_size
    if wanted > max(LARGEST_WHOLE, LARGEST_RATIO * entry.compress_size):
        raise DataError(
            f"{file}: {key} unpacks from {entry.compress_size / 2**20:.1f} MB to {wanted / 2**30:.1f} GB and "
            "was not read. Hint: if it is right, save it without compression, by numpy.savez"
        )


def read_rows(file: Path, key: str, rows: np.ndarray) -> np.ndarray:
    """Rows of an array along its first axis, in native byte order. The others are unpacked too, so that damage is
    noticed, but not kept.

    Args:
        rows: indices in increasing order.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/a.npz", x=np.arange(10))
        ...     read_rows(Path(folder) / "a.npz", "x", np.array([2, 7])).tolist()
        [2, 7]
    """
    with zipfile.ZipFile(file) as archive, archive.open(f"{key}.npy") as stream:
        shape, dtype, by_columns = _header(file, key, stream, archive.getinfo(f"{key}.npy").file_size)
        assert not by_columns
        row_bytes = dtype.itemsize * math.prod(shape[1:])
        at_once = max(1, BLOCK // max(1, row_bytes))
        found = np.empty((len(rows), *shape[1:]), dtype.newbyteorder("="))
        for first in range(0, shape[0], at_once):
            count = min(at_once, shape[0] - first)
            block = np.frombuffer(_exactly(stream, count * row_bytes), dtype).reshape(count, *shape[1:])
            low, high = np.searchsorted(rows, (first, first + count))
            found[low:high] = block[rows[low:high] - first]
        if stream.read(1):
            raise DataError(f"{file}: {key} holds more numbers than its shape {shape}")
    return found


def _header(file: Path, key: str, stream: IO[bytes], size: int) -> Header:
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, by_columns, dtype = read[np.lib.format.read_magic(stream)](stream)
    if dtype.hasobject or dtype.itemsize * math.prod(shape) != size - stream.tell():
        raise DataError(
            f"{file}: {key} of shape {shape} and type {dtype} cannot be held by {size - stream.tell()} bytes. "
            "Hint: copy the file again; objects of Python are not read"
        )
    return Header(shape, dtype, by_columns and len(shape) > 1)


def _exactly(stream: IO[bytes], count: int) -> bytes:
    content = stream.read(count)
    if len(content) != count:
        raise EOFError(f"expected {count} bytes, got {len(content)}")
    return content
