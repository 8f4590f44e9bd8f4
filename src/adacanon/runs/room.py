"""Room for what a command will write: asked for before hours are spent on it."""

import os
import tempfile
from pathlib import Path

from adacanon.errors import DataError


def check_room(what: str, file: Path, *, option: str) -> None:
    """Refuse a file in a folder that cannot be made or written to, or whose disk is full. Nothing is left behind.

    Args:
        what: will be in the file, in plural.
        option: of the command, which names the place.

    Example:
        >>> check_room("Pages", Path("build/pages/chairs.html"), option="--pages")
    """
    if file.exists() and not file.is_file():  # a pipe, or the terminal
        return
    try:
        folder = next(place for place in file.absolute().parents if place.exists())
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.write(b"\0" * 65536)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise DataError(
            f"{what} cannot be written to {file} ({error.strerror}); nothing was started. "
            f"Hint: make room on the disk, or name another place with {option}"
        ) from error
