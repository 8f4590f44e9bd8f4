"""Numbers in compressed text files, ``NAME.csv.gz``: one row per line, read in blocks so that large files fit."""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from adacanon.errors import DataError

BLOCK = 2**24
"""Bytes of text that are parsed at a time."""

OnBytes = Callable[[int], None]
"""Called with the bytes of a compressed file that were read since the last call."""

_EMPTY = re.compile(rb"(?<![^,\n])(?=[,\r\n])")
"""A field without characters."""


def read_numbers(
    file: Path,
    dtype: type[np.generic],
    *,
    columns: int | None = None,
    missing: bool = False,
    on_bytes: OnBytes = lambda count: None,
) -> np.ndarray:
    """The rows of a file, (rows, columns).

    Args:
        file: text compressed by gzip, numbers separated by commas, no heading.
        dtype: of the result; whole numbers that do not fit into it are refused.
        columns: how many there must be; those of the first line if not given.
        missing: read an empty field as NaN; without it an empty field is an error.
        on_bytes: told how much of the file is read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "label.csv.gz")
        ...     _ = file.write_bytes(gzip.compress(b"0,1\\n1,\\n"))
        ...     read_numbers(file, np.float32, missing=True).tolist()
        [[0.0, 1.0], [1.0, nan]]
    """
    parts: list[np.ndarray] = []
    first = 1
    for block in _blocks(file, on_bytes):
        text = _EMPTY.sub(b"nan", block) if missing else block
        wanted = columns or (parts[0].shape[1] if parts else None)
        parts.append(_parsed(file, text, dtype, wanted, first))
        first += block.count(b"\n")
    if not parts:
        raise DataError(f"{file} is empty: expected rows of numbers. Hint: copy the file again")
    return np.concatenate(parts)


def _blocks(file: Path, on_bytes: OnBytes) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time; the last line ends like the others."""
    try:
        with file.open("rb") as packed, gzip.GzipFile(fileobj=packed) as stream:
            done = 0
            while block := stream.read(BLOCK):
                block += (rest := stream.readline(BLOCK))
                if len(rest) == BLOCK:
                    raise OSError(f"a line of more than {BLOCK} characters")
                on_bytes(packed.tell() - done)
                done = packed.tell()
                yield block if block.endswith(b"\n") else block + b"\n"
    except FileNotFoundError as error:
        raise DataError(f"{file} is missing. Hint: unpack the official archive again") from error
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} is damaged: expected text compressed by gzip, got {error}") from error


def _parsed(file: Path, text: bytes, dtype: type[np.generic], columns: int | None, first: int) -> np.ndarray:
    whole = np.issubdtype(dtype, np.integer)
    lines = text.splitlines()
    try:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float64 if whole else dtype, ndmin=2, comments=None)
    except ValueError:
        table = np.empty((0, 0))
    if len(table) != len(lines) or columns not in (None, table.shape[1]):
        raise DataError(_what_is_wrong(file, lines, columns, first))
    return _as_whole(file, table, dtype, first) if whole else table


def _as_whole(file: Path, table: np.ndarray, dtype: type[np.generic], first: int) -> np.ndarray:
    limits = np.iinfo(dtype)  # type: ignore[type-var]
    bad = ~((table >= limits.min) & (table <= limits.max) & (table == np.round(table)))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{file}, line {first + row}: expected whole numbers in {limits.min}..{limits.max}, got "
            f"{table[row, column]:g}"
        )
    return table.astype(dtype)


def _what_is_wrong(file: Path, lines: list[bytes], columns: int | None, first: int) -> str:
    """The first line that does not have as many numbers as wanted, or as the first line has."""
    wanted = columns or lines[0].count(b",") + 1
    fits = [len(fields := line.split(b",")) == wanted and all(map(_is_number, fields)) for line in lines]
    place = fits.index(False)
    return f"{file}, line {first + place}: expected {wanted} numbers separated by commas, got {lines[place][:60]!r}"


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
