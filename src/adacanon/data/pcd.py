"""Clouds from ``.pcd`` files, as text or as bytes."""

from pathlib import Path

import numpy as np

from adacanon.data.file_content import content_of, numbers_in, text_of, whole_number
from adacanon.data.surfaces import Surface, checked_surface
from adacanon.errors import DataError

NEEDED = ("FIELDS", "SIZE", "TYPE", "POINTS", "DATA")
KINDS = {("F", 4): "<f4", ("F", 8): "<f8"} | {(t, s): f"<{t.lower()}{s}" for t in "IU" for s in (1, 2, 4, 8)}
LONGEST_HEADER = 64 * 2**10

Header = dict[str, list[str]]


def read_pcd(file: Path) -> Surface:
    """Coordinates of all points; other fields are left out."""
    content = content_of(file)
    header, start = _header(file, content)
    fields = [(name, kind) for name, kind, count in _columns(file, header) for _ in range(count)]
    points, storage = whole_number(file, header["POINTS"][0], "number of points"), header["DATA"][0].lower()
    if storage == "ascii":
        table = _text_table(file, text_of(file, content[start:]), points, len(fields))
    elif storage == "binary":
        table = _binary_table(file, content[start:], points, [kind for _, kind in fields])
    else:
        raise DataError(f"{file}: expected DATA ascii or binary, got {storage}. Hint: convert it to binary")
    names = [name for name, _ in fields]
    return checked_surface(file, table[:, [names.index(axis) for axis in "xyz"]])


def _header(file: Path, content: bytes) -> tuple[Header, int]:
    """Its lines by their first words, and where the points begin."""
    header, start = Header(), 0
    while "DATA" not in header:
        end = content.find(b"\n", start, LONGEST_HEADER)
        if end < 0:
            raise DataError(f"{file} is no .pcd file or cut off: expected a header that ends with DATA")
        words = content[start:end].decode("ascii", errors="replace").partition("#")[0].split()
        start = end + 1
        if words:
            header[words[0]] = words[1:]
    missing = [name for name in NEEDED if not header.get(name)]
    if missing:
        raise DataError(f"{file}: expected {', '.join(NEEDED)} in the header; missing {', '.join(missing)}")
    return header, start


def _columns(file: Path, header: Header) -> list[tuple[str, str, int]]:
    """Name, type and number of values of every field."""
    names, sizes, types = header["FIELDS"], header["SIZE"], header["TYPE"]
    counts = header.get("COUNT", ["1"] * len(names))
    if not len(names) == len(sizes) == len(types) == len(counts):
        raise DataError(f"{file}: expected as many of SIZE, TYPE and COUNT as FIELDS, {len(names)}")
    if any(names.count(axis) != 1 or counts[names.index(axis)] != "1" for axis in "xyz"):
        raise DataError(f"{file}: expected the fields x, y and z, one value each, got {' '.join(names)[:80]}")
    found = []
    for name, size, kind, count in zip(names, sizes, types, counts, strict=True):
        known = KINDS.get((kind, whole_number(file, size, "SIZE of a field")))
        if known is None:
            raise DataError(f"{file}: expected TYPE F, I or U and a SIZE that goes with it, got {kind} {size}")
        found.append((name, known, whole_number(file, count, "COUNT of a field")))
    return found


def _text_table(file: Path, text: str, points: int, width: int) -> np.ndarray:
    numbers = numbers_in(file, text)
    if len(numbers) != points * width:
        raise DataError(f"{file}: expected {points} points of {width} numbers, got {len(numbers)} numbers")
    return numbers.reshape(points, width)


def _binary_table(file: Path, content: bytes, points: int, kinds: list[str]) -> np.ndarray:
    row = np.dtype([(str(i), kind) for i, kind in enumerate(kinds)])
    if len(content) < points * row.itemsize:
        raise DataError(
            f"{file} is cut off: expected {points} points of {row.itemsize} bytes, got {len(content)} bytes"
        )
    rows = np.frombuffer(content, row, points)
    return np.stack([rows[name].astype(np.float64) for name in row.names or ()], 1)
