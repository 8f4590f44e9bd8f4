"""What a training is computed on: a device, a precision, and a number of processes."""

import os
from dataclasses import dataclass
from typing import Any

import torch

from adacanon.errors import InputError

DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("32", "bf16", "16")
GPUS = ("cuda", "mps")
"""In the order in which ``auto`` looks for them."""


@dataclass(frozen=True)
class Hardware:
    """A kind of device, a precision, and how many processes share a training, each with a device of its own.

    Attributes:
        device: auto, cpu, cuda or mps; ``auto`` is the first of cuda, mps and cpu that this machine has.
        precision: 32; bf16 or 16 compute large products in fewer bits, while parameters stay in 32.
        devices: processes on this machine.
        nodes: machines, each with as many processes.

    Example:
        >>> Hardware().is_default, Hardware(devices=2).processes
        (True, 2)
    """

    device: str = "cpu"
    precision: str = "32"
    devices: int = 1
    nodes: int = 1

    @property
    def processes(self) -> int:
        """On all machines together."""
        return self.devices * self.nodes

    @property
    def is_default(self) -> bool:
        """Whether it is one process of a processor, in full precision: the engine is then torch alone."""
        return self.processes == 1 and self.precision == "32" and self.kind == "cpu"

    @property
    def kind(self) -> str:
        """The kind of device that is meant on this machine."""
        if self.device != "auto":
            return self.device
        return next((kind for kind in GPUS if _available(kind)), "cpu")

    def checked(self) -> "Hardware":
        """Itself, if this machine has what it asks for."""
        self.checked_words()
        if self.kind in GPUS and not _available(self.kind):
            raise InputError(
                f"The device {self.kind} was asked for, and torch {torch.__version__} finds none. "
                "Hint: --device auto takes what there is; a build of torch for that device may have to be installed"
            )
        _check_precision(self.precision, self.kind)
        self._check_count()
        return self

    def checked_words(self) -> "Hardware":
        """Itself, if some machine may have what it asks for; whether a machine of a cluster has it, is seen there.

        Example:
            >>> Hardware(precision="8").checked_words()
            Traceback (most recent call last):
                ...
            adacanon.errors.InputError: Precisions are 32, bf16, 16; got '8'
        """
        if self.device not in DEVICES:
            raise InputError(f"Devices are {', '.join(DEVICES)}; got {self.device!r}")
        if self.precision not in PRECISIONS:
            raise InputError(f"Precisions are {', '.join(PRECISIONS)}; got {self.precision!r}")
        if self.devices < 1 or self.nodes < 1:
            raise InputError(
                f"A training needs at least one process on one machine, got devices={self.devices}, nodes={self.nodes}"
            )
        _check_precision(self.precision, self.device)
        return self

    def _check_count(self) -> None:
        if self.kind == "cuda" and self.devices > torch.cuda.device_count():
            raise InputError(
                f"This machine has {torch.cuda.device_count()} cuda devices, got devices={self.devices}. "
                "Hint: lower --devices"
            )
        if self.kind == "mps" and self.processes > 1:
            raise InputError(f"mps is one device, got {self.processes} processes. Hint: --devices 1 --nodes 1")
        if self.kind == "cpu" and self.devices > _processors():
            raise InputError(
                f"This machine has {_processors()} processors, got devices={self.devices}. Hint: lower --devices"
            )

    def described(self) -> dict[str, Any]:
        """What a record says of it."""
        name = torch.cuda.get_device_name() if self.kind == "cuda" else self.kind
        return {"device": name, "precision": self.precision, "processes": self.processes, "nodes": self.nodes}


def _check_precision(precision: str, device: str) -> None:
    if precision == "16" and device == "cpu":
        raise InputError("Precision 16 needs a graphics processor, got the device cpu. Hint: --precision bf16")


def _available(kind: str) -> bool:
    return torch.cuda.is_available() if kind == "cuda" else torch.backends.mps.is_available()


def _processors() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
