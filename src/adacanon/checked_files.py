"""Files that end with a checksum, so that a damaged one is noticed, set aside and made again.

The checksum follows the content. Programs that read the content by its own rules, such as ``torch.load`` and
``numpy.load``, read these files as before.
"""

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from adacanon.errors import DataError
from adacanon.files import Content, write_content, write_whole

MARK = b"\nadacanon-checked"
"""Begins the end of a file; then come a hash of its name and one of its content."""

NAME_BYTES = 16
CONTENT_BYTES = hashlib.sha256().digest_size
END_BYTES = len(MARK) + NAME_BYTES + CONTENT_BYTES


class DamagedFileError(DataError):
    """A file is not what was written: changed, cut off, written under another name, or without a checksum."""


def write_checked(path: Path, content: Content) -> None:
    """Write a file in one step, as :func:`adacanon.files.write_whole` does, with a checksum at its end.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_checked(Path(folder) / "numbers.bin", b"123")
        ...     with opened_checked(Path(folder) / "numbers.bin") as stream:
        ...         stream.read(3)
        b'123'
    """

    def write(stream: IO[bytes]) -> None:
        write_content(stream, content)
        stream.flush()
        with Path(stream.name).open("rb") as written:  # zip archives are not written from their beginning to their end
            checksum = hashlib.file_digest(written, "sha256").digest()
        stream.seek(0, os.SEEK_END)
        stream.write(MARK + _of_name(path) + checksum)

    write_whole(path, write)


@contextmanager
def opened_checked(path: Path) -> Iterator[IO[bytes]]:
    """A file at its beginning, after its checksum has been compared.

    Raises:
        DamagedFileError: the file is not what was written.
        OSError: it cannot be read at all.
    """
    with path.open("rb") as stream:
        reason = _damage(path, stream)
        if reason:
            raise DamagedFileError(f"{path} {reason}")
        stream.seek(0)
        yield stream


def has_checksum(path: Path) -> bool:
    """Whether a file ends as :func:`write_checked` ends it; files of earlier versions do not."""
    with path.open("rb") as stream:
        return _end(stream).startswith(MARK)


def set_aside(path: Path, reason: object, *, then: str = "it is computed again") -> None:
    """Rename a file to ``NAME.broken`` and say so; an earlier one of that name is replaced."""
    aside = path.with_name(f"{path.name}.broken")
    place = f"cannot be renamed to {aside}"
    with suppress(OSError):  # the folder may have vanished, or be read-only
        path.replace(aside)
        place = f"is now {aside.name}"
    why = str(reason).removeprefix(f"{path} ")
    warnings.warn(f"{path} cannot be used ({why}). It {place}; {then}", stacklevel=3)


def _damage(path: Path, stream: IO[bytes]) -> str:
    """What is wrong with a file, or nothing."""
    end = _end(stream)
    if not end.startswith(MARK):
        return "has no checksum"
    name, checksum = end[len(MARK) : -CONTENT_BYTES], end[-CONTENT_BYTES:]
    stream.seek(0)
    if _hash_before_the_end(stream) != checksum:
        return "has another content than its checksum says"
    return "" if name == _of_name(path) else "was written under another name, for something else"


def _end(stream: IO[bytes]) -> bytes:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - END_BYTES))
    return stream.read()


def _hash_before_the_end(stream: IO[bytes]) -> bytes:
    left = os.fstat(stream.fileno()).st_size - END_BYTES
    digest = hashlib.sha256()
    while left > 0 and (block := stream.read(min(left, 2**20))):
        digest.update(block)
        left -= len(block)
    return digest.digest()


def _of_name(path: Path) -> bytes:
    return hashlib.sha256(path.name.encode()).digest()[:NAME_BYTES]
