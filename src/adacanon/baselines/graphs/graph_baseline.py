"""Graph networks as their authors build them: the one place for message-passing baselines of new tables."""

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.graph_encoder import GraphEncoder
from adacanon.baselines.graphs.graph_networks import mean_over_graphs
from adacanon.errors import UnknownNameError

READOUTS = ("sum", "mean")
COMBINATIONS = ("last", "jumping")
AUTHORS = {"gin": ("sum", "jumping")}
"""Readout and combination of the authors of a kind, if other than the mean of the last layer."""


class GraphBaseline(nn.Module):
    r"""A :class:`GraphEncoder` and a readout: :math:`\mathrm{MLP}(\mathrm{pool}(x^{(L)}))` ("last"), or
    :math:`\sum_l W_l\,\mathrm{pool}(x^{(l)})` over all layers and the encoded input ("jumping", jumping knowledge).

    Batch normalisation, residuals, dropout, readout and edge features follow the authors of each kind:

    ===============  ==========================================================================================
    gcn              ReLU, residual, mean; edge features inside the messages as in OGB's examples
    gin              MLPs with batch normalisation, no residual, sums of all layers (Xu et al.); GINE with edges
    gat, sage        residual, mean
    chebnet          polynomials of order two, residual, mean
    gatedgcn         states on edges, normalised and residual as those of nodes; mean
    pna              four aggregators, three scalers, residual, mean
    gps              GINE beside attention between all nodes, feed-forward part, mean; "gps-gatedgcn" with GatedGCN
    ===============  ==========================================================================================

    Args:
        kind: "gcn", "gin", "gat", "chebnet", "sage", "gatedgcn", "pna", "gps" or "gps-gatedgcn".
        nodes: number of node features, or a module that encodes them, such as OGB's atom encoder.
        classes: outputs.
        edges: number of edge features, or a module that encodes them; None without edge features.
        width: of all layers.
        layers: of message passing.
        dropout: in every layer and before the outputs.
        layer_dropout: in every layer, if other than before the outputs; the authors of GIN have none there.
        readout: "sum" or "mean" over the nodes; that of the kind's authors if not given.
        combination: "last" or "jumping"; that of the kind's authors if not given.
        residual: add the input of a layer to its output; that of the kind's authors if not given.
        degrees: of the training graphs, for PNA alone, from :func:`degree_histogram`.

    Shape:
        x (nodes, ...), edge_index (2, edges), graph (nodes,), edge_attr (edges, ...) if built with edge features
        -> (graphs, classes)

    Example:
        >>> path, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> GraphBaseline("gin", 4, classes=2)(torch.ones(3, 4), path, graph).shape
        torch.Size([1, 2])
        >>> model = GraphBaseline("gps", nn.Embedding(28, 64), classes=10, edges=nn.Embedding(4, 64))
        >>> model(torch.tensor([5, 0, 7]), path, graph, torch.tensor([1, 1, 3, 3])).shape
        torch.Size([1, 10])
    """

    def __init__(
        self,
        kind: str,
        nodes: int | nn.Module,
        *,
        classes: int,
        edges: int | nn.Module | None = None,
        width: int = 64,
        layers: int = 4,
        dropout: float = 0.0,
        layer_dropout: float | None = None,
        readout: str | None = None,
        combination: str | None = None,
        residual: bool | None = None,
        degrees: Tensor | None = None,
    ) -> None:
        super().__init__()
        own_readout, own_combination = AUTHORS.get(kind, ("mean", "last"))
        self.readout = _one_of(READOUTS, readout or own_readout)
        combination = _one_of(COMBINATIONS, combination or own_combination)
        self.encoder = GraphEncoder(
            kind,
            nodes,
            edges=edges,
            width=width,
            layers=layers,
            dropout=dropout if layer_dropout is None else layer_dropout,
            residual=residual,
            degrees=degrees,
        )
        self.head = (
            JumpingHead(width, classes, stages=layers + 1, dropout=dropout)
            if combination == "jumping"
            else LastHead(width, classes, dropout=dropout)
        )

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        stages = self.encoder.stages(x, edge_index, graph, edge_attr)
        pool = sum_over_graphs if self.readout == "sum" else mean_over_graphs
        return self.head([pool(stage, graph) for stage in stages])


class LastHead(nn.Module):
    """An MLP on the last of several stages, each (graphs, width)."""

    def __init__(self, width: int, classes: int, *, dropout: float) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(width, classes))

    def forward(self, stages: list[Tensor]) -> Tensor:
        return self.mlp(stages[-1])


class JumpingHead(nn.Module):
    """The sum of linear maps of all stages, each (graphs, width)."""

    def __init__(self, width: int, classes: int, *, stages: int, dropout: float) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(width, classes) for _ in range(stages))
        self.dropout = nn.Dropout(dropout)

    def forward(self, stages: list[Tensor]) -> Tensor:
        parts = [linear(self.dropout(stage)) for linear, stage in zip(self.linears, stages, strict=True)]
        return torch.stack(parts).sum(0)


def sum_over_graphs(x: Tensor, graph: Tensor) -> Tensor:
    """The sum of the node features of each graph; ``graph`` names the graph of every node, in order."""
    return x.new_zeros(int(graph[-1]) + 1, x.shape[1]).index_add(0, graph, x)


def _one_of(names: tuple[str, ...], name: str) -> str:
    if name not in names:
        raise UnknownNameError(f"Expected one of {', '.join(names)}; got {name!r}")
    return name
