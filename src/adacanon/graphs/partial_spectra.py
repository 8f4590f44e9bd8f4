"""The part of a spectrum that is used, for graphs of any size: chosen bands, or the lowest eigenpairs."""

import hashlib
import math
from typing import Any, Literal, get_args

import numpy as np
import torch

from adacanon.arguments import whole_number
from adacanon.errors import InputError, UnknownNameError
from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficient_cache import load_coefficients, store_coefficients
from adacanon.graphs.eigensolver_cost import DENSE_NODES, announce_dense, announce_partial
from adacanon.graphs.inertia import is_narrow
from adacanon.graphs.shift_operators import ShiftOperator, node_count, shift_matrix
from adacanon.graphs.sparse_eigenpairs import (
    SAME_EIGENSPACE,
    TOLERANCE,
    Pairs,
    end_of_eigenspace,
    from_above,
    from_below,
    from_within,
    lowest_pairs,
    pairs_up_to,
)
from adacanon.graphs.sparse_operators import Sparse, largest_entry_sum, sparse_shift
from adacanon.graphs.spectra import Spectrum, spectra

Solver = Literal["auto", "dense", "factorized", "lanczos"]

_VERSION = 1
"""Part of every key. Raise it whenever the same matrix gets other pairs."""

_UNKNOWN = 64
"""Eigenpairs of an interval, for an estimate of the time before they are known."""

_MOST = 4
"""At most one eigenpair of this many is computed one by one; for more, the dense solver is faster."""


def partial_spectrum(
    graph: Any,
    *,
    lowest: int | None = None,
    within: tuple[float, float] | None = None,
    operator: ShiftOperator = "normalized",
    solver: Solver = "auto",
    cache: bool = True,
) -> Spectrum:
    r"""The lowest eigenpairs of a graph, or all those with eigenvalues in an interval, and no others.

    No eigenspace is split: more than ``lowest`` pairs come where the last eigenvalue is a multiple one (eigenvalues
    closer than :math:`10^{-6}\|L\|` count as equal), and a set that cannot be completed is refused. Residuals are at
    most :math:`10^{-10}\|L\|`. Graphs of up to 2,000 nodes are decomposed whole.

    Args:
        graph: a torch-geometric graph; its node features are not read.
        lowest: how many eigenpairs, from the smallest eigenvalue on.
        within: the ends of a closed interval.
        operator: "normalized", "laplacian", "adjacency", or a function from a graph to a symmetric matrix, which may be
            sparse.
        solver: "factorized" for graphs with small separators, such as meshes, "lanczos" for others, "dense" for all
            eigenpairs at once; "auto" chooses by size and bandwidth.
        cache: keep the pairs on disk.

    Example:
        >>> from torch_geometric.data import Data
        >>> ring = torch.arange(6)
        >>> edges = torch.stack([torch.cat([ring, ring.roll(-1)]), torch.cat([ring.roll(-1), ring])])
        >>> spectrum = partial_spectrum(Data(edge_index=edges, num_nodes=6), lowest=2, cache=False)
        >>> (spectrum.eigenvalues.abs() + 1e-9).round(decimals=2).tolist()  # the second one comes twice
        [0.0, 0.5, 0.5]
    """
    if solver not in get_args(Solver):
        raise UnknownNameError(f"Eigensolvers are {', '.join(get_args(Solver))}; got {solver!r}")
    lowest, (low, high) = _checked_wish(lowest, within, node_count(graph))
    if solver == "dense" or (solver == "auto" and node_count(graph) <= DENSE_NODES):
        whole, size = _dense(graph, operator, cache=cache)
        return _part(whole, lowest, low, high, size)
    matrix = sparse_shift(graph, operator)
    key = _key(matrix) if cache else None
    known = None if key is None else _load(key)
    if known is None or not _enough(known, lowest, low, high):
        known = _computed(matrix, lowest, low, high, solver)
        if key is not None:
            store_coefficients(key, (known.eigenvalues, known.eigenvectors, torch.tensor(known.covers).double()))
    return _part(known, lowest, low, high, largest_entry_sum(matrix))


def lowest_bands(
    graph: Any,
    eigenpairs: int,
    *,
    bands: int = 8,
    operator: ShiftOperator = "normalized",
    solver: Solver = "auto",
    cache: bool = True,
) -> Partition:
    """Bands that hold the lowest eigenpairs of a graph, about as many in each; their boundaries are in gaps of the
    spectrum. The partition is partial: the rest of the spectrum is left out, and never computed.

    Example:
        >>> from torch_geometric.data import Data
        >>> path = torch.arange(8)
        >>> edges = torch.stack([torch.cat([path[:-1], path[1:]]), torch.cat([path[1:], path[:-1]])])
        >>> partition = lowest_bands(Data(edge_index=edges, num_nodes=8), 4, bands=2)
        >>> partition.bands, partition.partial
        (2, True)
    """
    bands = whole_number("lowest_bands", "bands", bands, least=1)
    found = partial_spectrum(graph, lowest=eigenpairs, operator=operator, solver=solver, cache=cache)
    first, last = float(found.eigenvalues[0]), float(found.eigenvalues[-1])
    beyond = max(last - first, abs(last), abs(first)) if math.isinf(found.covers[1]) else found.covers[1] - last
    inner = _inner_boundaries(found, bands)
    return Partition((first - 1e-3 * (last - first + beyond), *inner, last + 2 / 3 * beyond), partial=True)


def _inner_boundaries(found: Spectrum, bands: int) -> list[float]:
    """The widest gaps of the spectrum near equal shares of the eigenvalues."""
    values = found.eigenvalues
    gaps, size = values.diff(), float(values.abs().max())
    boundaries, count = list[float](), len(values)
    reach = max(count // (4 * bands), 0)
    before = 0
    for k in range(1, bands):
        centre = round(k * count / bands)
        first, last = max(centre - reach, before + 1), min(centre + reach, count - 1)
        places = torch.arange(first, last + 1)
        if not len(places) or float(gaps[places - 1].max()) <= SAME_EIGENSPACE * size:
            raise InputError(
                f"The lowest {count} eigenvalues have no gap near place {centre}, where band {k} of {bands} would end. "
                "Hint: fewer bands, or more eigenpairs"
            )
        before = int(places[gaps[places - 1].argmax()])
        boundaries.append(float(values[before - 1] + values[before]) / 2)
    return boundaries


def _checked_wish(
    lowest: int | None, within: tuple[float, float] | None, nodes: int
) -> tuple[int | None, tuple[float, float]]:
    if (lowest is None) == (within is None):
        raise InputError(f"Give either lowest= or within=, got lowest={lowest!r} and within={within!r}")
    if within is not None:
        low, high = within
        if not low < high:
            raise InputError(f"within= is an interval (low, high) with low < high, got {within}")
        return None, (float(low), float(high))
    lowest = whole_number("partial_spectrum", "lowest", lowest, least=1)
    if lowest > nodes:
        raise InputError(f"A graph of {nodes} nodes has {nodes} eigenpairs, got lowest={lowest}")
    return lowest, (-math.inf, math.inf)


def _dense(graph: Any, operator: ShiftOperator, *, cache: bool) -> tuple[Spectrum, float]:
    announce_dense(node_count(graph))
    matrix = shift_matrix(graph, operator)
    return spectra([matrix], cache=cache)[0], float(matrix.abs().sum(0).max())


def _computed(matrix: Sparse, lowest: int | None, low: float, high: float, solver: Solver) -> Spectrum:
    nodes, narrow = matrix.shape[0], is_narrow(matrix) if solver == "auto" else solver == "factorized"
    most = max(min(nodes - 1, 2 * (lowest or 0)), nodes // _MOST, 1)
    announce_partial(nodes, lowest or _UNKNOWN, factorized=narrow)
    if lowest is None:
        return _spectrum(_within(matrix, low, high, narrow=narrow, most=most), (low, high))
    pairs, following = lowest_pairs(from_below(matrix, by_factors=narrow), lowest, most=most)
    return _spectrum(pairs, (-math.inf, _inside_gap(float(pairs.values[-1]), following)))


def _within(matrix: Sparse, low: float, high: float, *, narrow: bool, most: int) -> Pairs:
    bottom, top = _bounds(matrix)
    low, high = max(low, bottom), min(high, top)
    if low > high:
        return Pairs(np.zeros(0), np.zeros((matrix.shape[0], 0)))
    if narrow:
        engine = from_within(matrix, low, high)
        limit = max(high - engine.middle, engine.middle - low)
    elif high - bottom <= top - low:
        engine, limit = from_below(matrix, by_factors=False), high
    else:
        engine, limit = from_above(matrix), -low
    accuracy = TOLERANCE * engine.size
    found = pairs_up_to(engine, limit + 2 * accuracy, most=most)
    _refuse_unclear(found, (low, high), accuracy)
    return found.where((found.values >= low) & (found.values <= high))


def _bounds(matrix: Sparse) -> tuple[float, float]:
    """Numbers below and above all eigenvalues (Gershgorin)."""
    diagonal = matrix.diagonal()
    around = np.asarray(abs(matrix).sum(axis=0)).ravel() - abs(diagonal)
    margin = 1e-3 * (largest_entry_sum(matrix) or 1.0)
    return float((diagonal - around).min()) - margin, float((diagonal + around).max()) + margin


def _refuse_unclear(found: Pairs, ends: tuple[float, float], accuracy: float) -> None:
    for end in ends:
        close = found.values[abs(found.values - end) < accuracy]
        if len(close):
            raise InputError(
                f"{len(close)} eigenvalues are as close as {accuracy:.2g} to {end:.12g}, an end of the bands: whether "
                "they lie inside is not determined. Hint: move the boundary, for example with lowest_bands"
            )


def _part(known: Spectrum, lowest: int | None, low: float, high: float, size: float) -> Spectrum:
    """What is wanted of what is known."""
    values = known.eigenvalues
    if lowest is None:
        inside = (values >= low) & (values <= high)
        return Spectrum(values[inside], known.eigenvectors[:, inside], (low, high))
    end = end_of_eigenspace(values, lowest, SAME_EIGENSPACE * (size or 1.0))
    if end is None:
        return known
    top = _inside_gap(float(values[end - 1]), float(values[end]))
    return Spectrum(values[:end], known.eigenvectors[:, :end], (-math.inf, top))


def _inside_gap(last: float, following: float) -> float:
    """Up to where all eigenvalues are known: three quarters of the gap."""
    return last + 0.75 * (following - last)


def _enough(known: Spectrum, lowest: int | None, low: float, high: float) -> bool:
    first, last = known.covers
    if lowest is None:
        return first <= low and high <= last
    return first == -math.inf and len(known.eigenvalues) >= lowest


def _spectrum(pairs: Pairs, covers: tuple[float, float]) -> Spectrum:
    return Spectrum(torch.from_numpy(pairs.values), torch.from_numpy(np.ascontiguousarray(pairs.vectors)), covers)


def _key(matrix: Sparse) -> str:
    matrix.sort_indices()
    digest = hashlib.sha256(f"partial spectrum {_VERSION} {matrix.shape}".encode())
    for array in (matrix.indptr, matrix.indices, matrix.data):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _load(key: str) -> Spectrum | None:
    tensors = load_coefficients(key)
    if tensors is None:
        return None
    values, vectors, covers = tensors
    return Spectrum(values, vectors, (float(covers[0]), float(covers[1])))
