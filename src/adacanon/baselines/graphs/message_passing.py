"""Gated graph networks and principal neighbourhood aggregation, with the readout of ``graph_networks``."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.graph_networks import mean_over_graphs
from adacanon.errors import InputError, ShapeError
from adacanon.extras import optional

AGGREGATORS = ("mean", "min", "max", "std")
SCALERS = ("identity", "amplification", "attenuation")


class ResidualGraphNetwork(nn.Module):
    r"""A linear embedding, layers :math:`x \mapsto x + \mathrm{ReLU}(\mathrm{conv}(x))`, the mean over each graph's
    nodes, and an MLP.

    Without normalisation: rows of the table ``tu``. For anything new, take
    :class:`~adacanon.baselines.graphs.graph_baseline.GraphBaseline`.

    Args:
        channels: node features.
        convolutions: graph layers from ``hidden`` to ``hidden`` features, called with (x, edge_index).
        classes: outputs.
        hidden: width of all layers.

    Shape:
        x (nodes, channels), edge_index (2, edges), graph (nodes,) -> (graphs, classes)

    Example:
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> network = gated_gcn(4, classes=2)
        >>> type(network).__name__, network(torch.ones(3, 4), edges, graph).shape
        ('ResidualGraphNetwork', torch.Size([1, 2]))
    """

    def __init__(self, channels: int, convolutions: Sequence[nn.Module], *, classes: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Linear(channels, hidden)
        self.layers = nn.ModuleList(convolutions)
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor) -> Tensor:
        x = self.embedding(x)
        for layer in self.layers:
            x = x + layer(x, edge_index).relu()
        return self.head(mean_over_graphs(x, graph))


def gated_gcn(channels: int, *, classes: int, hidden: int = 64, layers: int = 3) -> ResidualGraphNetwork:
    r"""GatedGCN: :math:`\mathrm{conv}(x)_i = W_1 x_i + \sum_{j \to i} \sigma(W_3 x_i + W_4 x_j) \odot W_2 x_j`.

    Without the batch normalization and the edge features of later variants.

    Example:
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> gated_gcn(4, classes=2)(torch.ones(3, 4), edges, graph).shape
        torch.Size([1, 2])

    Reference:
        Bresson & Laurent, "Residual Gated Graph ConvNets", 2017.
    """
    with optional("GatedGCN"):
        from torch_geometric.nn import ResGatedGraphConv

    convolutions = [ResGatedGraphConv(hidden, hidden) for _ in range(layers)]
    return ResidualGraphNetwork(channels, convolutions, classes=classes, hidden=hidden)


def pna(channels: int, degrees: Tensor, *, classes: int, hidden: int = 64, layers: int = 3) -> ResidualGraphNetwork:
    r"""PNA: :math:`\mathrm{conv}(x)_i = U\bigl(x_i,\, (1, s(d_i), s(d_i)^{-1}) \otimes
    (\mathrm{mean}, \mathrm{min}, \mathrm{max}, \mathrm{std})_{j \to i}\, M(x_i, x_j)\bigr)`, with
    :math:`s(d) = \log(d + 1) / \delta` and the mean :math:`\delta` of :math:`\log(d + 1)` over the training graphs.

    Without batch normalization, several towers and edge features.

    Args:
        channels: node features.
        degrees: how many nodes of the training graphs have 0, 1, 2, ... incoming edges, from ``degree_histogram``.
        classes: outputs.
        hidden: width of all layers.
        layers: graph layers.

    Example:
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> pna(4, degree_histogram([(edges, 3)]), classes=2)(torch.ones(3, 4), edges, graph).shape
        torch.Size([1, 2])

    Reference:
        Corso et al., "Principal Neighbourhood Aggregation for Graph Nets", NeurIPS 2020.
    """
    with optional("PNA"):
        from torch_geometric.nn import PNAConv

    if degrees.dim() != 1:
        raise ShapeError(f"A degree histogram has shape (degrees,), got {tuple(degrees.shape)}")
    if not bool((degrees[1:] > 0).any()):
        raise InputError("PNA divides by the mean logarithmic degree, but no node of the histogram has a neighbour")
    convolutions = [PNAConv(hidden, hidden, list(AGGREGATORS), list(SCALERS), degrees) for _ in range(layers)]
    return ResidualGraphNetwork(channels, convolutions, classes=classes, hidden=hidden)


def degree_histogram(graphs: Iterable[tuple[Tensor, int]]) -> Tensor:
    """How many nodes have 0, 1, 2, ... incoming edges, over graphs given by ``edge_index`` and number of nodes.

    Example:
        >>> degree_histogram([(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 3), (torch.zeros(2, 0).long(), 1)])
        tensor([1, 2, 1])
    """
    degrees = [torch.bincount(edge_index[1], minlength=nodes) for edge_index, nodes in graphs]
    if not degrees:
        raise InputError("A degree histogram needs one graph at least, got none")
    return torch.bincount(torch.cat(degrees))
