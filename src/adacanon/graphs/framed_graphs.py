"""What A-NLSF behind a node encoder reads of graphs, computed once before training."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from adacanon.errors import ShapeError
from adacanon.graphs.band_frames import (
    BandFrames,
    band_frames,
    return_probabilities,
    return_probabilities_in_blocks,
    structural_signals,
)
from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficients import list_of_graphs
from adacanon.graphs.eigensolver_cost import DENSE_NODES
from adacanon.graphs.shift_operators import ShiftOperator, edge_index_of, node_count, shift_matrix
from adacanon.graphs.sparse_operators import sparse_shift


@dataclass(frozen=True)
class FramedGraphs:
    r"""Graphs one after the other, with fixed signals on their nodes and the frames of their bands.

    Attributes:
        signals: what the encoder reads of every node, (nodes, signals).
        edge_index: (2, edges), nodes counted over all graphs.
        graph: the graph of every node, (nodes,), in increasing order.
        basis: rows of the frames :math:`W_k`, (nodes, bands, width).
        sizes: dimensions of the bands, (graphs, bands).
        ranks: columns of the frames, (graphs, bands).
        edge_attr: what an encoder reads of every edge, (edges, columns), if anything.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> edge = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> graphs = framed_graphs([edge, edge, edge], dyadic(6))
        >>> len(graphs), len(graphs[torch.tensor([2, 0])]), len(graphs[:1])
        (3, 2, 1)
    """

    signals: Tensor
    edge_index: Tensor
    graph: Tensor
    basis: Tensor
    sizes: Tensor
    ranks: Tensor
    edge_attr: Tensor | None = None

    def __len__(self) -> int:
        return int(self.sizes.shape[0])

    def __getitem__(self, index: Tensor | slice) -> "FramedGraphs":
        """Some of the graphs, in the order of the index."""
        chosen = torch.arange(len(self), device=self.graph.device)[index].reshape(-1)
        nodes, edges = self._counts
        node, graph = _stretches(nodes, chosen)
        edge, owner = _stretches(edges, chosen)
        moved = _starts(nodes[chosen]) - _starts(nodes)[chosen]
        return FramedGraphs(
            self.signals[node],
            self.edge_index[:, edge] + moved[owner],
            graph,
            self.basis[node],
            self.sizes[chosen],
            self.ranks[chosen],
            None if self.edge_attr is None else self.edge_attr[edge],
        )

    @cached_property
    def _counts(self) -> tuple[Tensor, Tensor]:
        """Nodes and edges of every graph; counted once, because a batch of a large data set is small."""
        nodes = torch.bincount(self.graph, minlength=len(self))
        return nodes, torch.bincount(self.graph[self.edge_index[0]], minlength=len(self))

    def to(self, device: torch.device | str) -> "FramedGraphs":
        """The same graphs on another device."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self)}
        moved = {name: None if tensor is None else tensor.to(device) for name, tensor in tensors.items()}
        return FramedGraphs(**moved)  # type: ignore[arg-type]


def framed_graphs(
    graphs: Any,
    partition: Partition,
    *,
    operator: ShiftOperator = "normalized",
    frame_width: int = 4,
    walk_steps: int = 16,
    cache: bool = True,
) -> FramedGraphs:
    """Prepare torch-geometric ``Data`` objects, a ``Batch``, or a sequence of graphs.

    Args:
        graphs: with ``x`` (nodes, channels) and ``edge_index``, edges of a graph in both directions.
        partition: the bands.
        operator: "normalized", "laplacian", "adjacency", or a function from a graph to a symmetric matrix.
        frame_width: at most this many columns per band.
        walk_steps: return probabilities per node, see :func:`encoder_signals`.
        cache: keep the spectra of all graphs on disk, and of whole data sets the frames too.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> edge = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> prepared = framed_graphs([edge, edge], dyadic(6))
        >>> prepared.signals.shape, prepared.basis.shape
        (torch.Size([4, 29]), torch.Size([4, 6, 4]))
    """
    graphs = list_of_graphs(graphs)
    frames = band_frames(graphs, partition, operator=operator, width=frame_width, cache=cache)
    return framed_in(graphs, frames, walk_steps=walk_steps)


def framed_in(graphs: Sequence[Any], frames: BandFrames, *, walk_steps: int = 16) -> FramedGraphs:
    """Graphs whose frames are known, as :func:`framed_graphs` prepares them."""
    nodes = torch.tensor([int(graph.num_nodes) for graph in graphs])
    edges = [edge_index_of(graph) + first for graph, first in zip(graphs, _starts(nodes).tolist(), strict=True)]
    signals = [encoder_signals(graph, walk_steps) for graph in graphs]
    if len({part.shape[1] for part in signals}) > 1:
        raise ShapeError(f"All graphs need as many node features, got {sorted({g.x.shape[1] for g in graphs})}")
    return FramedGraphs(
        torch.cat(signals),
        torch.cat(edges, dim=1),
        torch.repeat_interleave(nodes),
        frames.basis,
        frames.sizes,
        frames.ranks,
    ).to(graphs[0].x.device)


def encoder_signals(graph: Any, walk_steps: int) -> Tensor:
    """What the encoder reads of every node of a graph: fixed functions of its surroundings, in which no eigenvector
    takes part. Features and degrees within two steps (:func:`structural_signals`), and the probabilities that a random
    walk is back after 1, ..., ``walk_steps`` steps.
    """
    features = graph.x.cpu().to(torch.get_default_dtype())
    walks = walk_probabilities(graph, walk_steps)
    return torch.cat([structural_signals(features, edge_index_of(graph)), walks.to(features)], dim=1)


def walk_probabilities(graph: Any, steps: int) -> Tensor:
    """That a random walk is back after 1, ..., ``steps`` steps, (nodes, steps), in memory linear in large graphs."""
    if node_count(graph) > DENSE_NODES:
        return return_probabilities_in_blocks(sparse_shift(graph), steps)
    return return_probabilities(shift_matrix(graph), steps)


def signal_count(channels: int, walk_steps: int) -> int:
    """Columns of :func:`encoder_signals` for graphs with this many node features."""
    return 5 * channels + 3 + walk_steps


def _starts(lengths: Tensor) -> Tensor:
    return lengths.cumsum(0) - lengths


def _stretches(lengths: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The places of the chosen stretches among all of them, and which of the chosen each place belongs to."""
    owner = torch.repeat_interleave(lengths[chosen])
    first = _starts(lengths)[chosen] - _starts(lengths[chosen])
    return torch.arange(len(owner), device=lengths.device) + first[owner], owner
