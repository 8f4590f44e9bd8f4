r"""Spectral coefficients :math:`C_k = V_k^\top S` and what of them does not depend on the basis.

A graph-level network sees :math:`P_k(U_k^\top C_k)` for some :math:`U_k \in O(M_k)`. With :math:`C_k = Q_k R_k`,
:math:`Q_k` orthonormal, that is a block of an orthogonal matrix times :math:`R_k`. The factor with positive leading
entries in every row is a function of the Gram matrix :math:`C_k^\top C_k = R_k^\top R_k` alone: it never sees the
basis that the eigensolver returned.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._pytree import register_dataclass

from adacanon.errors import InputError, ShapeError
from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficient_cache import coefficient_key, load_coefficients, store_coefficients
from adacanon.graphs.eigensolver_cost import DENSE_NODES, announce_dense
from adacanon.graphs.partial_spectra import partial_spectrum
from adacanon.graphs.shift_operators import ShiftOperator, node_count, shift_matrix
from adacanon.graphs.spectra import Spectrum, bands_of, spectra
from adacanon.notices import warn_of_unread_features

_DEPENDENT = 1e-9
"""A channel counts as dependent if its part orthogonal to those before it is below this share of the signal."""


@dataclass(frozen=True)
class BandCoefficients:
    r"""The coefficients of a batch of graphs, one galaxy :math:`(M_1, \dots, M_B)` each.

    Attributes:
        factors: :math:`R_k`, (graphs, bands, largest rank, channels); row i is zero from the rank on.
        sizes: :math:`M_k`, (graphs, bands).
        ranks: :math:`\mathrm{rank}\,C_k`, (graphs, bands).
        invariants: what the network sees beside the coefficients and no rotation changes, (graphs, count).

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> g = band_coefficients([path, path], dyadic(4))
        >>> len(g), g.factors.shape, g[:1].sizes.tolist()
        (2, torch.Size([2, 4, 2, 3]), [[1, 0, 0, 2]])
    """

    factors: Tensor
    sizes: Tensor
    ranks: Tensor
    invariants: Tensor | None = None

    def __len__(self) -> int:
        return int(self.factors.shape[0])

    def __getitem__(self, index: Tensor | slice) -> "BandCoefficients":
        invariants = None if self.invariants is None else self.invariants[index]
        return BandCoefficients(self.factors[index], self.sizes[index], self.ranks[index], invariants)

    def to(self, *target: Any) -> "BandCoefficients":
        """Move or cast the factors; the sizes follow to the device."""
        factors = self.factors.to(*target)
        invariants = None if self.invariants is None else self.invariants.to(factors)
        return BandCoefficients(factors, self.sizes.to(factors.device), self.ranks.to(factors.device), invariants)

    def grams(self) -> Tensor:
        r"""The Gram matrices :math:`C_k^\top C_k`, which determine all that a graph-level A-NLSF can see."""
        return self.factors.mT @ self.factors


register_dataclass(BandCoefficients, field_names=["factors", "sizes", "ranks", "invariants"])


def band_coefficients(
    graphs: Any,
    partition: Partition,
    *,
    operator: ShiftOperator = "normalized",
    dtype: torch.dtype = torch.float32,
    cache: bool = True,
) -> BandCoefficients:
    """The coefficients of torch-geometric ``Data`` objects, a ``Batch``, or a sequence of graphs.

    Args:
        graphs: with ``x`` (nodes, channels) and ``edge_index``.
        partition: the bands.
        operator: "normalized", "laplacian", "adjacency", or a function from a graph to a symmetric matrix.
        cache: keep the spectra on disk, and of whole data sets the coefficients too.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> band_coefficients([path, path], dyadic(4)).factors.shape
        torch.Size([2, 4, 2, 3])
    """
    graphs = list_of_graphs(graphs)
    warn_of_unread_features(graphs, edges=isinstance(operator, str))
    key = coefficient_key(graphs, partition, operator, dtype) if cache else None
    tensors = None if key is None else load_coefficients(key)
    if tensors is None:
        pairs = spectra_and_signals(graphs, operator, partition=partition, cache=cache)
        fresh = coefficients_of(pairs, partition, dtype=dtype)
        tensors = (fresh.factors, fresh.sizes, fresh.ranks)
        if key is not None:
            store_coefficients(key, tensors)
    return BandCoefficients(*tensors).to(graphs[0].x.device)


def spectra_and_signals(
    graphs: Sequence[Any],
    operator: ShiftOperator = "normalized",
    *,
    partition: Partition | None = None,
    cache: bool = True,
) -> list[tuple[Spectrum, Tensor]]:
    """The spectrum and the node features of every graph, checked.

    Of large graphs only the eigenpairs in a partial partition are computed.
    """
    signals = [node_signal(graph, index) for index, graph in enumerate(graphs)]
    channels = {signal.shape[1] for signal in signals}
    if len(channels) != 1:
        raise ShapeError(f"All graphs must have the same number of node features, got {sorted(channels)}")
    found = dict[int, Spectrum]()
    small = [index for index, graph in enumerate(graphs) if not in_part(graph, partition)]
    operators = [_operator(graphs[index], index, operator) for index in small]
    found |= zip(small, spectra(operators, cache=cache), strict=True)
    for index in (index for index in range(len(graphs)) if index not in found):
        found[index] = _partial(graphs[index], index, operator, partition, cache=cache)
    return [(found[index], signal) for index, signal in enumerate(signals)]


def coefficients_of(
    pairs: Iterable[tuple[Spectrum, Tensor]], partition: Partition, *, dtype: torch.dtype = torch.float32
) -> BandCoefficients:
    """The coefficients of signals on graphs whose spectra are known.

    Example:
        >>> from adacanon.graphs import dyadic
        >>> spectrum = spectra([torch.tensor([[1.0, -1.0], [-1.0, 1.0]])], cache=False)[0]
        >>> coefficients_of([(spectrum, torch.ones(2, 1))], dyadic(2)).ranks.tolist()
        [[1, 0]]
    """
    bands = [padded_bands(spectrum, signal, partition) for spectrum, signal in pairs]
    factors, ranks = zip(*(_factors_of_some([c for c, _ in some]) for some in _portions(bands)), strict=True)
    width = max(factor.shape[2] for factor in factors)
    joined = torch.cat([functional.pad(factor, (0, 0, 0, width - factor.shape[2])) for factor in factors])
    return BandCoefficients(joined.to(dtype), torch.stack([sizes for _, sizes in bands]), torch.cat(ranks))


def coefficients_on_one_graph(
    spectrum: Spectrum, signals: Tensor, partition: Partition, *, dtype: torch.dtype = torch.float32
) -> BandCoefficients:
    """The coefficients of many signals (samples, nodes, channels) on one graph, in one matrix product."""
    c, sizes = padded_bands(spectrum, signals, partition)
    factors, ranks = trimmed_factor(c)
    return BandCoefficients(factors.to(dtype), sizes.expand(signals.shape[0], -1), ranks)


def padded_bands(spectrum: Spectrum, signal: Tensor, partition: Partition) -> tuple[Tensor, Tensor]:
    r"""All :math:`C_k = V_k^\top S` padded with zero rows, (..., bands, largest M, channels), and sizes (bands,)."""
    bands = split_bands(spectrum, signal, partition)
    sizes = torch.tensor([band.shape[-2] for band in bands])
    height = max(int(sizes.max()), 1)
    padded = torch.zeros(*signal.shape[:-2], partition.bands, height, signal.shape[-1], dtype=torch.float64)
    for k, band in enumerate(bands):
        padded[..., k, : band.shape[-2], :] = band
    return padded, sizes


def split_bands(spectrum: Spectrum, signal: Tensor, partition: Partition) -> list[Tensor]:
    r"""The coefficients :math:`C_k`, (..., M_k, channels) each, of signals (..., nodes, channels)."""
    coefficients = torch.einsum("nm,...nt->...mt", spectrum.eigenvectors, signal.double())
    band = bands_of(spectrum, partition)
    return [coefficients[..., band == k, :] for k in range(partition.bands)]


def triangular_factor(c: Tensor, *, size: Tensor | None = None) -> tuple[Tensor, Tensor]:
    r"""The R of :math:`C = QR` in echelon form with positive leading entries, (..., channels, channels), and the rank.

    Gram-Schmidt over the channels in their order; a channel that depends on those before it gets no row of its own.
    This is the Cholesky factor of :math:`C^\top C` when the rank is full, and unique in any case. What is tiny beside
    ``size``, the largest channel of C if not given, is rounding and has no rank. There are never more than M: behind a
    channel that is almost dependent, rounding can look like another direction.
    """
    channels, most = c.shape[-1], (c != 0).any(-1).sum(-1)
    smallest = _DEPENDENT * (c.norm(dim=-2).amax(-1) if size is None else size)
    rows = max(1, min(c.shape[-2:]))  # all that can be filled: with many channels most rows stay zero
    factor = c.new_zeros(*c.shape[:-2], rows, channels)
    rank = torch.zeros(c.shape[:-2], dtype=torch.int64, device=c.device)
    for t in range(channels):
        length = c[..., t].norm(dim=-1)
        counts = (length > smallest) & (rank < most)
        q = torch.where(counts, 1 / length, 0.0).nan_to_num(posinf=0.0)[..., None] * c[..., t]
        row = (q[..., None, :] @ c).squeeze(-2)
        row = torch.cat([torch.zeros_like(row[..., :t]), row[..., t:]], dim=-1)
        place = rank.clamp(max=rows - 1)[..., None, None].expand_as(row[..., None, :])  # beyond, the row is zero
        factor.scatter_add_(-2, place, row[..., None, :])
        c = c - q[..., :, None] * row[..., None, :]
        rank = rank + counts
    return functional.pad(factor, (0, 0, 0, channels - rows)), rank


def trimmed_factor(c: Tensor) -> tuple[Tensor, Tensor]:
    """The factors of (graphs, bands, M, channels) without the rows that are zero in all of them, and the ranks.

    Channels that are zero on a whole graph are set aside first: with one-hot labels most are.
    """
    present = (c != 0).any(-2).any(1)
    kept = (~present).int().argsort(dim=1, stable=True)[:, : max(1, int(present.sum(1).max()))]
    columns = kept[:, None, None, :]
    size = c.flatten(1, 2).norm(dim=1).amax(1, keepdim=True)
    factor, ranks = triangular_factor(c.gather(3, columns.expand(*c.shape[:3], -1)), size=size)
    factor = factor[:, :, : max(1, int(ranks.max()))]
    full = c.new_zeros(*factor.shape[:3], c.shape[-1])
    return full.scatter(3, columns.expand_as(factor), factor), ranks


def _factors_of_some(bands: list[Tensor]) -> tuple[Tensor, Tensor]:
    height = max(c.shape[1] for c in bands)
    return trimmed_factor(torch.stack([functional.pad(c, (0, 0, 0, height - c.shape[1])) for c in bands]))


def _portions(items: list[Any], size: int = 256) -> Iterable[list[Any]]:
    """A few graphs at a time, so that padding stays small."""
    return (items[start : start + size] for start in range(0, len(items), size))


def list_of_graphs(graphs: Any) -> Sequence[Any]:
    """A list of single graphs from one graph, a batch or any sequence."""
    if hasattr(graphs, "to_data_list"):
        graphs = graphs.to_data_list()
    elif hasattr(graphs, "edge_index"):
        graphs = [graphs]
    if not isinstance(graphs, Iterable) or isinstance(graphs, Tensor) or hasattr(graphs, "ndim"):
        raise ShapeError(f"Expected torch-geometric graphs, a Batch or BandCoefficients, got {type(graphs).__name__}")
    graphs = list(graphs)
    strangers = [type(graph).__name__ for graph in graphs if not hasattr(graph, "edge_index")]
    if strangers:
        raise ShapeError(f"Expected graphs with x and edge_index, got {strangers[0]}. Hint: torch_geometric.data.Data")
    if not graphs:
        raise InputError("The batch is empty. Hint: skip empty batches, or set drop_last in the loader")
    return graphs


def node_signal(graph: Any, index: int) -> Tensor:
    """The node features S of a graph, checked."""
    x, nodes = graph.x, node_count(graph)
    if x is not None and (not isinstance(x, Tensor) or x.is_complex() or x.is_meta or x.layout != torch.strided):
        came = f"a tensor of {x.dtype}, {x.layout}" if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"Graph {index} needs node features x, a dense tensor of real numbers, got {came}")
    if x is None or x.dim() != 2 or x.shape[0] != nodes or x.shape[1] == 0:
        came = "no x" if x is None else f"x of shape {tuple(x.shape)}"
        raise ShapeError(
            f"Graph {index} needs node features x of shape ({nodes}, channels), got {came}. "
            "Hint: give graphs without features a constant one, data.x = torch.ones(data.num_nodes, 1)"
        )
    if x.requires_grad:
        raise InputError(
            f"The node features of graph {index} require gradients, which do not pass through cached coefficients. "
            "Hint: data.x = data.x.detach(), and embed linearly after the projection"
        )
    if x.is_complex():
        raise InputError(
            f"The node features of graph {index} must be real, got {x.dtype}. "
            "Hint: real and imaginary parts as channels, torch.view_as_real(data.x).flatten(1)"
        )
    x = x.cpu().double()
    if not bool(x.isfinite().all()):
        raise InputError(f"The node features of graph {index} hold {int((~x.isfinite()).sum())} NaN or infinite values")
    return x


def in_part(graph: Any, partition: Partition | None) -> bool:
    """Whether only the eigenpairs in the bands are computed: the graph is large, and the bands are not all there is."""
    return partition is not None and partition.partial and node_count(graph) > DENSE_NODES


def _partial(graph: Any, index: int, operator: ShiftOperator, partition: Partition | None, *, cache: bool) -> Spectrum:
    assert partition is not None
    with _in_graph(index):
        return partial_spectrum(graph, within=partition.reach, operator=operator, cache=cache)


def _operator(graph: Any, index: int, operator: ShiftOperator) -> Tensor:
    with _in_graph(index):
        announce_dense(node_count(graph))
        return shift_matrix(graph, operator)


@contextmanager
def _in_graph(index: int) -> Iterator[None]:
    try:
        yield
    except (InputError, ShapeError) as error:
        error.add_note(f"in graph {index} of the batch")
        raise
