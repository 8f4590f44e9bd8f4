"""Methods bound to their data: what the training loop needs of each."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

GRAPHS_PER_PASS = 10

Inputs = Callable[[Tensor, bool], tuple[Any, ...]]
"""From the numbers of some samples, and whether they are trained on, to what the module is called with."""


OnOneGraph = Callable[[nn.Module, Tensor, Tensor, Tensor], Tensor]
"""From a module, node features, edge index and graph numbers of some copies of one graph to their scores."""


@dataclass(frozen=True)
class Classifier:
    """A module on inputs that are looked up by sample; trained with cross-entropy, or one-vs-rest."""

    module: nn.Module
    labels: Tensor
    inputs: Inputs
    criterion: Callable[[Tensor, Tensor], Tensor] = functional.cross_entropy

    def scores(self, index: Tensor) -> Tensor:
        return self.module(*self.inputs(index, self.module.training))

    def loss(self, index: Tensor) -> Tensor:
        return self.criterion(self.scores(index), self.labels[index])


def looked_up(samples: Any) -> Inputs:
    """Inputs that are rows of one indexable object."""
    return lambda index, training: (samples[index],)


def directly(module: nn.Module, x: Tensor, edge_index: Tensor, graph: Tensor) -> Tensor:
    """The call of a network that needs nothing else."""
    return module(x, edge_index, graph)


@dataclass(frozen=True)
class SharedGraphClassifier:
    """A graph network on signals over one and the same graph; trained with cross-entropy."""

    module: nn.Module
    signals: Tensor
    edge_index: Tensor
    labels: Tensor
    call: OnOneGraph = directly
    graphs_per_pass: int = GRAPHS_PER_PASS

    def scores(self, index: Tensor) -> Tensor:
        """A few graphs at a time: their messages then stay in the cache, which is several times faster."""
        return torch.cat([self._scores(rows) for rows in index.split(self.graphs_per_pass)])

    def criterion(self, scores: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(scores, targets)

    def loss(self, index: Tensor) -> Tensor:
        return self.criterion(self.scores(index), self.labels[index])

    def _scores(self, index: Tensor) -> Tensor:
        graphs, nodes, edges = len(index), self.signals.shape[1], self.edge_index.shape[1]
        edge_index, graph = self._copies
        x = self.signals[index].flatten(0, 1)
        return self.call(self.module, x, edge_index[:, : graphs * edges], graph[: graphs * nodes])

    @cached_property
    def _copies(self) -> tuple[Tensor, Tensor]:
        """The disjoint union of copies of the graph, and the copy that each node belongs to."""
        copies, nodes = torch.arange(self.graphs_per_pass), self.signals.shape[1]
        edges = self.edge_index.unsqueeze(1) + nodes * copies.unsqueeze(1)
        return edges.reshape(2, -1), copies.repeat_interleave(nodes)
