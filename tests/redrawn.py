"""Other eigenbases of the same operator, and other orders of the same nodes."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from adacanon.baselines.frame_averaging import eigenspaces
from adacanon.graphs import Partition, Spectrum
from adacanon.spaces import Orthogonal


def within_bands(spectrum: Spectrum, partition: Partition, *, generator: torch.Generator) -> Spectrum:
    """A random orthonormal basis of every band."""
    band = partition.assign(spectrum.eigenvalues)
    return _turned(spectrum, [(band == k).nonzero().flatten() for k in range(partition.bands)], generator)


def within_eigenspaces(spectrum: Spectrum, *, generator: torch.Generator) -> Spectrum:
    """A random orthonormal basis of every eigenspace: what an eigensolver is free to return."""
    spaces = [torch.arange(a, b) for a, b in eigenspaces(spectrum.eigenvalues)]
    return _turned(spectrum, spaces, generator)


def permuted(graph: Data, order: Tensor) -> Data:
    """The same graph, its nodes in another order: node i of the result is node ``order[i]``."""
    place = order.argsort()
    return Data(x=graph.x[order], edge_index=place[graph.edge_index], num_nodes=graph.num_nodes)


def _turned(spectrum: Spectrum, groups: list[Tensor], generator: torch.Generator) -> Spectrum:
    vectors = spectrum.eigenvectors.clone()
    for group in groups:
        if len(group):
            vectors[:, group] = vectors[:, group] @ Orthogonal(len(group)).sample(1, generator=generator)[0]
    return Spectrum(spectrum.eigenvalues, vectors)
