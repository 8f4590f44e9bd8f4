"""The edges of a batch of graphs, with everything that several layers share."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from adacanon.baselines.graphs.sparse_messages import Messages


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from ``source`` to ``target`` in a batch of graphs; what is derived from them is computed once.

    Attributes:
        index: (2, edges), nodes counted over all graphs.
        graph: the graph of every node, (nodes,), in increasing order.
        dtype: of the node features.

    Example:
        >>> edges = Edges(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64))
        >>> edges.summed(torch.tensor([[1.0], [10.0], [20.0], [3.0]])).flatten().tolist()
        [10.0, 4.0, 20.0]
    """

    index: Tensor
    graph: Tensor
    dtype: torch.dtype = torch.float32

    @property
    def nodes(self) -> int:
        """Of all graphs."""
        return len(self.graph)

    @property
    def source(self) -> Tensor:
        """Where each edge begins, (edges,)."""
        return self.index[0]

    @property
    def target(self) -> Tensor:
        """Where each edge ends, (edges,)."""
        return self.index[1]

    @cached_property
    def degree(self) -> Tensor:
        """Incoming edges of every node, (nodes,) of whole numbers."""
        return torch.bincount(self.target, minlength=self.nodes)

    def summed(self, values: Tensor) -> Tensor:
        """The sum over the incoming edges of every node, (edges, channels) -> (nodes, channels)."""
        return values.new_zeros(self.nodes, values.shape[1]).index_add(0, self.target, values)

    def extreme(self, values: Tensor, which: str) -> Tensor:
        """The largest ("amax") or smallest ("amin") value over the incoming edges, zero where there are none."""
        place = self.target.unsqueeze(1).expand_as(values)
        zeros = values.new_zeros(self.nodes, values.shape[1])
        return zeros.scatter_reduce(0, place, values, reduce=which, include_self=False)

    def neighbour_sums(self, x: Tensor) -> Tensor:
        r""":math:`\sum_{j \to i} x_j`, (nodes, channels) -> (nodes, channels)."""
        return self._unweighted(x)

    @cached_property
    def _unweighted(self) -> Messages:
        ones = torch.ones(self.index.shape[1], dtype=self.dtype, device=self.index.device)
        return Messages.along(self.index, ones, nodes=self.nodes)
