"""The owner of claims: a command, known by a name of its own, that says again and again that it lives."""

import json
import os
import socket
import uuid
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Owner:
    """A command that claims runs.

    Attributes:
        token: a random name that no other command has.
        host: for people.
        machine: which machine and since which start of it; process numbers mean something on the same one only.
        process: the number of the process.
        started: when the process started, on the clock of its machine; numbers of processes are used again.
    """

    token: str
    host: str
    machine: str
    process: int
    started: str

    @classmethod
    def here(cls) -> "Owner":
        """This process."""
        return cls(uuid.uuid4().hex, socket.gethostname(), _machine(), os.getpid(), _started(os.getpid()))

    def as_json(self) -> bytes:
        """For a file."""
        return json.dumps(asdict(self)).encode()

    def is_known_dead(self) -> bool:
        """Whether its process ran on this machine and is gone; of other machines nothing is known."""
        known = bool(self.machine and self.started) and self.machine == _machine()
        return known and _started(self.process) != self.started


def owner_in(file: Path) -> Owner | None:
    """The owner that a claim names; None if it is gone, or not to be read."""
    try:
        return Owner(**json.loads(file.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _machine() -> str:
    """The start of the machine and the namespace of process numbers; empty where the system does not tell."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    return ""


def _started(process: int) -> str:
    """When a process started; empty if there is none, or if the system does not tell."""
    with suppress(OSError, IndexError):
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return "" if state[0] in "ZX" else state[19]
    return ""
