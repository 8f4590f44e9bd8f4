"""Graphs of unequal size as dense batches: zero rows for missing nodes, zero columns for missing eigenvectors.

Zeros are harmless wherever a spectrum is used: a zero column has zero coefficients, a zero row never leaves zero.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from adacanon.errors import ShapeError


def padded_spectra(pairs: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Eigenvalues (graphs, m) and eigenvectors (graphs, n, m) of pairs ((m_i,), (n_i, m_i)), filled up with zeros.

    Example:
        >>> values, vectors = padded_spectra([torch.linalg.eigh(torch.eye(2)), torch.linalg.eigh(torch.eye(3))])
        >>> values.tolist(), vectors.shape
        ([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], torch.Size([2, 3, 3]))
    """
    nodes, columns = (max(vectors.shape[axis] for _, vectors in pairs) for axis in (0, 1))
    eigenvalues = pairs[0][0].new_zeros(len(pairs), columns)
    eigenvectors = pairs[0][1].new_zeros(len(pairs), nodes, columns)
    for i, (values, vectors) in enumerate(pairs):
        eigenvalues[i, : len(values)] = values
        eigenvectors[i, : vectors.shape[0], : vectors.shape[1]] = vectors
    return eigenvalues, eigenvectors


def rows_of_nodes(padded: Tensor, graph: Tensor) -> Tensor:
    """The rows of the nodes, (nodes, m), from (graphs or 1, size, m); ``graph`` names each node's graph."""
    counts = torch.bincount(graph)
    if int(counts.max()) > padded.shape[1]:
        raise ShapeError(
            f"Eigenvectors for graphs of at most {padded.shape[1]} nodes came with a graph of {int(counts.max())} "
            "nodes. Hint: pad the spectra of this very batch, padded_spectra(pairs)"
        )
    place = torch.arange(len(graph), device=graph.device) - (counts.cumsum(0) - counts)[graph]
    return padded[graph if len(padded) > 1 else torch.zeros_like(graph), place]


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
