"""Methods bound to their data: what the training loop needs of each."""

from dataclasses import dataclass
from functools import lru_cache

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
        x = self.signals[index]
        edges, graph = _copies(self.edge_index, x.shape[0], x.shape[1])
        return self.module(x.flatten(0, 1), edges, graph)


@lru_cache(maxsize=4)
def _copies(edge_index: Tensor, graphs: int, nodes: int) -> tuple[Tensor, Tensor]:
    """The disjoint union of copies of one graph, and the copy that each node belongs to."""
    offset = nodes * torch.arange(graphs)
    edges = edge_index.unsqueeze(1) + offset.unsqueeze(1)
    return edges.reshape(2, -1), torch.arange(graphs).repeat_interleave(nodes)
