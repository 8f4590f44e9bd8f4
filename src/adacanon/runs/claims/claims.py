"""Claims on runs: files in the folder ``claims`` of the results.

``KEY.0.claim`` is the claim on the run with that key, and names its owner. A claim is made by linking a finished file
to its name, which one command alone can do, also on a shared disk. Who takes over generation n of a claim makes n + 1;
the highest generation counts. So a stale claim is never removed by two at a time.

An owner shows that it lives by counting in ``TOKEN.owner``. No clocks are compared: a claim is stale if whoever waits
has seen the same count for ``STALE_AFTER`` seconds of its own clock, or if the owner's process on this machine is gone.
"""

import os
import threading
import time
import uuid
from contextlib import suppress
from pathlib import Path

from adacanon.errors import DataError
from adacanon.files import write_whole
from adacanon.runs.claims.owner import Owner, owner_in

HEARTBEAT = 10.0
"""Seconds between two counts of an owner."""
STALE_AFTER = 180.0
"""Seconds without a count; more than a disk of the network keeps old answers for."""

ATTEMPTS = 5
"""How often a folder is made again that other commands remove."""


class Claims:
    """The claims of this command in a results folder. A context manager, which removes them.

    Args:
        results: the folder; claims are in ``claims`` below it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Claims(Path(folder)) as ours, Claims(Path(folder)) as theirs:
        ...     ours.take("some-run"), theirs.take("some-run")
        (True, False)
    """

    def __init__(self, results: Path, *, heartbeat: float = HEARTBEAT, stale_after: float = STALE_AFTER) -> None:
        self.folder = results.resolve() / "claims"
        self.owner = Owner.here()
        self.heartbeat, self.stale_after = heartbeat, stale_after
        self._held: dict[str, int] = {}
        self._seen: dict[str, tuple[bytes, float]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def take(self, key: str) -> bool:
        """Claim a run. False if another command has it; the records must be read again after the answer True."""
        generation, owner = self._newest(key)
        if generation is None:
            return self._make(key, 0)
        return self._is_stale(key, generation, owner) and self._make(key, generation + 1, above=owner)

    def release(self, key: str) -> None:
        """Give a run back, finished or not. The highest generation goes last, so that nobody sees a stale one."""
        generation = self._held.pop(key, None)
        for below in range(-1 if generation is None else generation + 1):
            self._file(key, below).unlink(missing_ok=True)

    def holder(self, key: str) -> str:
        """Who has a run, in words."""
        _, owner = self._newest(key)
        return f"process {owner.process} on {owner.host}" if owner else "a command that is not known"

    def _newest(self, key: str) -> tuple[int | None, Owner | None]:
        generations = [file.name.split(".")[-2] for file in self.folder.glob(f"{key}.*.claim")]
        found = [int(one) for one in generations if one.isdecimal()]  # a copy of a claim has another name, and is none
        return (max(found), owner_in(self._file(key, max(found)))) if found else (None, None)

    def _make(self, key: str, generation: int, above: Owner | None = None) -> bool:
        file = self._file(key, generation)
        if not _linked(file, self.owner):
            return False
        if generation and owner_in(self._file(key, generation - 1)) != above:
            file.unlink(missing_ok=True)  # what was stale has been given back and claimed anew meanwhile
            return False
        self._held[key] = generation
        return True

    def _is_stale(self, key: str, generation: int, owner: Owner | None) -> bool:
        if owner is not None and owner.is_known_dead():
            return True
        name = f"{key}.{generation}.{owner.token if owner else ''}"
        count = self._count(owner)
        now = time.monotonic()
        last, since = self._seen.get(name, (None, now))
        if count != last:
            since = now
        self._seen[name] = (count, since)
        return now - since >= self.stale_after

    def _count(self, owner: Owner | None) -> bytes:
        with suppress(OSError):
            return (self.folder / f"{owner.token}.owner").read_bytes() if owner else b""
        return b""

    def _file(self, key: str, generation: int) -> Path:
        return self.folder / f"{key}.{generation}.claim"

    def _own_file(self) -> Path:
        return self.folder / f"{self.owner.token}.owner"

    def _beat(self) -> None:
        count = 1
        while not self._stopped.wait(self.heartbeat):
            with suppress(OSError):  # a full disk costs the claims, perhaps, but never a training
                write_whole(self._own_file(), str(count).encode())
            count += 1

    def __enter__(self) -> "Claims":
        try:
            self._announce()
        except OSError as error:
            raise DataError(
                f"Nothing can be written to {self.folder} ({error}). Hint: make room, or name another folder with "
                "--results"
            ) from error
        self._thread.start()
        return self

    def _announce(self) -> None:
        """Write the owner's file; a command that ends at this moment may remove the folder when it is still empty.

        A folder that was there and is gone, when the system looks what it is, is reported as a file in its place.
        """
        for _ in range(ATTEMPTS - 1):
            with suppress(FileNotFoundError, FileExistsError):
                return write_whole(self._own_file(), b"0")
        return write_whole(self._own_file(), b"0")

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        self._thread.join()
        with suppress(OSError):
            for key in list(self._held):
                self.release(key)
            self._own_file().unlink(missing_ok=True)
            self.folder.rmdir()  # refuses if others have claims


def _linked(file: Path, owner: Owner) -> bool:
    """Whether this call has made the file, whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f"{uuid.uuid4().hex}.part")
    try:
        part.write_bytes(owner.as_json())
        os.link(part, file)
    except FileExistsError:
        return owner_in(file) == owner  # an answer of the network that was lost and asked for again
    except OSError:
        return _made_exclusively(file, owner)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    return True


def _made_exclusively(file: Path, owner: Owner) -> bool:
    """For file systems without links."""
    try:
        with file.open("xb") as stream:
            stream.write(owner.as_json())
    except FileExistsError:
        return False
    except OSError as error:
        raise DataError(f"The claim {file} could not be written ({error}). Hint: make room on the disk") from error
    return True
