"""Files that are on the disk whole or not at all."""

import errno
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

Content = bytes | memoryview | Callable[[IO[bytes]], object]
"""What a file will hold, or a function that writes it to a stream."""

_FORCED: set[tuple[str, int, int]] = set()
"""Folders whose names this process has forced to the disk, with all above them."""


def write_whole(path: Path, content: Content) -> None:
    """Write a file in one step: whoever reads it finds the old content or the new one, never a part of it.

    The content first goes to a temporary file beside it, ``NAME.*.part``, whose name no other process, thread or
    machine uses. If writing fails, the temporary file is removed and the old file stays. If the process is killed, the
    old file stays too, and so may the temporary one. Folders above the file are made.

    When it returns, the file survives a loss of power: first the content is forced to the disk, then the file takes
    its name, then the folder is forced to the disk. In any other order a name could stand for an empty file.

    Devices and pipes, such as ``/dev/stdout``, are written to directly: replacing them would destroy them.

    Raises:
        OSError: the file could not be written. What that costs is for the caller to say.
    """
    path = path.resolve() if path.is_file() else path  # the file that a link points to is replaced, not the link
    try:
        if path.exists() and not path.is_file():
            _write(path, content)
        else:
            make_folder(path.parent)
            _write_and_replace(path, content)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # a full disk is reported without a name
            error.filename = str(path)
        raise


def write_content(stream: IO[bytes], content: Content) -> None:
    """Write what is given, or let a function write it."""
    if callable(content):
        content(stream)
    else:
        stream.write(content)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that they survive a loss of power.

    Others may have made them without forcing their names to the disk, so this is done once in every process.
    """
    folder = folder.absolute()
    places = (folder, *folder.parents)
    missing = {place for place in places if not place.exists()}
    folder.mkdir(parents=True, exist_ok=True)
    for place in places:
        found = place.stat()
        name = (str(place), found.st_dev, found.st_ino)
        if name in _FORCED and place not in missing:
            return
        sync_folder(place.parent)
        _FORCED.add(name)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system can do that for folders."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders, and some folders may be written to but not read
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that do not do it for folders
            raise
    finally:
        os.close(descriptor)


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
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _write(path: Path, content: Content) -> None:
    with path.open("wb") as stream:
        write_content(stream, content)
        stream.flush()
        if path.is_file():  # pipes and devices have nothing to force
            os.fsync(stream.fileno())
