"""Shift operators as sparse matrices, for graphs whose dense matrix would not fit or would take too long."""

from typing import Any

import torch
from torch import Tensor

from adacanon.errors import InputError, ShapeError
from adacanon.extras import optional
from adacanon.graphs.shift_operators import (
    MADE_SYMMETRIC,
    ShiftOperator,
    edge_weights,
    edges_of,
    known_operator,
    node_count,
)

Sparse = Any
"""A scipy sparse matrix in compressed columns, float64; scipy has no types to name it by."""


def sparse_shift(graph: Any, operator: ShiftOperator = "normalized") -> Sparse:
    """The operator's matrix for a graph in compressed columns, checked to be square, real, finite and symmetric.

    A function may return a torch tensor, dense or sparse, or a scipy sparse matrix.

    Example:
        >>> from torch_geometric.data import Data
        >>> edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> sparse_shift(edge).toarray().tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    matrix = _named(graph, known_operator(operator)) if isinstance(operator, str) else as_sparse(operator(graph))
    return checked_sparse(matrix, node_count(graph))


def as_sparse(matrix: Any) -> Sparse:
    """A torch tensor, dense or sparse, or a scipy matrix, in compressed columns and float64."""
    with optional("A sparse operator"):
        from scipy import sparse

    if isinstance(matrix, Tensor):
        matrix = matrix.detach().cpu()
        if matrix.layout != torch.strided:
            matrix = matrix.to_sparse_coo().coalesce()
            matrix = sparse.coo_matrix((matrix.values().numpy(), matrix.indices().numpy()), shape=tuple(matrix.shape))
        else:
            matrix = matrix.numpy()
    matrix = sparse.csc_matrix(matrix)
    if matrix.dtype.kind == "c":
        raise InputError("A shift operator must be real, got complex entries. Hint: operator.real where that is meant")
    return matrix.astype("float64")


def checked_sparse(matrix: Sparse, nodes: int) -> Sparse:
    """The symmetric part of a matrix that is symmetric up to rounding."""
    if matrix.shape != (nodes, nodes):
        raise ShapeError(
            f"A shift operator of a graph with {nodes} nodes has shape ({nodes}, {nodes}), got {matrix.shape}"
        )
    if not bool(torch.from_numpy(matrix.data).isfinite().all()):
        raise InputError(
            "A shift operator must be finite, but it holds NaN or infinite entries. Hint: check edge_weight"
        )
    difference = matrix - matrix.T
    asymmetry = float(abs(difference).max()) if difference.nnz else 0.0
    if asymmetry > 1e-9 * max(float(abs(matrix).max()) if matrix.nnz else 0.0, 1.0):
        raise InputError(
            f"A shift operator must be symmetric, but entries differ from their transposes by up to {asymmetry:.3g}. "
            f"{MADE_SYMMETRIC}"
        )
    return ((matrix + matrix.T) / 2).tocsc()


def largest_entry_sum(matrix: Sparse) -> float:
    r"""The largest sum of absolute entries in a column: no eigenvalue is larger, :math:`\|L\|_2 \le \|L\|_1`."""
    return float(abs(matrix).sum(axis=0).max()) if matrix.nnz else 0.0


def _named(graph: Any, name: str) -> Sparse:
    from scipy import sparse

    a = _adjacency(graph)
    degree = torch.from_numpy(a.sum(axis=1).A1 if hasattr(a.sum(axis=1), "A1") else a.sum(axis=1))
    if name == "adjacency":
        return a
    if name == "laplacian":
        return sparse.diags(degree.numpy()) - a
    positive = degree > 0
    root = torch.where(positive, degree.clamp(min=torch.finfo(degree.dtype).tiny).rsqrt(), 0.0)
    scale = sparse.diags(root.numpy())
    return sparse.diags(positive.double().numpy()) - scale @ a @ scale


def _adjacency(graph: Any) -> Sparse:
    with optional("A sparse operator"):
        from scipy import sparse

    nodes = node_count(graph)
    source, target = edges_of(graph.edge_index, nodes)
    weight = edge_weights(graph, source)
    content = (weight.double().numpy(), (source.numpy(), target.numpy()))
    return checked_sparse(sparse.coo_matrix(content, shape=(nodes, nodes)).tocsc(), nodes)
