"""The baseline that sees no edges (Errica et al., "A Fair Comparison of Graph Neural Networks", ICLR 2020)."""

from torch import Tensor, nn

from adacanon.baselines.graphs.graph_baseline import sum_over_graphs


class StructureAgnostic(nn.Module):
    r"""An MLP on the sum of node features: :math:`\mathrm{MLP}\bigl(\sum_i \phi(x_i)\bigr)`, with
    :math:`\phi(x) = x` for molecules, and one layer with a ReLU for proteins.

    Args:
        channels: node features.
        classes: outputs.
        width: of the hidden layers.
        node_layer: whether :math:`\phi` is a layer.
        dropout: before the outputs.

    Shape:
        x (nodes, channels), edge_index (2, edges), unread, graph (nodes,) -> (graphs, classes)

    Example:
        >>> import torch
        >>> graph = torch.zeros(3, dtype=torch.int64)
        >>> StructureAgnostic(4, classes=2)(torch.ones(3, 4), torch.zeros(2, 0).long(), graph).shape
        torch.Size([1, 2])
    """

    def __init__(
        self, channels: int, *, classes: int, width: int = 64, node_layer: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.nodes = nn.Sequential(nn.Linear(channels, width), nn.ReLU()) if node_layer else nn.Identity()
        self.head = nn.Sequential(
            nn.Linear(width if node_layer else channels, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, classes),
        )

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor) -> Tensor:
        return self.head(sum_over_graphs(self.nodes(x), graph))
