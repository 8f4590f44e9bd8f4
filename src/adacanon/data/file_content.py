"""The content of files that a user brings, with a bound on their size, and numbers in text."""

import warnings
from pathlib import Path

import numpy as np

from adacanon.errors import DataError

LARGEST = 128 * 2**20
"""Bytes of a file that are read at most: what is unpacked from it takes a few times as much memory."""


def content_of(file: Path) -> bytes:
    """All bytes of a file of a bounded size."""
    if not file.is_file():
        raise DataError(f"{file} is missing or no file")
    size = file.stat().st_size
    if size > LARGEST:
        raise DataError(
            f"{file} has {size / 2**20:.0f} MB, expected at most {LARGEST // 2**20} MB. Hint: reduce it, or use .npz"
        )
    return file.read_bytes()


def text_of(file: Path, content: bytes) -> str:
    """Bytes as text; comments may hold any letters."""
    if b"\0" in content:
        raise DataError(f"{file}: expected text, got bytes of a binary file")
    return content.decode("utf-8", errors="replace")


def numbers_in(file: Path, text: str) -> np.ndarray:
    """All numbers of a text without other words, in float64."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # numpy stops at the first word that is no number
        try:
            return np.fromstring(text, sep=" ") if text.strip() else np.empty(0)
        except (DeprecationWarning, ValueError) as error:
            raise DataError(
                f"{file}: expected numbers, got {_first_word(text)!r}. Hint: save the file again"
            ) from error


def whole_number(file: Path, word: str, what: str) -> int:
    """A count from a header."""
    if not (word.isascii() and word.isdigit()):
        raise DataError(f"{file}: expected the {what} as a whole number, got {word[:40]!r}")
    return int(word)


def _first_word(text: str) -> str:
    for word in text.split():
        try:
            float(word)
        except ValueError:
            return word[:40]
    return text[:40]
