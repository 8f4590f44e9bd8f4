r"""Graph shift operators: symmetric matrices that respect the edges of a graph.

Conventions, fixed here once: rows of ``edge_index`` are (source, target) and every undirected edge is listed in both
directions; an isolated node has :math:`L_{ii} = 0`, so that the multiplicity of the eigenvalue zero counts connected
components.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from adacanon.errors import InputError, ShapeError, UnknownNameError

ShiftOperator = str | Callable[[Any], Any]
"""The name of an operator, or a function from a graph to its symmetric matrix: a torch tensor, dense or sparse, or a
scipy sparse matrix."""

MADE_SYMMETRIC = "Hint: list every edge in both directions, for example with torch_geometric.utils.to_undirected"


def adjacency(graph: Any) -> Tensor:
    """The adjacency matrix A, (nodes, nodes) in float64, with ``edge_weight`` where the graph has one."""
    nodes = node_count(graph)
    source, target = edges_of(graph.edge_index, nodes)
    weight = edge_weights(graph, source)
    matrix = torch.zeros(nodes, nodes, dtype=torch.float64)
    return _checked_operator(matrix.index_put((source, target), weight.double(), accumulate=True), nodes)


def combinatorial_laplacian(graph: Any) -> Tensor:
    r""":math:`L = D - A`."""
    a = adjacency(graph)
    return torch.diag(a.sum(1)) - a


def normalized_laplacian(graph: Any) -> Tensor:
    r""":math:`L = I - D^{-1/2} A D^{-1/2}`, with spectrum in [0, 2]."""
    a = adjacency(graph)
    degree = a.sum(1)
    inverse_root = torch.where(degree > 0, degree.clamp(min=torch.finfo(degree.dtype).tiny).rsqrt(), 0.0)
    return torch.diag((degree > 0).double()) - inverse_root[:, None] * a * inverse_root


OPERATORS: dict[str, Callable[[Any], Tensor]] = {
    "normalized": normalized_laplacian,
    "laplacian": combinatorial_laplacian,
    "adjacency": adjacency,
}


def shift_matrix(graph: Any, operator: ShiftOperator = "normalized") -> Tensor:
    """The operator's matrix for a graph, checked to be square, finite and symmetric."""
    function = OPERATORS[known_operator(operator)] if isinstance(operator, str) else operator
    return _checked_operator(function(graph), node_count(graph))


def known_operator(name: str) -> str:
    """The name itself, if there is an operator of that name."""
    if name not in OPERATORS:
        raise UnknownNameError(f"Shift operators are {', '.join(OPERATORS)} or a function; got {name!r}")
    return name


def node_count(graph: Any) -> int:
    """Number of nodes, at least one."""
    nodes = graph.num_nodes
    if nodes is not None and not isinstance(nodes, int):
        raise InputError(f"A graph needs a whole number of nodes, got num_nodes={nodes!r}")
    if not nodes or nodes < 0:
        raise InputError("A graph needs at least one node, got none. Hint: drop graphs without nodes from the data set")
    return int(nodes)


def edge_weights(graph: Any, source: Tensor) -> Tensor:
    """``edge_weight`` where the graph has one, ones otherwise, (edges,)."""
    weight = getattr(graph, "edge_weight", None)
    if weight is not None and (not isinstance(weight, Tensor) or weight.is_complex()):
        what = "complex numbers" if isinstance(weight, Tensor) else repr(weight)
        raise InputError(f"edge_weight must be real numbers in a tensor, got {what}. Hint: edge_weight.real")
    weight = torch.ones(source.shape[0]) if weight is None else weight.detach().reshape(-1).cpu()
    if weight.shape != source.shape:
        raise ShapeError(f"edge_weight must have one entry for each of the {source.shape[0]} edges, got {len(weight)}")
    return weight


def edge_index_of(graph: Any) -> Tensor:
    """All edges of a graph, (2, edges), checked; none where it has no ``edge_index``."""
    return torch.stack(edges_of(graph.edge_index, node_count(graph)))


def edges_of(edge_index: Tensor | None, nodes: int) -> tuple[Tensor, Tensor]:
    """Sources and targets of all edges, checked."""
    if edge_index is not None and not isinstance(edge_index, Tensor):
        raise ShapeError(f"edge_index must be a tensor of shape (2, edges), got {type(edge_index).__name__}")
    if edge_index is None or edge_index.numel() == 0:
        empty = torch.zeros(0, dtype=torch.int64)
        return empty, empty
    if edge_index.dim() != 2 or edge_index.shape[0] != 2:
        raise ShapeError(f"edge_index must have shape (2, edges), got {tuple(edge_index.shape)}. Hint: edge_index.T")
    if edge_index.is_complex() or edge_index.dtype == torch.bool or not torch.equal(edge_index, edge_index.trunc()):
        raise InputError(
            f"edge_index must hold the numbers of nodes, got {edge_index.dtype} with values that are none. "
            "Hint: whole numbers, edge_index.long() where rounding towards zero is meant"
        )
    edges = edge_index.cpu().long()
    if int(edges.min()) < 0 or int(edges.max()) >= nodes:
        raise InputError(f"Edges must name nodes 0..{nodes - 1}, got {int(edges.min())}..{int(edges.max())}")
    return edges[0], edges[1]


def _dense(matrix: Any) -> Tensor:
    """A dense float64 matrix from a torch tensor, dense or sparse, or a scipy sparse matrix."""
    if not isinstance(matrix, Tensor) and hasattr(matrix, "toarray"):
        matrix = matrix.toarray()
    matrix = torch.as_tensor(matrix).detach().cpu()
    if matrix.is_complex():
        raise InputError("A shift operator must be real, got complex entries. Hint: operator.real where that is meant")
    return (matrix.to_dense() if matrix.layout != torch.strided else matrix).double()


def _checked_operator(matrix: Any, nodes: int) -> Tensor:
    matrix = _dense(matrix)
    if matrix.shape != (nodes, nodes):
        raise ShapeError(
            f"A shift operator of a graph with {nodes} nodes has shape ({nodes}, {nodes}), got {tuple(matrix.shape)}"
        )
    if not bool(matrix.isfinite().all()):
        raise InputError(
            "A shift operator must be finite, but it holds NaN or infinite entries. Hint: check edge_weight"
        )
    asymmetry, scale = float((matrix - matrix.T).abs().max()), float(matrix.abs().max())
    if asymmetry > 1e-9 * max(scale, 1.0):
        raise InputError(
            f"A shift operator must be symmetric, but entries differ from their transposes by up to {asymmetry:.3g}. "
            f"{MADE_SYMMETRIC}"
        )
    return (matrix + matrix.T) / 2
