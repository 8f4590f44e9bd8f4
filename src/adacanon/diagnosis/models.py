"""The network that a user brings: by its import path, or as a file that is a program."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.diagnosis.python_files import called, imported_file, imported_module
from adacanon.errors import DataError, InputError, UnknownNameError
from adacanon.images.weights import load_weights

Network = Callable[[Any], Tensor]
FILES = (".pt", ".pt2", ".pth", ".ts", ".jit", ".torchscript", ".safetensors", ".npz", ".onnx", ".pkl")
EXPECTED = "expected file.py:function, package.module:function, or a TorchScript or torch.export file"


def load_model(name: str, *, trust: bool = False, weights: Path | None = None) -> Network:
    """The network, in evaluation mode.

    Args:
        name: ``path/to/file.py:function`` or ``package.module:function``, where the function takes no arguments and
            returns the network, or is the network; or the file of a TorchScript or ``torch.export`` program.
        trust: run a program that a file holds. Without it a file is looked at, but never executed.
        weights: a file of weights to be loaded into the network of a function; it is never executed.

    Example:
        >>> network = load_model("torch.nn:Flatten")
        >>> network(torch.zeros(1, 3, 2, 2)).shape, network.training
        (torch.Size([1, 12]), False)
    """
    path = Path(name)
    if (path.exists() and path.suffix != ".py") or path.suffix in FILES:
        if weights is not None:
            raise InputError(f"{path} is a program with its own weights. Hint: --weights goes with file.py:function")
        return _from_file(path, trust=trust)
    network = _from_import_path(name)
    if weights is not None:
        if not isinstance(network, nn.Module):
            raise InputError(f"{name} gave {type(network).__name__}, which has no weights to load")
        load_weights(network, weights)
    return network.eval() if isinstance(network, nn.Module) else network


def _from_import_path(name: str) -> Network:
    module_name, _, attribute = name.rpartition(":")
    if not module_name or not attribute:
        hint = f"{name}:function" if name.endswith(".py") else "mypackage.models:resnet"
        raise UnknownNameError(f"{name!r} names no network: {EXPECTED}. Hint: adacanon doctor {hint}")
    is_file = module_name.endswith(".py")
    module = imported_file(Path(module_name)) if is_file else imported_module(module_name)
    found = getattr(module, attribute, None)
    if found is None:
        raise UnknownNameError(f"{module_name} has no {attribute}. Hint: name a function that returns the network")
    network = found if isinstance(found, nn.Module) or not callable(found) else called(found, name)
    if not callable(network):
        raise InputError(f"{name} gave {type(network).__name__}, expected a network. Hint: a torch.nn.Module")
    return network


def _from_file(path: Path, *, trust: bool) -> Network:
    kind = _kind_of(path)
    if not trust:
        raise InputError(
            f"{path} is a {kind} program. Running it executes the code inside, so it was not run. "
            "Hint: if you know where it comes from, --trust (in Python trust=True)"
        )
    try:
        if kind == "TorchScript":
            return torch.jit.load(str(path), map_location="cpu").eval()
        return torch.export.load(str(path)).module()
    except (RuntimeError, OSError, ValueError, KeyError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DataError(f"{path} cannot be loaded as a {kind} program: {reason}") from error


def _kind_of(path: Path) -> str:
    """TorchScript or torch.export, told from the names in the archive; nothing is unpacked."""
    if not path.is_file():
        raise DataError(f"{path} is missing: {EXPECTED}")
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{path} is damaged or no model: {EXPECTED}") from error
    if any("/code/" in name for name in names) and any(name.endswith("constants.pkl") for name in names):
        return "TorchScript"
    if any(name.endswith("archive_format") or "serialized_exported_program" in name for name in names):
        return "torch.export"
    raise DataError(
        f"{path} holds weights or a pickled object, not a program: {EXPECTED}. Hint: weights go with their network, "
        f"adacanon doctor file.py:function --weights {path.name}"
    )
