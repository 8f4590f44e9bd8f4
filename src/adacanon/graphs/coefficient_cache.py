"""The coefficients of whole data sets on disk, one file for each content of the graphs, partition, operator and dtype.

A file is a checksum of its key and payload, then the payload: compressed tensors, of which most entries are zero.
"""

import hashlib
import io
import os
import warnings
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from adacanon.files import write_whole
from adacanon.folders import cache_folder
from adacanon.graphs.bands import Partition
from adacanon.graphs.shift_operators import ShiftOperator

_VERSION = 1
"""Part of every key. Raise it whenever the same graphs get other coefficients, or the files another layout."""

_FEWEST_GRAPHS = 1000
"""Data sets are cached, the batches of a training loop are not: shuffled, they never come again. Fewer graphs than
this take less than a second from cached spectra."""

_LARGEST_FOLDER = 2**30
"""Bytes of all files together; beyond, those go first that were not used for the longest time."""

_CHECKSUM_BYTES = hashlib.sha256().digest_size


def coefficient_key(
    graphs: Sequence[Any],
    partition: Partition,
    operator: ShiftOperator,
    dtype: torch.dtype,
    *,
    what: str = "coefficients",
) -> str | None:
    """The name under which coefficients, or what else is derived, are kept, or None if they are not.

    A function has no name that would tell it from other functions, and graphs that do not fit together get their
    error where the coefficients are computed.
    """
    if not isinstance(operator, str) or len(graphs) < _FEWEST_GRAPHS:
        return None
    tensors = _content(graphs)
    if tensors is None:
        return None
    kinds = [(tensor.dtype, tuple(tensor.shape)) for tensor in tensors]
    digest = hashlib.sha256(repr((_VERSION, what, partition, operator, dtype, kinds)).encode())
    for tensor in tensors:
        digest.update(tensor.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def load_coefficients(key: str) -> tuple[Tensor, ...] | None:
    """The tensors stored under a key; None if there are none, or if the file is damaged, which is then set aside."""
    try:
        content = _file(key).read_bytes()
    except OSError:
        return None
    try:
        tensors = _unpacked(key, content)
    except ValueError as error:
        _set_aside(_file(key), error)
        return None
    with suppress(OSError):
        os.utime(_file(key))
    return tensors


def store_coefficients(key: str, tensors: Sequence[Tensor]) -> None:
    """Keep tensors under a key; a full disk or a folder that cannot be written costs only the cache."""
    content = _packed(key, tensors)
    if len(content) > _LARGEST_FOLDER:
        return
    try:
        write_whole(_file(key), content)
        _make_room(_file(key).parent)
    except OSError as error:
        warnings.warn(f"Coefficients could not be cached in {_file(key)} ({error}); the work goes on", stacklevel=3)


def is_stored(key: str) -> bool:
    """Whether there is a file for a key."""
    return _file(key).exists()


def remove_coefficients(keys: Iterable[str]) -> None:
    """Remove files that are not needed any more."""
    with suppress(OSError):
        for key in keys:
            _file(key).unlink(missing_ok=True)


def _file(key: str) -> Path:
    return cache_folder() / "coefficients" / f"{key}.tensors"


def _content(graphs: Sequence[Any]) -> list[Tensor] | None:
    """All that the coefficients depend on, in few tensors; None if the graphs do not fit together."""
    features, edges, weights = (
        [getattr(graph, name, None) for graph in graphs] for name in ("x", "edge_index", "edge_weight")
    )
    parts = [_joined(features, dim=0), _joined(edges, dim=1)]
    if any(weight is not None for weight in weights):
        parts.append(_joined(weights, dim=0))
    if None in parts:
        return None
    nodes = torch.tensor([int(graph.num_nodes or 0) for graph in graphs])
    return [nodes, *(tensor for part in parts if part is not None for tensor in part)]


def _joined(tensors: Sequence[Any], *, dim: int) -> tuple[Tensor, Tensor] | None:
    """The lengths of tensors along a dimension and their concatenation, if that loses nothing of them."""
    if not all(isinstance(tensor, Tensor) and tensor.dim() > dim for tensor in tensors):
        return None
    kinds = {(t.dtype, t.device, t.requires_grad, t.shape[:dim], t.shape[dim + 1 :]) for t in tensors}
    if len(kinds) > 1 or tensors[0].requires_grad:
        return None
    return torch.tensor([tensor.shape[dim] for tensor in tensors]), torch.cat(list(tensors), dim=dim).cpu()


def _packed(key: str, tensors: Sequence[Tensor]) -> bytes:
    buffer = io.BytesIO()
    torch.save(tuple(tensors), buffer)
    payload = zlib.compress(buffer.getbuffer(), level=1)
    return _checksum(key, payload) + payload


def _unpacked(key: str, content: bytes) -> tuple[Tensor, ...]:
    payload = content[_CHECKSUM_BYTES:]
    if content[:_CHECKSUM_BYTES] != _checksum(key, payload):
        raise ValueError("the checksum does not match")
    return tuple(torch.load(io.BytesIO(zlib.decompress(payload)), weights_only=True))


def _checksum(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + payload).digest()


def _set_aside(file: Path, error: ValueError) -> None:
    aside = file.with_suffix(".broken")
    with suppress(OSError):
        file.replace(aside)
    warnings.warn(f"Cached coefficients cannot be read ({error}); the file is now {aside}", stacklevel=4)


def _make_room(folder: Path) -> None:
    """Remove what was not used for the longest time; where another process does the same, leave it to that one."""
    with suppress(FileNotFoundError):
        total = 0
        for file in sorted(folder.iterdir(), key=lambda file: file.stat().st_mtime_ns, reverse=True):
            total += file.stat().st_size
            if total > _LARGEST_FOLDER:
                file.unlink()
