"""Batches of graphs cut out of flat tensors: all nodes in one, all edges in another, no loop over graphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.errors import InputError, ShapeError
from adacanon.notices import warn_of_unread_features


@dataclass(frozen=True)
class GraphBatches:
    """The graphs of a data set one after the other, of which any choice is one batch.

    Attributes:
        x: node features, (nodes, channels).
        edge_index: (2, edges), nodes counted within their own graph.
        first_node: where the nodes of each graph begin, and where the last ones end, (graphs + 1,).
        first_edge: the same for the edges, (graphs + 1,).

    Example:
        >>> from torch_geometric.data import Data
        >>> pair = Data(x=torch.tensor([[1.0], [2.0]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> single = Data(x=torch.tensor([[3.0]]), edge_index=torch.zeros(2, 0, dtype=torch.int64))
        >>> x, edge_index, graph = GraphBatches.of([pair, single]).batch(torch.tensor([1, 0]))
        >>> x.flatten().tolist(), edge_index.tolist(), graph.tolist()
        ([3.0, 1.0, 2.0], [[1, 2], [2, 1]], [0, 1, 1])
    """

    x: Tensor
    edge_index: Tensor
    first_node: Tensor
    first_edge: Tensor

    @classmethod
    def of(cls, graphs: Sequence[Any]) -> "GraphBatches":
        """From torch-geometric ``Data`` objects with ``x`` (nodes, channels) and ``edge_index``; what else they have is
        left out, with a warning if it is features of edges.
        """
        if len(graphs) == 0:
            raise InputError("Batches need at least one graph, got none")
        features, edges = [graph.x for graph in graphs], [graph.edge_index for graph in graphs]
        shapes = {None if x is None else x.shape[1:] for x in features}
        if len(shapes) != 1 or None in shapes:
            raise ShapeError("All graphs need node features x with the same number of channels")
        warn_of_unread_features(graphs)
        nodes, ends = [x.shape[0] for x in features], [pair.shape[1] for pair in edges]
        return cls(torch.cat(features), torch.cat(edges, dim=1), _starts(nodes), _starts(ends))

    def __len__(self) -> int:
        return len(self.first_node) - 1

    def to(self, device: torch.device | str) -> "GraphBatches":
        """The same graphs on another device."""
        tensors = (self.x, self.edge_index, self.first_node, self.first_edge)
        return GraphBatches(*(tensor.to(device) for tensor in tensors))

    def batch(self, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The chosen graphs, in the order of the index, as one graph.

        Shape:
            index (graphs,) -> x (nodes, channels), edge_index (2, edges), graph (nodes,) with the place of each
            node's graph in the index
        """
        index = self._checked(index)
        node, graph, first_node = stretches(self.first_node, index)
        edge, owner, _ = stretches(self.first_edge, index)
        edges = self.edge_index.index_select(1, edge) + first_node.index_select(0, owner)
        return self.x.index_select(0, node), edges, graph

    def nodes(self, index: Tensor) -> Tensor:
        """Where the nodes of the chosen graphs stand in tensors with one row per node of the data set."""
        return stretches(self.first_node, self._checked(index))[0]

    def _checked(self, index: Tensor) -> Tensor:
        if index.dim() != 1 or index.dtype != torch.int64 or len(index) == 0:
            raise ShapeError(
                f"A batch is chosen by graph numbers of shape (graphs,) and type int64, one at least, got "
                f"{tuple(index.shape)} of {index.dtype}. Hint: mask.nonzero().flatten() turns a mask into numbers"
            )
        if int(index.min()) < 0 or int(index.max()) >= len(self):
            raise InputError(
                f"Graph numbers must lie in 0..{len(self) - 1}, got {int(index.min())}..{int(index.max())}"
            )
        return index.to(self.x.device)


def _starts(lengths: list[int]) -> Tensor:
    return torch.tensor([0, *lengths]).cumsum(0)


def stretches(first: Tensor, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The places first[i] .. first[i + 1] - 1 for all i of the index, whose they are, and where each begins anew."""
    begin = first[index]
    length = first[index + 1] - begin
    anew = length.cumsum(0) - length
    owner = torch.repeat_interleave(length)
    place = torch.arange(len(owner), device=first.device) + (begin - anew).index_select(0, owner)
    return place, owner, anew
