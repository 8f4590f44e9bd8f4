"""Data sets of many small graphs with labels, kept in flat tensors: all nodes in one, all edges in another."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from adacanon.data.graph_batches import stretches
from adacanon.errors import InputError, ShapeError
from adacanon.extras import optional


class GraphBatch(NamedTuple):
    """Some graphs as one.

    Attributes:
        x: (nodes, columns).
        edge_index: (2, edges), every edge in both directions.
        edge_attr: (edges, columns).
        graph: the place of each node's graph in the batch, (nodes,), in increasing order.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor
    graph: Tensor


class Parts(NamedTuple):
    """Graph numbers of the official split."""

    train: Tensor
    validation: Tensor
    test: Tensor


@dataclass(frozen=True)
class Statistics:
    """What a data set of graphs holds; nodes and edges are those of a graph on average, every edge counted once."""

    train: int
    validation: int
    test: int
    nodes: float
    edges: float
    outputs: int


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """Undirected graphs with features of nodes and edges, labels, and the official split.

    Attributes:
        name: of the data set.
        x: node features, (nodes, columns): categories in whole numbers, or real numbers.
        edges: (2, edges), each once, nodes counted within their own graph.
        edge_attr: edge features, (edges, columns).
        first_node: where the nodes of each graph begin, and where the last ones end, (graphs + 1,).
        first_edge: the same for the edges.
        labels: classes (graphs,) in whole numbers; or (graphs, tasks) of zeros and ones, NaN where one is missing.
        parts: the official split.
        node_categories: how many categories every column of ``x`` has; empty if they are real numbers.
        edge_categories: the same for ``edge_attr``.
        outputs: of a network: classes, or tasks.

    Example:
        >>> data = LabelledGraphs(
        ...     "two", torch.tensor([[3], [1], [2]]), torch.tensor([[0], [1]]), torch.tensor([[4]]),
        ...     torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), torch.tensor([1, 0]),
        ...     Parts(torch.tensor([0]), torch.tensor([1]), torch.tensor([1])), (4,), (5,), 2,
        ... )
        >>> x, edge_index, edge_attr, graph = data.batch(torch.tensor([1, 0]))
        >>> x.flatten().tolist(), edge_index.tolist(), edge_attr.flatten().tolist(), graph.tolist()
        ([2, 3, 1], [[1, 2], [2, 1]], [4, 4], [0, 1, 1])
        >>> data.graphs(torch.tensor([0]))
        [Data(x=[2, 1], edge_index=[2, 2], edge_attr=[2, 1], y=[1])]
    """

    name: str
    x: Tensor
    edges: Tensor
    edge_attr: Tensor
    first_node: Tensor
    first_edge: Tensor
    labels: Tensor
    parts: Parts
    node_categories: tuple[int, ...]
    edge_categories: tuple[int, ...]
    outputs: int

    def __len__(self) -> int:
        return len(self.first_node) - 1

    def batch(self, index: Tensor) -> GraphBatch:
        """The chosen graphs, in the order of the index, as one graph; every edge in both directions."""
        index = self._checked(index)
        node, graph, first = stretches(self.first_node, index)
        edge, owner, _ = stretches(self.first_edge, index)
        once = self.edges.index_select(1, edge).long() + first.index_select(0, owner)
        features = self.edge_attr.index_select(0, edge)
        both = torch.cat([once, once.flip(0)], dim=1)
        return GraphBatch(self.x.index_select(0, node), both, torch.cat([features, features]), graph)

    def nodes(self, index: Tensor) -> Tensor:
        """Where the nodes of the chosen graphs stand in tensors with one row per node of the data set."""
        return stretches(self.first_node, self._checked(index))[0]

    def graphs(self, index: Tensor) -> list[Any]:
        """The chosen graphs as torch-geometric ``Data`` objects, with categories in int64 and ``y`` of one row."""
        with optional("Graphs as torch-geometric Data"):
            from torch_geometric.data import Data

        return [self._data(Data, number) for number in index.reshape(-1, 1)]

    def only(self, parts: Parts) -> "LabelledGraphs":
        """The graphs of these parts alone, numbered anew; a graph may come more than once."""
        index = torch.cat(parts)
        node, _, _ = stretches(self.first_node, self._checked(index))
        edge, _, _ = stretches(self.first_edge, index)
        numbers = torch.arange(len(index)).split([len(part) for part in parts])
        return replace(
            self,
            x=self.x.index_select(0, node),
            edges=self.edges.index_select(1, edge),
            edge_attr=self.edge_attr.index_select(0, edge),
            first_node=starts(self.first_node.diff()[index].numpy()),
            first_edge=starts(self.first_edge.diff()[index].numpy()),
            labels=self.labels[index],
            parts=Parts(*numbers),
        )

    def _data(self, make: Any, number: Tensor) -> Any:
        x, edge_index, edge_attr, _ = self.batch(number)
        return make(
            x=x.long() if self.node_categories else x.float(),
            edge_index=edge_index,
            edge_attr=edge_attr.long() if self.edge_categories else edge_attr.float(),
            y=self.labels[number],
        )

    def _checked(self, index: Tensor) -> Tensor:
        if index.dim() != 1 or index.dtype != torch.int64 or len(index) == 0:
            raise ShapeError(
                f"Graphs of {self.name} are chosen by numbers of shape (graphs,) and type int64, one at least, got "
                f"{tuple(index.shape)} of {index.dtype}. Hint: mask.nonzero().flatten() turns a mask into numbers"
            )
        if int(index.min()) < 0 or int(index.max()) >= len(self):
            raise InputError(f"{self.name} has graphs 0..{len(self) - 1}, got {int(index.min())}..{int(index.max())}")
        return index


def starts(lengths: np.ndarray) -> Tensor:
    """Where stretches of these lengths begin, and where the last one ends, (stretches + 1,)."""
    return torch.from_numpy(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
