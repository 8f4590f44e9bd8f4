"""Eigendecompositions in float64, once per distinct operator, cached on disk and never differentiated."""

import hashlib
import os
import pickle
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor


@dataclass(frozen=True)
class Spectrum:
    r""":math:`\mathcal L = V \Lambda V^\top` with eigenvalues in increasing order and eigenvectors as columns.

    Shape:
        eigenvalues (nodes,), eigenvectors (nodes, nodes)
    """

    eigenvalues: Tensor
    eigenvectors: Tensor


def spectra(operators: Sequence[Tensor], *, cache: bool = True) -> list[Spectrum]:
    """The spectra of symmetric matrices; equal matrices are decomposed once, and a collection is stored as one file."""
    digests = [_digest(matrix) for matrix in operators]
    distinct = dict(zip(digests, operators, strict=True))
    file = cache_folder() / "spectra" / f"{_collection_digest(list(distinct))}.pt"
    known = _load(file) if cache else None
    if known is None:
        known = {digest: decompose(matrix) for digest, matrix in distinct.items()}
        if cache:
            _store(file, known)
    return [known[digest] for digest in digests]


def decompose(matrix: Tensor) -> Spectrum:
    """One eigendecomposition."""
    return Spectrum(*torch.linalg.eigh(matrix.double()))


def cache_folder() -> Path:
    """Where derived files go: ``ADACANON_CACHE``, or adacanon's folder in the user's cache."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "adacanon"
    return Path(os.environ.get("ADACANON_CACHE", default))


def _digest(matrix: Tensor) -> str:
    content = matrix.double().contiguous().numpy().tobytes()
    return hashlib.sha256(str(tuple(matrix.shape)).encode() + content).hexdigest()


def _collection_digest(digests: list[str]) -> str:
    return hashlib.sha256("".join(sorted(digests)).encode()).hexdigest()[:24]


def _load(file: Path) -> dict[str, Spectrum] | None:
    if not file.exists():
        return None
    try:
        stored = torch.load(file, weights_only=True)
        return {digest: Spectrum(*pair) for digest, pair in stored.items()}
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError, TypeError, AttributeError) as error:
        warnings.warn(f"The cached spectra in {file} cannot be read ({error}); they are computed again", stacklevel=3)
        return None


def _store(file: Path, known: dict[str, Spectrum]) -> None:
    """Write beside the target and rename, so that a reader never sees half a file; a full disk costs only the cache."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, suffix=".part", delete=False) as part:
            torch.save({digest: (s.eigenvalues, s.eigenvectors) for digest, s in known.items()}, part)
        Path(part.name).replace(file)
    except (OSError, RuntimeError) as error:
        warnings.warn(f"Spectra could not be cached in {file.parent} ({error}); the work goes on", stacklevel=3)
