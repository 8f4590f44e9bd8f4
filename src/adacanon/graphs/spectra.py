"""Eigendecompositions in float64, once per distinct operator, cached on disk and never differentiated."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np
import torch
from torch import Tensor

from adacanon.errors import InputError
from adacanon.graphs.bands import Partition
from adacanon.graphs.portions import InOrder, OnProgress, in_portions, portions_of
from adacanon.graphs.spectra_store import load_blobs, store_blobs, stored_names

_PORTION = 256
"""Matrices that a process takes at a time, where spectra are computed beforehand."""


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
    known = {name: _unpacked(blob) for name, blob in load_blobs(set(digests)).items()} if cache else {}
    fresh = {
        digest: _row_by_row(decompose(matrix))
        for digest, matrix in dict(zip(digests, operators, strict=True)).items()
        if digest not in known
    }
    if cache and fresh:
        store_blobs({digest: _packed(spectrum).data.cast("B") for digest, spectrum in fresh.items()})
    known |= fresh
    return [known[digest] for digest in digests]


def keep_spectra(
    operators: Sequence[Tensor],
    *,
    in_order: InOrder = starmap,
    on_progress: OnProgress = lambda done, total: None,
) -> None:
    """Decompose the matrices whose spectra are not cached, in portions that are cached one by one.

    Args:
        operators: symmetric matrices.
        in_order: where portions are computed.
        on_progress: called with the distinct matrices that are done and with all of them.

    Example:
        >>> keep_spectra([torch.eye(3), torch.eye(3)])  # one decomposition
        >>> keep_spectra([torch.eye(3)])  # none
        >>> spectra([torch.eye(3)])[0].eigenvalues.tolist()  # read from the cache
        [1.0, 1.0, 1.0]
    """
    distinct = {_digest(matrix): matrix for matrix in operators}
    there = stored_names(distinct)
    missing = [digest for digest in distinct if digest not in there]

    def store(portion: range, found: list[np.ndarray]) -> None:
        names = missing[portion.start : portion.stop]
        store_blobs({name: one.data.cast("B") for name, one in zip(names, found, strict=True)})

    in_portions(
        _packed_spectra,
        lambda portion: [distinct[missing[i]] for i in portion],
        portions_of(len(missing), _PORTION),
        in_order=in_order,
        store=store,
        on_progress=lambda done, total: on_progress(len(there) + done, len(distinct)),
    )


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


def _digest(matrix: Tensor) -> str:
    content = matrix.double().contiguous().numpy().tobytes()
    return hashlib.sha256(str(tuple(matrix.shape)).encode() + content).hexdigest()


def _row_by_row(spectrum: Spectrum) -> Spectrum:
    """The layout in which a spectrum comes back from the cache; products round differently in another."""
    return Spectrum(spectrum.eigenvalues, spectrum.eigenvectors.contiguous())


def _packed(spectrum: Spectrum) -> np.ndarray:
    """Eigenvalues, then eigenvectors row by row."""
    return torch.cat([spectrum.eigenvalues, spectrum.eigenvectors.flatten()]).numpy()


def _packed_spectra(matrices: list[Tensor], first: int) -> list[np.ndarray]:
    return [_packed(decompose(matrix)) for matrix in matrices]


def _unpacked(content: bytearray) -> Spectrum:
    numbers = torch.frombuffer(content, dtype=torch.float64)
    nodes = int((numbers.numel() + 0.25) ** 0.5)
    return Spectrum(numbers[:nodes], numbers[nodes:].reshape(nodes, nodes))
