"""A graph network on signals over one and the same graph."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

GRAPHS_PER_PASS = 10

OnOneGraph = Callable[[nn.Module, Tensor, Tensor, Tensor], Tensor]
"""From a network, node features, edge index and graph numbers of some copies of one graph to their scores."""


def directly(network: nn.Module, x: Tensor, edge_index: Tensor, graph: Tensor) -> Tensor:
    """The call of a network that needs nothing else."""
    return network(x, edge_index, graph)


class OnSharedGraph(nn.Module):
    """A graph network, called with signals (batch, nodes, channels) over one graph.

    Args:
        network: from node features, edge index and graph numbers to scores.
        edge_index: of the graph, (2, edges).
        call: how the network is called, if it needs more.
        graphs_per_pass: a few graphs at a time: their messages then stay in the cache, which is several times faster.
    """

    def __init__(
        self,
        network: nn.Module,
        edge_index: Tensor,
        call: OnOneGraph = directly,
        *,
        graphs_per_pass: int = GRAPHS_PER_PASS,
    ) -> None:
        super().__init__()
        self.network, self.edge_index, self.call, self.graphs_per_pass = network, edge_index, call, graphs_per_pass
        self._copied: tuple[Tensor, Tensor] | None = None

    def called(self, call: OnOneGraph) -> "OnSharedGraph":
        """The same network, called in another way."""
        return OnSharedGraph(self.network, self.edge_index, call, graphs_per_pass=self.graphs_per_pass)

    def forward(self, signals: Tensor) -> Tensor:
        return torch.cat([self._scores(part) for part in signals.split(self.graphs_per_pass)])

    def _scores(self, signals: Tensor) -> Tensor:
        graphs, nodes, _ = signals.shape
        edge_index, graph = self._copies(nodes)
        edges = graphs * self.edge_index.shape[1]
        return self.call(self.network, signals.flatten(0, 1), edge_index[:, :edges], graph[: graphs * nodes])

    def _copies(self, nodes: int) -> tuple[Tensor, Tensor]:
        """The disjoint union of copies of the graph, and the copy that each node belongs to; made once."""
        if self._copied is None:
            copies = torch.arange(self.graphs_per_pass)
            edges = self.edge_index.unsqueeze(1) + nodes * copies.unsqueeze(1)
            self._copied = edges.reshape(2, -1), copies.repeat_interleave(nodes)
        return self._copied
