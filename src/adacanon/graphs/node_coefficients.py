r"""What a node-level filter needs of a graph beside its coefficients: node vectors that span its signal in every band.

With :math:`C_k = V_k^\top S = Q_kR_k`, the rows of :math:`R_k` and the columns of :math:`W_k = V_kQ_k` are one
decomposition of the part of the signal in band k, :math:`V_kV_k^\top S = W_kR_k`. Neither factor sees the basis
:math:`V_k` that the eigensolver returned, and a permutation of the nodes permutes the rows of :math:`W_k`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._pytree import register_dataclass

from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficients import BandCoefficients, coefficients_of, list_of_graphs, spectra_and_signals
from adacanon.graphs.shift_operators import ShiftOperator
from adacanon.graphs.spectra import Spectrum, bands_of
from adacanon.notices import warn_of_unread_features


@dataclass(frozen=True)
class NodeCoefficients:
    r"""The coefficients of a batch of graphs, and the node vectors to synthesize with.

    Attributes:
        coefficients: :math:`R_k`, sizes and ranks.
        bases: :math:`W_k^\top`, (graphs, bands, largest rank, nodes); row i is zero from the rank on.
        mask: which nodes are the graph's own, (graphs, nodes).

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> g = node_coefficients([path, path], dyadic(4))
        >>> len(g), g.bases.shape, g.mask.shape
        (2, torch.Size([2, 4, 2, 3]), torch.Size([2, 3]))
    """

    coefficients: BandCoefficients
    bases: Tensor
    mask: Tensor

    def __len__(self) -> int:
        return len(self.coefficients)

    def __getitem__(self, index: Tensor | slice) -> "NodeCoefficients":
        """Some of the graphs, with no more padding than the largest of them needs."""
        mask = self.mask[index]
        nodes = int(mask.sum(1).max()) if len(mask) else 0
        return NodeCoefficients(self.coefficients[index], self.bases[..., :nodes][index], mask[:, :nodes])

    def to(self, *target: Any) -> "NodeCoefficients":
        """Move or cast factors and bases; sizes and mask follow to the device."""
        bases = self.bases.to(*target)
        return NodeCoefficients(self.coefficients.to(*target), bases, self.mask.to(bases.device))


register_dataclass(NodeCoefficients, field_names=["coefficients", "bases", "mask"])


def node_coefficients(
    graphs: Any,
    partition: Partition,
    *,
    operator: ShiftOperator = "normalized",
    dtype: torch.dtype = torch.float32,
    cache: bool = True,
) -> NodeCoefficients:
    """The coefficients and node vectors of torch-geometric ``Data`` objects, a ``Batch``, or a sequence of graphs.

    Args:
        graphs: with ``x`` (nodes, channels) and ``edge_index``.
        partition: the bands.
        operator: "normalized", "laplacian", "adjacency", or a function from a graph to a symmetric matrix.
        cache: keep the spectra on disk.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> node_coefficients([path, path], dyadic(4)).bases.shape
        torch.Size([2, 4, 2, 3])
    """
    graphs = list_of_graphs(graphs)
    warn_of_unread_features(graphs, edges=isinstance(operator, str))
    pairs = spectra_and_signals(graphs, operator, partition=partition, cache=cache)
    return node_coefficients_of(pairs, partition, dtype=dtype).to(graphs[0].x.device)


def node_coefficients_of(
    pairs: Iterable[tuple[Spectrum, Tensor]], partition: Partition, *, dtype: torch.dtype = torch.float32
) -> NodeCoefficients:
    """The coefficients and node vectors of signals on graphs whose spectra are known.

    Example:
        >>> from adacanon.graphs import dyadic, spectra
        >>> spectrum = spectra([torch.tensor([[1.0, -1.0], [-1.0, 1.0]])], cache=False)[0]
        >>> node_coefficients_of([(spectrum, torch.ones(2, 1))], dyadic(2)).bases.shape
        torch.Size([1, 2, 1, 2])
    """
    pairs = list(pairs)
    exact = coefficients_of(pairs, partition, dtype=torch.float64)
    nodes = torch.tensor([signal.shape[0] for _, signal in pairs])
    largest = int(nodes.max())
    bases = [
        functional.pad(
            band_bases(band_signals(spectrum, signal, partition), factors, ranks), (0, largest - len(signal))
        )
        for (spectrum, signal), factors, ranks in zip(pairs, exact.factors, exact.ranks, strict=True)
    ]
    mask = torch.arange(largest) < nodes[:, None]
    return NodeCoefficients(exact.to(dtype), torch.stack([basis.to(dtype) for basis in bases]), mask)


def band_signals(spectrum: Spectrum, signal: Tensor, partition: Partition) -> Tensor:
    r"""The parts :math:`V_kV_k^\top S` of a signal, (bands, nodes, channels)."""
    v = spectrum.eigenvectors
    inside = torch.arange(partition.bands)[:, None] == bands_of(spectrum, partition)
    return v @ (inside[..., None] * (v.mT @ signal.double()))


def band_bases(signals: Tensor, factors: Tensor, ranks: Tensor) -> Tensor:
    r"""The :math:`W^\top` of :math:`S = WR`, (..., rank, nodes), from signals (..., nodes, channels) and their R.

    With p the channels in which the rows of R begin, :math:`W = S_pR_p^{-1}`, and :math:`R_p` is triangular.
    """
    width = factors.shape[-2]
    first = (factors != 0).int().argmax(-1)
    inside = torch.arange(width) < ranks[..., None]
    square = factors.gather(-1, first.unsqueeze(-2).expand(*factors.shape[:-1], width))
    square = torch.where(inside[..., None] & inside[..., None, :], square, torch.eye(width, dtype=square.dtype))
    chosen = signals.gather(-1, first.unsqueeze(-2).expand(*signals.shape[:-1], width)) * inside[..., None, :]
    return torch.linalg.solve_triangular(square.mT, chosen.mT, upper=False)
