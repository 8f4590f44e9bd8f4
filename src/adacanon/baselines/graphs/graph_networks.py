"""Message-passing baselines from torch-geometric's layers, with one readout for all of them."""

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from adacanon.errors import UnknownNameError
from adacanon.extras import optional

KINDS = ("mlp", "gcn", "gat", "gin", "chebnet")


class GraphNetwork(nn.Module):
    r"""Node layers :math:`x \mapsto \mathrm{ReLU}(\mathrm{conv}(x))`, the mean over each graph's nodes, and an MLP.

    Bare layers without normalisation: the rows of the table ``tu``. For anything new, take
    :class:`~adacanon.baselines.graphs.graph_baseline.GraphBaseline`.

    Args:
        kind: one of ``KINDS``; "mlp" has no messages.
        channels: node features.
        classes: outputs.
        hidden: width of all layers.
        layers: node layers.

    Shape:
        x (nodes, channels), edge_index (2, edges), graph (nodes,) -> (graphs, classes)

    Example:
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> GraphNetwork("gin", 4, classes=2)(torch.ones(3, 4), edges, graph).shape
        torch.Size([1, 2])
    """

    def __init__(self, kind: str, channels: int, *, classes: int, hidden: int = 64, layers: int = 3) -> None:
        super().__init__()
        if kind not in KINDS:
            raise UnknownNameError(f"Graph networks are {', '.join(KINDS)}; got {kind!r}")
        layer = _layer_factory(kind)
        widths = [channels, *[hidden] * layers]
        self.layers = nn.ModuleList(layer(a, b) for a, b in pairwise(widths))
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor) -> Tensor:
        shared = getattr(next(iter(self.layers), None), "messages", None)
        edges = shared(x, edge_index) if shared else edge_index
        for layer in self.layers:
            x = (layer(x) if isinstance(layer, nn.Linear) else layer(x, edges)).relu()
        return self.head(mean_over_graphs(x, graph))


def mean_over_graphs(x: Tensor, graph: Tensor) -> Tensor:
    """The mean of the node features of each graph; ``graph`` names the graph of every node, in order."""
    graphs = int(graph[-1]) + 1
    total = x.new_zeros(graphs, x.shape[1]).index_add(0, graph, x)
    return total / torch.bincount(graph, minlength=graphs).unsqueeze(1)


def _layer_factory(kind: str) -> Callable[[int, int], nn.Module]:
    with optional("A graph network"):
        from torch_geometric.nn import GATConv, GINConv

    from adacanon.baselines.graphs.product_layers import ProductCheb, ProductGCN

    def gin(a: int, b: int) -> nn.Module:
        return GINConv(nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, b)), train_eps=True)

    return {
        "mlp": nn.Linear,
        "gcn": ProductGCN,
        "gat": lambda a, b: GATConv(a, b // 4, heads=4),
        "gin": gin,
        "chebnet": lambda a, b: ProductCheb(a, b, K=3),
    }[kind]
