r"""Frames of the bands that depend on the graph alone, in which learned node features can be projected.

A learned encoder :math:`H = \mathrm{enc}(G, S)` gives up the factors that A-NLSF computes once per data set. What can
still be computed once is a basis: :math:`W_k`, an orthonormal basis of :math:`V_kV_k^\top F` for signals F that are
fixed functions of the graph and its node features. The coefficients :math:`W_k^\top H` then never see the basis that
the eigensolver returned. They are all coefficients of H where F spans the band, and those along F elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficient_cache import coefficient_key, load_coefficients, store_coefficients
from adacanon.graphs.coefficients import list_of_graphs, spectra_and_signals
from adacanon.graphs.node_coefficients import band_signals
from adacanon.graphs.shift_operators import ShiftOperator, edge_index_of
from adacanon.graphs.sparse_operators import Sparse
from adacanon.graphs.spectra import Spectrum, bands_of
from adacanon.notices import warn_of_unread_features

_VERSION = 2
"""Part of the key of cached frames. Raise it whenever the same graphs get other frames."""

_DEPENDENT = 1e-6
"""A signal counts as dependent in a band if its part there, orthogonal to those before it, is below this share of the
whole signal: a band that the signals do not reach holds rounding, and no direction."""


@dataclass(frozen=True)
class BandFrames:
    r"""The frames of all graphs of a data set, one after the other.

    Attributes:
        basis: rows of :math:`W_k`, (nodes of all graphs, bands, width), zero from the rank on.
        sizes: :math:`M_k`, (graphs, bands).
        ranks: columns of :math:`W_k`, (graphs, bands).
    """

    basis: Tensor
    sizes: Tensor
    ranks: Tensor


def band_frames(
    graphs: Any,
    partition: Partition,
    *,
    operator: ShiftOperator = "normalized",
    width: int = 8,
    cache: bool = True,
) -> BandFrames:
    """The frames of torch-geometric graphs, from their structural signals.

    Args:
        graphs: with ``x`` (nodes, channels) and ``edge_index``.
        partition: the bands.
        operator: "normalized", "laplacian", "adjacency", or a function from a graph to a symmetric matrix.
        width: at most this many columns per band.
        cache: keep the spectra on disk, and of whole data sets the frames too.
    """
    graphs = list_of_graphs(graphs)
    warn_of_unread_features(graphs, edges=isinstance(operator, str))
    what = f"frames of width {width}, version {_VERSION}"
    key = coefficient_key(graphs, partition, operator, torch.float32, what=what) if cache else None
    tensors = None if key is None else load_coefficients(key)
    if tensors is None:
        pairs = spectra_and_signals(graphs, operator, partition=partition, cache=cache)
        fresh = band_frames_of(pairs, [edge_index_of(graph) for graph in graphs], partition, width=width)
        tensors = (fresh.basis, fresh.sizes, fresh.ranks)
        if key is not None:
            store_coefficients(key, tensors)
    return BandFrames(*tensors)


def band_frames_of(
    pairs: Iterable[tuple[Spectrum, Tensor]], edges: Iterable[Tensor], partition: Partition, *, width: int = 8
) -> BandFrames:
    """The frames of graphs whose spectra are known, given with their node features and ``edge_index``."""
    bases, sizes, ranks = [], [], []
    for (spectrum, signal), edge_index in zip(pairs, edges, strict=True):
        fixed = structural_signals(signal, edge_index.cpu())
        fixed = fixed[:, (fixed != 0).any(0)]
        band = bands_of(spectrum, partition)
        sizes.append(torch.bincount(band[band >= 0], minlength=partition.bands))
        parts, norms = band_signals(spectrum, fixed, partition), fixed.norm(dim=0)
        basis, rank = orthonormal_columns(parts, width, size=norms, dimensions=sizes[-1])
        bases.append(basis.transpose(0, 1).float())
        ranks.append(rank)
    return BandFrames(torch.cat(bases), torch.stack(sizes), torch.stack(ranks))


def structural_signals(x: Tensor, edge_index: Tensor) -> Tensor:
    r"""Fixed signals :math:`F = (1,\, S,\, d,\, AS,\, d \odot S,\, Ad,\, A(d \odot S),\, A^2S)` with degrees
    :math:`d = A1`, of all nodes within two steps.
    """

    def neighbours(signal: Tensor) -> Tensor:
        return torch.zeros_like(signal).index_add(0, edge_index[1], signal[edge_index[0]])

    one = x.new_ones(x.shape[0], 1)
    degree, around = neighbours(one), neighbours(x)
    weighted = degree * x
    signals = (one, x, degree, around, weighted, neighbours(degree), neighbours(weighted), neighbours(around))
    return torch.cat(signals, dim=1)


def return_probabilities(operator: Tensor, steps: int) -> Tensor:
    r"""The diagonals of :math:`P^p`, :math:`P = I - \mathcal L`, :math:`p = 1, \dots`, (nodes, steps): how much of a
    node comes back after p steps. With :math:`(P^{a+b})_{ii} = \sum_j (P^a)_{ij}(P^b)_{ij}` half of the powers are
    enough.
    """
    walk = torch.eye(operator.shape[0], dtype=operator.dtype) - operator
    powers = [torch.eye(operator.shape[0], dtype=operator.dtype)]
    for _ in range(-(-steps // 2)):
        powers.append(powers[-1] @ walk)
    found = [(powers[p // 2] * powers[p - p // 2]).sum(-1) for p in range(1, steps + 1)]
    return torch.stack(found, dim=-1) if found else operator.new_zeros(operator.shape[0], 0)


def return_probabilities_in_blocks(operator: Sparse, steps: int, *, block: int = 256) -> Tensor:
    """The same of a sparse operator, some nodes at a time: memory is linear in the nodes, time quadratic."""
    found = []
    for start in range(0, operator.shape[0], block):
        power = torch.zeros(operator.shape[0], min(block, operator.shape[0] - start), dtype=torch.float64)
        power[start + torch.arange(power.shape[1]), torch.arange(power.shape[1])] = 1
        powers = [power]
        for _ in range(-(-steps // 2)):
            powers.append(powers[-1] - torch.from_numpy(operator @ powers[-1].numpy()))
        found.append([(powers[p // 2] * powers[p - p // 2]).sum(0) for p in range(1, steps + 1)])
    columns = [torch.cat(parts) for parts in zip(*found, strict=True)]
    return torch.stack(columns, dim=-1) if columns else torch.zeros(operator.shape[0], 0, dtype=torch.float64)


def orthonormal_columns(
    signals: Tensor, width: int, *, size: Tensor | None = None, dimensions: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Gram-Schmidt over the channels of (..., nodes, channels), at most ``width`` columns (..., nodes, width), and how
    many there are; a channel that depends on those before it gets no column.

    Args:
        size: norms of the channels that the signals are parts of, (..., channels); their own if not given.
        dimensions: of the spaces that the signals lie in, (...); no more columns are looked for.
    """
    most = torch.full(signals.shape[:-2], width) if dimensions is None else dimensions.clamp(max=width)
    basis = signals.new_zeros(*signals.shape[:-1], width)
    rank = torch.zeros(signals.shape[:-2], dtype=torch.int64)
    rest, smallest = signals, _DEPENDENT * (signals.norm(dim=-2) if size is None else size)
    for t in range(signals.shape[-1]):
        length = rest[..., t].norm(dim=-1)
        counts = (length > smallest[..., t]) & (rank < most)
        if not bool(counts.any()):
            continue
        q = torch.where(counts, 1 / length, 0.0).nan_to_num(posinf=0.0)[..., None] * rest[..., t]
        place = (torch.arange(width) == rank[..., None]) & counts[..., None]
        basis = basis + q[..., None] * place[..., None, :]
        rest = rest - q[..., None] * (q[..., None, :] @ rest)
        rank = rank + counts
        if bool((rank == most).all()):
            break
    return basis, rank
