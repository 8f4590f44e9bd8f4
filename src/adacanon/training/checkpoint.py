"""Checkpoints: the state of a training in one file, whole or not there at all."""

import io
import pickle
import warnings
from pathlib import Path
from typing import Any

import torch

from adacanon.files import write_whole


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
        write_whole(file, content.getbuffer())
    except OSError as error:
        warnings.warn(f"The checkpoint {file} could not be written ({error}); the training goes on", stacklevel=2)


def load_checkpoint(file: Path) -> dict[str, Any] | None:
    """The state, or None if there is none that can be read.

    Example:
        >>> load_checkpoint(Path("no/such/file.pt")) is None
        True
    """
    if not file.exists():
        return None
    try:
        return torch.load(file, weights_only=True, map_location="cpu")
    except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        warnings.warn(
            f"The checkpoint {file} cannot be read ({type(error).__name__}); the training starts anew", stacklevel=2
        )
        return None


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
