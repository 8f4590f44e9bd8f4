"""Message passing with normalisation, residuals and edge features: from graphs to features of their nodes."""

from collections.abc import Callable

from torch import Tensor, nn

from adacanon.baselines.graphs.convolutions import GAT, GCN, GIN, PNA, SAGE, BatchNorm, Chebyshev
from adacanon.baselines.graphs.dropout import Dropout
from adacanon.baselines.graphs.edges import Edges
from adacanon.baselines.graphs.gated_layer import GatedLayer
from adacanon.baselines.graphs.gps_layer import GPSLayer
from adacanon.errors import InputError, ShapeError, UnknownNameError

CONVOLUTIONS = ("gcn", "gin", "gat", "chebnet", "sage", "gatedgcn", "pna", "gps", "gps-gatedgcn")
WITHOUT_EDGE_FEATURES = ("chebnet", "sage")
WITHOUT_RESIDUAL = ("gin",)
"""Its authors read all layers out instead (jumping knowledge)."""


class NormalisedLayer(nn.Module):
    r""":math:`x \mapsto x + \mathrm{dropout}(\mathrm{ReLU}(\mathrm{BN}(\mathrm{conv}(x, e))))`, without the first x if
    ``residual`` is False; edge features stay.
    """

    def __init__(self, convolution: nn.Module, width: int, *, dropout: float, residual: bool) -> None:
        super().__init__()
        self.convolution, self.norm, self.dropout = convolution, BatchNorm(width), Dropout(dropout)
        self.residual = residual

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> tuple[Tensor, Tensor | None]:
        found = self.dropout(self.norm(self.convolution(x, features, edges)).relu())
        return x + found if self.residual else found, features


class GraphEncoder(nn.Module):
    r"""Node features :math:`x^{(0)} = \mathrm{enc}(x)`, :math:`(x^{(l+1)}, e^{(l+1)}) = \mathrm{layer}_l(x^{(l)},
    e^{(l)})`, with batch normalisation and dropout in every layer, and residuals unless a kind's authors have none.

    Args:
        kind: one of ``CONVOLUTIONS``.
        nodes: encoder of node features, a module from x to (nodes, width); or their number, for a linear map.
        edges: encoder of edge features, a module from ``edge_attr`` to (edges, width); or their number; or None where
            edges have no features.
        width: of all layers.
        layers: how many.
        dropout: share of units dropped in every layer.
        residual: add the input of a layer to its output; by default for all kinds but GIN.
        degrees: of the training graphs, for PNA alone, from ``degree_histogram``.

    Shape:
        x (nodes, ...), edge_index (2, edges), graph (nodes,), edge_attr (edges, ...) -> (nodes, width)

    Example:
        >>> import torch
        >>> path, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> encoder = GraphEncoder("gatedgcn", nn.Embedding(28, 16), edges=nn.Embedding(4, 16), width=16)
        >>> encoder(torch.tensor([5, 0, 7]), path, graph, torch.tensor([1, 1, 3, 3])).shape
        torch.Size([3, 16])
    """

    def __init__(
        self,
        kind: str,
        nodes: int | nn.Module,
        *,
        edges: int | nn.Module | None = None,
        width: int = 64,
        layers: int = 4,
        dropout: float = 0.0,
        residual: bool | None = None,
        degrees: Tensor | None = None,
    ) -> None:
        super().__init__()
        _check(kind, edges, degrees)
        self.width = width
        self.node_encoder = _encoder(nodes, width)
        self.edge_encoder = None if edges is None else _encoder(edges, width)
        residual = kind not in WITHOUT_RESIDUAL if residual is None else residual
        build = _factory(kind, width, edges is not None, dropout, residual, degrees)
        self.layers = nn.ModuleList(build(edges is not None or i > 0, i < layers - 1) for i in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return self.stages(x, edge_index, graph, edge_attr)[-1]

    def stages(self, x: Tensor, edge_index: Tensor, graph: Tensor, edge_attr: Tensor | None = None) -> list[Tensor]:
        """The encoded node features and those after every layer, each (nodes, width)."""
        features = self._edge_features(edge_index, edge_attr)
        found = [self.node_encoder(x)]
        if found[0].shape != (len(graph), self.width):
            raise ShapeError(
                f"The node encoder must give features of shape ({len(graph)}, {self.width}), got "
                f"{tuple(found[0].shape)}. Hint: as many rows as `graph`, and the width of the network"
            )
        edges = Edges(edge_index, graph, found[0].dtype)
        for layer in self.layers:
            x, features = layer(found[-1], features, edges)
            found.append(x)
        return found

    def _edge_features(self, edge_index: Tensor, edge_attr: Tensor | None) -> Tensor | None:
        if (edge_attr is None) != (self.edge_encoder is None):
            built, came = ("without", "came") if self.edge_encoder is None else ("with", "are missing")
            raise InputError(
                f"The network was built {built} edge features, and edge features {came}. Hint: `edges` of the "
                "constructor is their number or their encoder, and edge_attr the last argument of the call"
            )
        if self.edge_encoder is None or edge_attr is None:
            return None
        features: Tensor = self.edge_encoder(edge_attr)
        if features.shape != (edge_index.shape[1], self.width):
            raise ShapeError(
                f"The edge encoder must give features of shape ({edge_index.shape[1]}, {self.width}), one row per "
                f"edge, got {tuple(features.shape)}. Hint: edge_attr needs a row for every column of edge_index"
            )
        return features


def _check(kind: str, edges: int | nn.Module | None, degrees: Tensor | None) -> None:
    if kind not in CONVOLUTIONS:
        raise UnknownNameError(f"Graph convolutions are {', '.join(CONVOLUTIONS)}; got {kind!r}")
    if edges is not None and kind in WITHOUT_EDGE_FEATURES:
        raise InputError(f"{kind!r} has no place for edge features. Hint: leave `edges` out, or choose another kind")
    if (kind == "pna") != (degrees is not None):
        raise InputError("`degrees` is for PNA and PNA needs it. Hint: degrees=degree_histogram(training graphs)")


def _encoder(given: int | nn.Module, width: int) -> nn.Module:
    return nn.Linear(given, width) if isinstance(given, int) else given


def _factory(
    kind: str, width: int, edge_features: bool, dropout: float, residual: bool, degrees: Tensor | None
) -> Callable[[bool, bool], nn.Module]:
    """Builds a layer that reads features of edges or has none, and writes them for the next layer or is the last."""
    if kind == "gatedgcn":
        return lambda reads, writes: GatedLayer(width, dropout=dropout, reads=reads, writes=writes)
    if kind == "gps-gatedgcn":
        return lambda reads, writes: GPSLayer(
            width, GatedLayer(width, dropout=dropout, reads=reads, writes=writes), dropout=dropout
        )
    if kind == "gps":
        return lambda reads, writes: GPSLayer(width, GIN(width), dropout=dropout)
    convolutions: dict[str, Callable[[], nn.Module]] = {
        "gcn": lambda: GCN(width, edge_features=edge_features),
        "gin": lambda: GIN(width),
        "gat": lambda: GAT(width, edge_features=edge_features),
        "chebnet": lambda: Chebyshev(width),
        "sage": lambda: SAGE(width),
        "pna": lambda: PNA(width, _known(degrees), edge_features=edge_features),
    }
    return lambda reads, writes: NormalisedLayer(convolutions[kind](), width, dropout=dropout, residual=residual)


def _known(degrees: Tensor | None) -> Tensor:
    assert degrees is not None
    return degrees
