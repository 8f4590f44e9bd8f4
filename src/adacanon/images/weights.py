"""Weights from files, without executing anything that a file may hold."""

import pickle
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from adacanon.errors import DataError, UnknownNameError

NAMED = 5
"""The number of keys that an error names where weights do not fit."""

COUNTER = "num_batches_tracked"
"""Of a normalization layer; files of old versions of torch lack it."""

DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, TypeError, KeyError, RuntimeError)
"""What torch, numpy, zip and zlib raise on files that are not what they seem."""

LARGEST, LARGEST_RATIO = 2**30, 200
"""Arrays of more bytes than this, and more than so many times their file, are not unpacked."""

Weights = dict[str, Tensor]


def load_weights(module: nn.Module, path: str | Path) -> None:
    """Copy the weights of a file into a module whose parameters have the same names and shapes.

    Args:
        module: keeps its device and precision.
        path: ``.pth`` or ``.pt`` (tensors by name, also under "state_dict" or "model", also with the prefix "module."),
            ``.safetensors`` or ``.npz``. A file that wants to execute code is refused.

    Raises:
        DataError: if the file is missing, damaged, or of another architecture; the message names keys that differ.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     torch.save(nn.Linear(3, 2).state_dict(), f"{folder}/linear.pth")
        ...     load_weights(nn.Linear(3, 2), f"{folder}/linear.pth")
    """
    path = Path(path)
    read = READERS.get(path.suffix)
    if read is None:
        raise UnknownNameError(f"Weights are read from {', '.join(READERS)} files, got {path.name}")
    if not path.is_file():
        raise DataError(f"{path} is missing. Hint: name a file of weights, {', '.join(READERS)}")
    weights = _by_name(path, read(path))
    own = module.state_dict()
    weights = {key: own[key] for key in own if key.endswith(COUNTER)} | weights
    differences = _differences(own, weights)
    if differences:
        raise DataError(
            f"{path} holds weights of another architecture than {type(module).__name__}: {'; '.join(differences)}. "
            "Hint: for other classes, load into the network of the file and replace its last layer after that"
        )
    module.load_state_dict(weights)


def _differences(own: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> list[str]:
    """What is missing, unexpected, or of another shape."""
    missing, unexpected = [k for k in own if k not in weights], [k for k in weights if k not in own]
    shapes = [
        f"{key} is {tuple(weights[key].shape)}, expected {tuple(value.shape)}"
        for key, value in own.items()
        if key in weights and weights[key].shape != value.shape
    ]
    found = {"missing": missing, "unexpected": unexpected, "of another shape": shapes}
    return [f"{len(keys)} {what} ({_some(keys)})" for what, keys in found.items() if keys]


def _some(keys: list[str]) -> str:
    more = f", and {len(keys) - NAMED} more" if len(keys) > NAMED else ""
    return ", ".join(keys[:NAMED]) + more


def _by_name(path: Path, content: Any) -> Weights:
    """The tensors by name, wherever they are in what was read."""
    for key in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            content = content[key]
    if not isinstance(content, Mapping) or not all(isinstance(value, Tensor) for value in content.values()):
        raise DataError(f"{path}: expected tensors by name, got {type(content).__name__}. Hint: save state_dict()")
    prefix = "module." if content and all(key.startswith("module.") for key in content) else ""
    return {key.removeprefix(prefix): value for key, value in content.items()}


def _read_torch(path: Path) -> Any:
    try:
        if zipfile.is_zipfile(path):  # torch itself does not look at the checksums of the archive
            with zipfile.ZipFile(path) as archive:
                if (bad := archive.testzip()) is not None:
                    raise ValueError(f"the checksum of {bad} differs")
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{path} is damaged, or holds more than tensors by name, and its code is not executed. "
            "Hint: in a place where you trust it, torch.save(network.state_dict(), path)"
        ) from error
    except DAMAGE as error:
        raise _damaged(path, error) from error


def _read_safetensors(path: Path) -> Weights:
    try:
        from safetensors import SafetensorError
        from safetensors.torch import load_file
    except ImportError as error:
        raise DataError(f'{path} needs safetensors. Hint: pip install "adacanon[images]"') from error
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise _damaged(path, error) from error


def _read_arrays(path: Path) -> Weights:
    try:
        with path.open("rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            names = archive.files if isinstance(archive, np.lib.npyio.NpzFile) else ()
            if names:
                _check_unpacked(path)
            return {name: _native(archive[name]) for name in names}
    except DAMAGE as error:
        raise _damaged(path, error) from error


def _check_unpacked(path: Path) -> None:
    """Weights hardly shrink when they are compressed; what does may fill the memory."""
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > max(LARGEST, LARGEST_RATIO * path.stat().st_size):
        raise ValueError(f"it unpacks to {size / 2**30:.1f} GB from {path.stat().st_size / 2**20:.1f} MB")


def _native(array: np.ndarray) -> Tensor:
    """Torch knows the byte order of this machine only. An archive may hold bytes that are no array."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"it holds {type(array).__name__} where an array should be")
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))


def _damaged(path: Path, error: Exception) -> DataError:
    reason = str(error).split("\n")[0] or type(error).__name__
    return DataError(f"{path} is damaged or no file of weights: {reason}. Hint: fetch it again")


READERS: dict[str, Callable[[Path], Any]] = {
    ".pth": _read_torch,
    ".pt": _read_torch,
    ".safetensors": _read_safetensors,
    ".npz": _read_arrays,
}
