"""Methods bound to their data: what the training loop needs of each."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.baselines.graph_networks import GraphNetwork
from adacanon.core.canonicalized import Objective
from adacanon.graphs.coefficients import BandCoefficients

GRAPHS_PER_PASS = 10


@dataclass(frozen=True)
class CanonicalizedGraphs:
    """A-NLSF on coefficients that were computed once; trained one-vs-rest."""

    module: Objective
    coefficients: BandCoefficients
    labels: Tensor

    def loss(self, index: Tensor) -> Tensor:
        return self.module(self.coefficients[index], self.labels[index], index)

    def scores(self, index: Tensor) -> Tensor:
        return self.module.model(self.coefficients[index])


@dataclass(frozen=True)
class TensorClassifier:
    """A network on one tensor per sample; trained with cross-entropy."""

    module: nn.Module
    inputs: Tensor
    labels: Tensor

    def loss(self, index: Tensor) -> Tensor:
        return functional.cross_entropy(self.scores(index), self.labels[index])

    def scores(self, index: Tensor) -> Tensor:
        return self.module(self.inputs[index])


@dataclass(frozen=True)
class SharedGraphClassifier:
    """A graph network on signals over one and the same graph; trained with cross-entropy."""

    module: GraphNetwork
    signals: Tensor
    edge_index: Tensor
    labels: Tensor

    def loss(self, index: Tensor) -> Tensor:
        return functional.cross_entropy(self.scores(index), self.labels[index])

    def scores(self, index: Tensor) -> Tensor:
        """A few graphs at a time: their messages then stay in the cache, which is several times faster."""
        return torch.cat([self._scores(rows) for rows in index.split(GRAPHS_PER_PASS)])

    def _scores(self, index: Tensor) -> Tensor:
        graphs, nodes, edges = len(index), self.signals.shape[1], self.edge_index.shape[1]
        edge_index, graph = self._copies
        x = self.signals[index].flatten(0, 1)
        return self.module(x, edge_index[:, : graphs * edges], graph[: graphs * nodes])

    @cached_property
    def _copies(self) -> tuple[Tensor, Tensor]:
        """The disjoint union of copies of the graph, and the copy that each node belongs to."""
        copies, nodes = torch.arange(GRAPHS_PER_PASS), self.signals.shape[1]
        edges = self.edge_index.unsqueeze(1) + nodes * copies.unsqueeze(1)
        return edges.reshape(2, -1), copies.repeat_interleave(nodes)
