"""Checkpoints: the state of a training in one file, whole or not there at all, with a checksum at its end."""

import copy
import io
import pickle
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any

import torch
from torch import nn

from adacanon.checked_files import DamagedFileError, has_checksum, opened_checked, set_aside, write_checked
from adacanon.errors import AdacanonError

ANEW = "the training starts anew"

MISFIT = (AdacanonError, RuntimeError, ValueError, TypeError, LookupError, AttributeError)
"""What modules, optimizers and schedulers raise for a state that belongs to others."""


def save_checkpoint(file: Path, state: dict[str, Any]) -> None:
    """Replace the file in one step; a full disk costs the checkpoint, never the training.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_checkpoint(Path(folder) / "run.pt", {"epoch": 3})
        ...     load_checkpoint(Path(folder) / "run.pt")
        {'epoch': 3}
    """
    content = io.BytesIO()  # torch itself hides the reason of a failed write
    torch.save(state, content)
    try:
        write_checked(file, content.getbuffer())
    except OSError as error:
        warnings.warn(f"The checkpoint {file} could not be written ({error}); the training goes on", stacklevel=2)


def load_checkpoint(file: Path) -> dict[str, Any] | None:
    """The state, or None if there is none that can be used. A file that is damaged, or was written under another name
    and so for another run, is set aside with a warning.

    Files of earlier versions have no checksum of their own. They are taken if all checksums of the zip archive that
    torch writes are right, which torch itself does not compare.

    Example:
        >>> load_checkpoint(Path("no/such/file.pt")) is None
        True
    """
    try:
        return torch.load(io.BytesIO(_content(file)), weights_only=True, map_location="cpu")
    except FileNotFoundError:
        return None
    except (DamagedFileError, RuntimeError, EOFError, ValueError, LookupError, pickle.UnpicklingError) as error:
        set_aside(file, error, then=ANEW)
    except OSError as error:
        warnings.warn(f"The checkpoint {file} cannot be read ({error}); {ANEW}", stacklevel=2)
    return None


def _content(file: Path) -> bytes:
    """The bytes of a file, whose checksum is right."""
    if has_checksum(file):
        with opened_checked(file) as stream:
            return stream.read()
    content = file.read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            damaged = archive.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, LookupError, NotImplementedError, OSError) as error:
        raise DamagedFileError(f"it has no checksum and is no whole archive: {error}") from error
    if damaged is not None:
        raise DamagedFileError(f"the checksum of {damaged} in it is wrong")
    return content


def misfit(module: nn.Module, weights: Any) -> str:
    """Give a module its weights; or leave it as it was, and return why they do not fit.

    Example:
        >>> misfit(nn.Linear(2, 1), nn.Linear(2, 1).state_dict())
        ''
        >>> misfit(nn.Linear(2, 1), {})[:24]
        'Error(s) in loading stat'
    """
    before = copy.deepcopy(module.state_dict())
    try:
        module.load_state_dict(weights)
    except MISFIT as error:
        module.load_state_dict(before)  # what fitted was loaded before the error came
        return str(error)
    return ""


def remove_checkpoint(file: Path) -> None:
    """Remove the file, those of its stages, and what a process that was killed while writing them has left.

    Example:
        >>> remove_checkpoint(Path("no/such/file.pt"))  # what is not there need not be removed
    """
    for leftover in (file, *file.parent.glob(f"{file.name}.*.part"), *file.parent.glob(f"{file.stem}.stage-*")):
        leftover.unlink(missing_ok=True)


def stage_checkpoint(file: Path, stage: str) -> Path:
    """Where one of several trainings of a run keeps its state; ``remove_checkpoint`` of the run removes it too.

    Example:
        >>> stage_checkpoint(Path("run.pt"), "final").name
        'run.stage-final.pt'
    """
    return file.with_name(f"{file.stem}.stage-{stage}.pt")
