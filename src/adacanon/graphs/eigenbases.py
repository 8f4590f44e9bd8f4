"""Other bases of the same eigenspaces and of the same bands, at random, and nodes in another order: what a spectral
network must not notice.
"""

from typing import Any

import torch
from torch import Tensor

from adacanon.graphs.bands import Partition
from adacanon.graphs.spectra import Spectrum, bands_of
from adacanon.spaces.orthogonal import Orthogonal

_EQUAL = 1e-6
"""Eigenvalues this close to their neighbours span one eigenspace."""


def redrawn_in_bands(spectrum: Spectrum, partition: Partition, *, generator: torch.Generator) -> Spectrum:
    r""":math:`V_k \mapsto V_k U_k` with a Haar matrix :math:`U_k \in O(M_k)` in every band: the symmetry of A-NLSF."""
    band = bands_of(spectrum, partition)
    return _redrawn(spectrum, [(band == k).nonzero().flatten() for k in range(partition.bands)], generator)


def redrawn_in_eigenspaces(spectrum: Spectrum, *, generator: torch.Generator) -> Spectrum:
    """Random signs of single eigenvectors and random bases of larger eigenspaces: what an eigensolver may return.

    Example:
        >>> plane = Spectrum(torch.tensor([0.0, 1.0, 1.0]), torch.eye(3, dtype=torch.float64))
        >>> redrawn_in_eigenspaces(plane, generator=torch.Generator().manual_seed(0)).eigenvectors[0].abs().tolist()
        [1.0, 0.0, 0.0]
    """
    space = torch.nn.functional.pad((spectrum.eigenvalues.diff() > _EQUAL).cumsum(0), (1, 0))
    return _redrawn(spectrum, [(space == k).nonzero().flatten() for k in range(int(space[-1]) + 1)], generator)


def permuted(graph: Any, order: Tensor) -> Any:
    """The same torch-geometric graph with its nodes in another order: node i of the result is node ``order[i]``.

    Example:
        >>> from torch_geometric.data import Data
        >>> edge = Data(x=torch.tensor([[5.0], [6.0], [7.0]]), edge_index=torch.tensor([[0], [1]]))
        >>> moved = permuted(edge, torch.tensor([2, 0, 1]))
        >>> moved.x.flatten().tolist(), moved.edge_index.flatten().tolist()
        ([7.0, 5.0, 6.0], [1, 2])
    """
    moved = graph.clone()
    moved.x, moved.edge_index = graph.x[order], order.argsort()[graph.edge_index]
    return moved


def _redrawn(spectrum: Spectrum, groups: list[Tensor], generator: torch.Generator) -> Spectrum:
    vectors = spectrum.eigenvectors.clone()
    for group in groups:
        if len(group):
            vectors[:, group] = vectors[:, group] @ Orthogonal(len(group)).sample(1, generator=generator)[0]
    return Spectrum(spectrum.eigenvalues, vectors, spectrum.covers)
