"""Files that are on the disk whole or not at all."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

Content = bytes | memoryview | Callable[[IO[bytes]], object]
"""What a file will hold, or a function that writes it to a stream."""


def write_whole(path: Path, content: Content) -> None:
    """Write a file in one step: whoever reads it finds the old content or the new one, never a part of it.

    The content first goes to a temporary file beside it, ``NAME.*.part``, whose name no other process, thread or
    machine uses. If writing fails, the temporary file is removed and the old file stays. If the process is killed, the
    old file stays too, and so may the temporary one. Folders above the file are made.

    Devices and pipes, such as ``/dev/stdout``, are written to directly: replacing them would destroy them.

    Raises:
        OSError: the file could not be written. What that costs is for the caller to say.
    """
    path = path.resolve() if path.is_file() else path  # the file that a link points to is replaced, not the link
    try:
        if path.exists() and not path.is_file():
            _write(path, content)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write_and_replace(path, content)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # a full disk is reported without a name
            error.filename = str(path)
        raise


@contextmanager
def exclusively(folder: Path) -> Iterator[None]:
    """Nobody else is in such a block for the same folder, where the file system has locks."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = None
    try:
        with suppress(OSError, ImportError):  # not every file system and not every system has locks
            import fcntl

            descriptor = os.open(folder, os.O_RDONLY)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _write_and_replace(path: Path, content: Content) -> None:
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        _write(part, content)
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _write(path: Path, content: Content) -> None:
    with path.open("wb") as stream:
        if callable(content):
            content(stream)
        else:
            stream.write(content)
