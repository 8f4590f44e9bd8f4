"""Eigendecompositions in float64, once per distinct operator, cached on disk and never differentiated."""

import hashlib
import math
import sqlite3
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from adacanon.errors import InputError
from adacanon.folders import cache_folder
from adacanon.graphs.bands import Partition


@dataclass(frozen=True)
class Spectrum:
    r""":math:`\mathcal L = V \Lambda V^\top` with eigenvalues in increasing order and eigenvectors as columns.

    Attributes:
        eigenvalues: (nodes,), or (pairs,) if only some were computed.
        eigenvectors: (nodes, nodes), or (nodes, pairs).
        covers: the ends of an interval in which no eigenvalue is missing.

    Example:
        >>> spectrum = decompose(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))
        >>> spectrum.eigenvalues.round().abs().tolist()
        [0.0, 2.0]
    """

    eigenvalues: Tensor
    eigenvectors: Tensor
    covers: tuple[float, float] = (-math.inf, math.inf)


def spectra(operators: Sequence[Tensor], *, cache: bool = True) -> list[Spectrum]:
    """The spectra of symmetric matrices; each distinct matrix is decomposed once, in whatever batches it comes.

    Example:
        >>> found = spectra([torch.eye(3), torch.zeros(2, 2)], cache=False)
        >>> [spectrum.eigenvalues.tolist() for spectrum in found]
        [[1.0, 1.0, 1.0], [0.0, 0.0]]
    """
    digests = [_digest(matrix) for matrix in operators]
    known = _load(set(digests)) if cache else {}
    fresh = {
        digest: decompose(matrix)
        for digest, matrix in dict(zip(digests, operators, strict=True)).items()
        if digest not in known
    }
    if cache and fresh:
        _store(fresh)
    known |= fresh
    return [known[digest] for digest in digests]


def bands_of(spectrum: Spectrum, partition: Partition) -> Tensor:
    """The band 0 .. B-1 of every eigenpair, or -1; a spectrum in which pairs of some band may be missing is refused.

    Example:
        >>> lower = Spectrum(torch.tensor([0.0, 0.5]), torch.eye(3)[:, :2], covers=(-1.0, 1.0))
        >>> bands_of(lower, Partition((-0.1, 0.4, 0.9), partial=True)).tolist()
        [0, 1]
    """
    (low, high), (first, last) = spectrum.covers, partition.reach
    if low > first or last > high:
        raise InputError(
            f"The bands cover [{partition.boundaries[0]:g}, {partition.boundaries[-1]:g}], but only the eigenpairs in "
            f"[{low:g}, {high:g}] were computed. Hint: partial_spectrum(graph, within=partition.reach)"
        )
    return partition.assign(spectrum.eigenvalues)


def decompose(matrix: Tensor) -> Spectrum:
    """One eigendecomposition."""
    return Spectrum(*torch.linalg.eigh(matrix.double()))


def _file() -> Path:
    return cache_folder() / "spectra.sqlite"


def _digest(matrix: Tensor) -> str:
    content = matrix.double().contiguous().numpy().tobytes()
    return hashlib.sha256(str(tuple(matrix.shape)).encode() + content).hexdigest()


def _load(digests: set[str]) -> dict[str, Spectrum]:
    """The spectra that are stored; none if the file is damaged, which is then set aside, or cannot be used just now:
    another process may be about to create it, or hold it for long.
    """
    if not _file().exists():
        return {}
    try:
        with closing(sqlite3.connect(_file(), timeout=30)) as database:
            return {digest: _unpacked(blob) for digest, blob in _rows(database, digests)}
    except sqlite3.OperationalError:
        return {}
    except (sqlite3.DatabaseError, ValueError) as error:
        aside = _file().with_suffix(".broken")
        with suppress(OSError):
            _file().replace(aside)
        warnings.warn(f"Cached spectra cannot be read ({error}); the file is now {aside}", stacklevel=3)
        return {}


def _rows(database: sqlite3.Connection, digests: set[str]) -> Iterable[tuple[str, bytes]]:
    for digest in digests:
        yield from database.execute("SELECT digest, content FROM spectra WHERE digest = ?", (digest,))


def _store(fresh: dict[str, Spectrum]) -> None:
    """One transaction; a full disk or a folder that cannot be written costs only the cache."""
    try:
        _file().parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(_file(), timeout=30)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS spectra (digest TEXT PRIMARY KEY, content BLOB)")
            rows = ((digest, _packed(spectrum)) for digest, spectrum in fresh.items())
            database.executemany("INSERT OR IGNORE INTO spectra VALUES (?, ?)", rows)
    except (OSError, sqlite3.Error) as error:
        warnings.warn(f"Spectra could not be cached in {_file()} ({error}); the work goes on", stacklevel=3)


def _packed(spectrum: Spectrum) -> bytes:
    """Eigenvalues, then eigenvectors row by row."""
    return torch.cat([spectrum.eigenvalues, spectrum.eigenvectors.flatten()]).numpy().tobytes()


def _unpacked(blob: bytes) -> Spectrum:
    numbers = torch.frombuffer(bytearray(blob), dtype=torch.float64)
    nodes = int((numbers.numel() + 0.25) ** 0.5)
    return Spectrum(numbers[:nodes], numbers[nodes:].reshape(nodes, nodes))
