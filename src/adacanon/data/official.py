"""Reading official folders: lists, tables of numbers, what is wrong with them, and how far the reading has come."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from adacanon.errors import DataError

Item = TypeVar("Item")

OnProgress = Callable[[int, int], None]
"""Called with the files that are read and with all of them."""

FARTHEST, SMALLEST = 2.0, 0.01
"""Coordinates and sizes of a shape in the unit ball, with some room."""


def silent(done: int, total: int) -> None:
    """For those who do not ask how far it is."""


def counted(items: Sequence[Item], on_progress: OnProgress, *, before: int = 0, total: int = 0) -> Iterator[Item]:
    """The items, each reported after it was used; ``before`` others are done already, of ``total`` in all."""
    for done, item in enumerate(items, before + 1):
        yield item
        on_progress(done, total or len(items))


def lines_of(file: Path) -> list[str]:
    """The lines of a text file that are not empty."""
    try:
        return [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
    except FileNotFoundError as error:
        raise DataError(f"{file} is missing. Hint: unpack the official archive again") from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: expected lines of text, got {error}") from error


def json_list(file: Path) -> list[Any]:
    """A list in a JSON file."""
    try:
        content = json.loads("\n".join(lines_of(file)))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{file} is damaged: expected a list in JSON, got {error}") from error
    if not isinstance(content, list):
        raise DataError(f"{file}: expected a list in JSON, got {type(content).__name__}")
    return content


def table_of(file: Path, columns: str, *, delimiter: str | None = None, rows: int | None = None) -> np.ndarray:
    """The first rows, or all, of a file of numbers with these columns."""
    names = columns.split()
    lines = lines_of(file)[:rows]
    try:
        table = np.loadtxt(lines, delimiter=delimiter, dtype=np.float64, ndmin=2) if lines else np.empty((0, 0))
    except ValueError as error:
        raise DataError(f"{file}: expected rows of {len(names)} numbers ({columns}), got {error}") from error
    if table.shape[0] < max(1, rows or 0) or table.shape[1] != len(names):
        wanted = f"at least {rows} rows" if rows else "rows"
        hint = "the file may be cut off; unpack the official archive again, or ask for fewer points"
        if table.shape[1] not in (0, len(names)):
            hint = "other releases of these shapes have other columns"
        raise DataError(
            f"{file}: expected {wanted} of {len(names)} numbers ({columns}), got {table.shape[0]} rows of "
            f"{table.shape[1]}. Hint: {hint}"
        )
    return table


def half_precision(file: Path, points: np.ndarray) -> np.ndarray:
    """Coordinates (..., points, 3) as they are stored. Official ones fill the unit ball; far from zero or much smaller
    than that, half precision would not tell points apart.
    """
    far = ~(np.abs(points) <= FARTHEST)
    if far.any():
        first = tuple(np.argwhere(far)[0])
        raise DataError(
            f"{file}: expected finite coordinates in the unit ball, entry {first[0] + 1} has {points[first]:g}. "
            "Hint: subtract the mean of every shape and divide by its radius"
        )
    sizes = np.ptp(points, axis=-2).max(-1)
    if points.shape[-2] > 1 and sizes.min() < SMALLEST:
        place = f", shape {int(sizes.argmin()) + 1}," if sizes.ndim else ""
        raise DataError(
            f"{file}{place}: expected points that fill the unit ball, got all of them within {sizes.min():g}. "
            "Hint: leave the shape out, or divide it by its radius"
        )
    return points.astype(np.float16)


def check_disjoint(folder: Path, parts: dict[str, list[str]]) -> None:
    """No shape may be listed twice, neither in one part nor in two."""
    seen: dict[str, str] = {}
    for part, names in parts.items():
        if not names:
            raise DataError(f"{folder}: the {part} part lists no shapes")
        for name in names:
            if name in seen:
                where = f"in the {part} part" if seen[name] == part else f"in the {seen[name]} and in the {part} part"
                raise DataError(f"{folder}: {name} is listed twice, {where}")
            seen[name] = part
