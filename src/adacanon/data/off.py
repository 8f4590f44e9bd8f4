"""Shapes from ``.off`` files: a line of counts, then a line for each vertex and for each face."""

import re
from pathlib import Path

import numpy as np

from adacanon.data.file_content import content_of, text_of, whole_number
from adacanon.data.surfaces import Surface, checked_surface
from adacanon.errors import DataError

HEAD = re.compile(r"(ST)?C?N?OFF")
"""With texture, colours and normals of vertices, which stand behind the coordinates and are left out."""


def read_off(file: Path) -> Surface:
    """Vertices and faces; colours and normals are left out."""
    lines = [line.partition("#")[0].strip() for line in text_of(file, content_of(file)).splitlines()]
    lines = [line for line in lines if line]
    head = HEAD.match(lines[0]) if lines else None
    if head is None or "BINARY" in lines[0]:
        came = lines[0][:40] if lines else "an empty file"
        raise DataError(f"{file}: expected OFF in the first line, got {came!r}. Hint: .off files are read as text")
    rest = lines[0][head.end() :].strip()  # some files have the counts in the same line, without a space
    counts, *body = [*([rest] if rest else []), *lines[1:]] or [""]
    words = counts.split()
    if len(words) < 2:
        raise DataError(f"{file}: expected the numbers of vertices and faces, got {counts[:40]!r}")
    vertices, faces = (whole_number(file, word, "number of vertices and faces") for word in words[:2])
    if len(body) < vertices + faces:
        raise DataError(
            f"{file} is cut off: expected {vertices} vertices and {faces} faces, got {len(body)} lines for both"
        )
    points = np.array([_floats(file, line) for line in body[:vertices]], np.float64).reshape(-1, 3)
    return checked_surface(file, points, [_corners(file, line) for line in body[vertices : vertices + faces]])


def _floats(file: Path, line: str) -> list[float]:
    try:
        x, y, z = (float(word) for word in line.split()[:3])
    except ValueError as error:
        raise DataError(f"{file}: expected three coordinates of a vertex, got {line[:40]!r}") from error
    return [x, y, z]


def _corners(file: Path, line: str) -> list[int]:
    words = line.split()
    count = whole_number(file, words[0], "number of corners of a face")
    if len(words) <= count:
        raise DataError(f"{file}: expected {count} corners of a face, got {line[:40]!r}")
    return [whole_number(file, word, "corner of a face") for word in words[1 : 1 + count]]
