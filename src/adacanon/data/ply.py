"""Shapes from ``.ply`` files, as text or as bytes in either order.

A header lists elements such as ``vertex`` and ``face``, how many there are, and the properties of each, which are
numbers or lists of numbers. Then the elements follow, row by row.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adacanon.data.file_content import content_of, numbers_in, text_of, whole_number
from adacanon.data.surfaces import Surface, checked_surface
from adacanon.errors import DataError

TYPES = {"char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "float": "f4"}
TYPES |= {"double": "f8", "int8": "i1", "uint8": "u1", "int16": "i2", "uint16": "u2", "int32": "i4", "uint32": "u4"}
TYPES |= {"float32": "f4", "float64": "f8"}
ORDERS = {"binary_little_endian": "<", "binary_big_endian": ">"}
CORNERS = ("vertex_indices", "vertex_index")
LONGEST_HEADER, LONGEST_LIST = 64 * 2**10, 2**32


@dataclass(frozen=True)
class Property:
    """A number of type ``kind``, or a list of them whose length has the type ``length``."""

    name: str
    kind: str
    length: str | None = None


@dataclass(frozen=True)
class Element:
    """So many rows of the same properties."""

    name: str
    count: int
    properties: list[Property]


def read_ply(file: Path) -> Surface:
    """Coordinates of the vertices, and the faces if there are any; other properties are left out."""
    content = content_of(file)
    storage, elements, start = _header(file, content)
    body: Text | Binary
    if storage == "ascii":
        body = Text(file, numbers_in(file, text_of(file, content[start:])))
    else:
        body = Binary(file, content, ORDERS[storage], start)
    found = {element.name: _columns(body, element) for element in elements}
    vertices = np.stack([found["vertex"][axis] for axis in "xyz"], 1)
    corners = next((found["face"][name] for name in CORNERS if name in found.get("face", {})), [])
    if not all(np.isfinite(polygon).all() for polygon in corners):
        raise DataError(f"{file}: expected indices of vertices in faces, got numbers that are not finite")
    return checked_surface(file, vertices, [polygon.astype(np.int64) for polygon in corners])


@dataclass
class Text:
    """Numbers of a text, one after the other."""

    file: Path
    numbers: np.ndarray
    place: int = 0

    def fits(self, kinds: list[str], count: int) -> bool:
        return len(kinds) * count <= len(self.numbers) - self.place

    def table(self, kinds: list[str], count: int) -> np.ndarray:
        """The next rows (count, columns) in float64."""
        begin, self.place = self.place, self.place + len(kinds) * count
        return self.numbers[begin : self.place].reshape(count, len(kinds))


@dataclass
class Binary:
    """Numbers in bytes, ``order`` as numpy writes it."""

    file: Path
    content: bytes
    order: str
    place: int

    def row(self, kinds: list[str]) -> np.dtype:
        return np.dtype([(str(i), self.order + kind) for i, kind in enumerate(kinds)])

    def fits(self, kinds: list[str], count: int) -> bool:
        return self.row(kinds).itemsize * count <= len(self.content) - self.place

    def table(self, kinds: list[str], count: int) -> np.ndarray:
        """The next rows (count, columns) in float64."""
        row = self.row(kinds)
        rows = np.frombuffer(self.content, row, count, self.place)
        self.place += row.itemsize * count
        return np.stack([rows[name].astype(np.float64) for name in row.names or ()], 1)


def _header(file: Path, content: bytes) -> tuple[str, list[Element], int]:
    """How numbers are stored, the elements, and where they begin."""
    end = re.search(rb"\bend_header[ \t]*(\r\n|\n|\r)", content[:LONGEST_HEADER])
    if not content.startswith(b"ply") or end is None:
        raise DataError(f"{file} is no .ply file or cut off: expected a header from ply to end_header")
    storage, elements = "", list[Element]()
    for line in content[: end.start()].decode("ascii", errors="replace").splitlines()[1:]:
        match line.split():
            case ["format", storage, *_]:
                pass
            case ["element", name, count]:
                elements.append(Element(name, whole_number(file, count, f"number of {name}"), []))
            case ["property", "list", length, kind, name] if elements and {length, kind} <= set(TYPES):
                elements[-1].properties.append(Property(name, TYPES[kind], TYPES[length]))
            case ["property", kind, name] if elements and kind in TYPES:
                elements[-1].properties.append(Property(name, TYPES[kind]))
            case ["comment" | "obj_info", *_] | []:
                pass
            case _:
                raise DataError(f"{file}: expected a line of a .ply header, got {line[:60]!r}")
    _check_header(file, storage, elements)
    return storage, elements, end.end()


def _check_header(file: Path, storage: str, elements: list[Element]) -> None:
    if storage != "ascii" and storage not in ORDERS:
        raise DataError(f"{file}: expected the format ascii, {' or '.join(ORDERS)}, got {storage[:40]!r}")
    found = {(element.name, p.name) for element in elements for p in element.properties if p.length is None}
    if not {("vertex", axis) for axis in "xyz"} <= found:
        raise DataError(f"{file}: expected an element vertex with the numbers x, y and z")


def _columns(body: Text | Binary, element: Element) -> dict[str, "np.ndarray | list[np.ndarray]"]:
    """The values of every property; fast where all lists of a property have the length of the first."""
    if element.count == 0 or not element.properties:
        return {p.name: np.empty(0) if p.length is None else [] for p in element.properties}
    start, first = body.place, _row(body, element)
    kinds = [kind for p in element.properties for kind in _kinds(p, len(first[p.name]))]
    body.place = start
    if body.fits(kinds, element.count):
        split = _split(body.table(kinds, element.count), element, first)
        if split is not None:
            return split
        body.place = start
    rows = [_row(body, element) for _ in range(element.count)]
    return {
        p.name: np.array([row[p.name][0] for row in rows]) if p.length is None else [row[p.name] for row in rows]
        for p in element.properties
    }


def _kinds(p: Property, length: int) -> list[str]:
    return [p.kind] if p.length is None else [p.length, *[p.kind] * length]


def _split(
    table: np.ndarray, element: Element, first: dict[str, np.ndarray]
) -> dict[str, "np.ndarray | list[np.ndarray]"] | None:
    """The columns of a table by property; None if a list has another length than the first."""
    found: dict[str, np.ndarray | list[np.ndarray]] = {}
    place = 0
    for p in element.properties:
        width = len(first[p.name])
        if p.length is None:
            found[p.name] = table[:, place]
        elif (table[:, place] == width).all():
            found[p.name] = list(table[:, place + 1 : place + 1 + width])
        else:
            return None
        place += len(_kinds(p, width))
    return found


def _row(body: Text | Binary, element: Element) -> dict[str, np.ndarray]:
    return {p.name: _values(body, element, p) for p in element.properties}


def _values(body: Text | Binary, element: Element, p: Property) -> np.ndarray:
    """The next number, or all numbers of the next list."""
    length = 1.0
    if p.length is not None:
        length = float(body.table([p.length], 1)[0, 0]) if body.fits([p.length], 1) else -1.0
    if not 0 <= length < LONGEST_LIST or not body.fits([p.kind], int(length)):
        raise DataError(
            f"{body.file} is cut off or damaged: expected {element.count} rows of the element {element.name}, "
            f"got too few numbers for them. Hint: save the file again"
        )
    return body.table([p.kind], int(length))[:, 0]
