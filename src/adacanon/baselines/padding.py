"""Graphs of unequal size as dense batches: zero rows for missing nodes, zero columns for missing eigenvectors.

Zeros are harmless wherever a spectrum is used: a zero column has zero coefficients, a zero row never leaves zero.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from adacanon.errors import ShapeError


def padded_spectra(pairs: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Eigenvalues (graphs, m) and eigenvectors (graphs, n, m) of pairs ((m_i,), (n_i, m_i)), filled up with zeros."""
    nodes, columns = (max(vectors.shape[axis] for _, vectors in pairs) for axis in (0, 1))
    eigenvalues = pairs[0][0].new_zeros(len(pairs), columns)
    eigenvectors = pairs[0][1].new_zeros(len(pairs), nodes, columns)
    for i, (values, vectors) in enumerate(pairs):
        eigenvalues[i, : len(values)] = values
        eigenvectors[i, : vectors.shape[0], : vectors.shape[1]] = vectors
    return eigenvalues, eigenvectors


def dense_nodes(x: Tensor, graph: Tensor, *, size: int) -> Tensor:
    """Node features (nodes, channels) as (graphs, size, channels); ``graph`` names each node's graph, in order."""
    counts = torch.bincount(graph)
    if int(counts.max()) > size:
        raise ShapeError(
            f"Eigenvectors for graphs of at most {size} nodes came with a graph of {int(counts.max())} nodes. "
            "Hint: pad the spectra of this very batch, padded_spectra(pairs)"
        )
    return x.new_zeros(len(counts), size, x.shape[1]).index_put((graph, _places(graph)), x)


def flat_nodes(dense: Tensor, graph: Tensor) -> Tensor:
    """The inverse of :func:`dense_nodes`."""
    return dense[graph, _places(graph)]


def check_spectrum(graph: Tensor, numbers: Tensor, eigenvectors: Tensor) -> None:
    """Refuse spectra that do not belong to the batch; one spectrum may serve all graphs."""
    graphs, columns = int(graph[-1]) + 1, eigenvectors.shape[-1]
    if eigenvectors.dim() != 3 or eigenvectors.shape[0] not in (1, graphs):
        raise ShapeError(
            f"Eigenvectors of {graphs} graphs have shape ({graphs} or 1, nodes, m), got {tuple(eigenvectors.shape)}. "
            "Hint: padded_spectra(pairs)"
        )
    if numbers.shape != (eigenvectors.shape[0], columns):
        raise ShapeError(
            f"Every eigenvector needs one eigenvalue or band, in shape ({eigenvectors.shape[0]}, {columns}), "
            f"got {tuple(numbers.shape)}"
        )


def _places(graph: Tensor) -> Tensor:
    """The place of every node within its graph."""
    counts = torch.bincount(graph)
    first = counts.cumsum(0) - counts
    return torch.arange(len(graph), device=graph.device) - first[graph]
