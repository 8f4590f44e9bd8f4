"""Results as lines of JSON: appended one at a time, read back even if the last line was torn."""

import json
import os
import platform
import subprocess
import warnings
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import IO, Any

from adacanon.errors import DataError
from adacanon.files import make_folder, sync_folder

Record = dict[str, Any]
PACKAGE = Path(__file__).parents[1]


def append_record(file: Path, record: Mapping[str, Any], *, once: str | None = None) -> bool:
    """Add one line and force it to the disk; processes that share a file wait for one another.

    Where that fails the error quotes the record, so that nothing that was measured is lost.

    Args:
        once: a field that no two records may share. Nothing is added, and False returned, if another record has its
            value already.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     append_record(Path(folder) / "table.jsonl", {"accuracy": 84.3})
        ...     read_records(Path(folder) / "table.jsonl")
        True
        [{'accuracy': 84.3}]
    """
    line = json.dumps(record, sort_keys=True, allow_nan=False).encode() + b"\n"
    try:
        make_folder(file.parent)
        with file.open("ab", buffering=0) as stream:
            with suppress(OSError, ImportError):  # not every file system and not every system has locks
                import fcntl

                fcntl.flock(stream, fcntl.LOCK_EX)
            _set_torn_line_aside(file)
            if once is not None and any(other.get(once) == record[once] for other in read_records(file)):
                return False
            _write(stream, line)
            sync_folder(file.parent)  # a new file is lost with the power if its name was not forced to the disk
    except OSError as error:
        raise DataError(
            f"A record could not be added to {file} ({error}). It is {line.decode().rstrip()} Hint: make room on the "
            "disk and run the same command again; it goes on from the last checkpoint, if there was room for one"
        ) from error
    return True


def read_records(file: Path) -> list[Record]:
    """All records of a file, none if it does not exist; a torn last line is reported and left for the next writer.

    Example:
        >>> read_records(Path("no/such/table.jsonl"))
        []
    """
    try:
        content = file.read_text(encoding="utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: expected lines of JSON, got {error}. Hint: restore the file from git") from error
    whole, _, torn = content.rpartition("\n")
    if torn:
        warnings.warn(f"{file} ends in the middle of a record; the torn line is ignored", stacklevel=2)
    return [_parse(file, number, line) for number, line in enumerate(whole.splitlines(), 1)]


def versions() -> dict[str, str]:
    """What the result was computed with."""
    names = ("adacanon", "torch", "torch-geometric", "numpy")
    found = {name: _version(name) for name in names}
    return {"python": platform.python_version(), **found, "commit": _commit()}


def _parse(file: Path, number: int, line: str) -> Record:
    try:
        record = json.loads(line)
    except json.JSONDecodeError:
        record = None
    if not isinstance(record, dict):
        raise DataError(
            f"{file}, line {number}: expected one JSON object per line, got {line[:60]!r}. "
            "Hint: restore the file from git"
        )
    return record


def _write(stream: IO[bytes], line: bytes) -> None:
    """All of the line, or nothing of it."""
    size = os.fstat(stream.fileno()).st_size
    try:
        while line:
            line = line[stream.write(line) :]
        os.fsync(stream.fileno())
    except OSError:
        stream.truncate(size)
        raise


def _set_torn_line_aside(file: Path) -> None:
    """A crash in the middle of a write leaves a last line without its end."""
    content = file.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole == len(content):
        return
    aside = file.with_name(file.name + ".torn")
    with aside.open("ab") as stream:
        stream.write(content[whole:] + b"\n")
    os.truncate(file, whole)
    warnings.warn(f"{file} ended in the middle of a record; the torn line is now in {aside}", stacklevel=3)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _commit() -> str:
    """The commit of the source tree, where there is one, and whether the code differs from it."""
    commit = _git("rev-parse", "--short=10", "HEAD")
    changed = _git("status", "--porcelain", "--", "*.py")
    return (commit or "unknown") + (" with changes" if changed else "")


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    try:
        answer = subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip()
