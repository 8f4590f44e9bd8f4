"""The layer of GPS: message passing and attention between all nodes of a graph, side by side."""

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.convolutions import GIN, BatchNorm
from adacanon.baselines.graphs.dropout import Dropout
from adacanon.baselines.graphs.edges import Edges
from adacanon.baselines.graphs.gated_layer import GatedLayer
from adacanon.errors import InputError


class GPSLayer(nn.Module):
    r""":math:`z = \mathrm{local}(x, e) + \mathrm{BN}(x + \mathrm{attention}(x))`,
    :math:`\;y = \mathrm{BN}(z + \mathrm{MLP}(z))`.

    The local part is :math:`\mathrm{BN}(x + \mathrm{GINE}(x, e))`, or a GatedGCN layer with its own normalisation and
    residual, followed by BN. Dropout stands where torch-geometric's ``GPSConv`` has it.

    Args:
        width: of nodes and edges, a multiple of ``heads``.
        local: a :class:`GIN` or a :class:`GatedLayer` of this width.
        dropout: on the outputs of both parts and in the MLP.
        attention_dropout: on the attention weights.

    Reference:
        Rampášek et al., "Recipe for a General, Powerful, Scalable Graph Transformer", NeurIPS 2022.
    """

    def __init__(
        self,
        width: int,
        local: GIN | GatedLayer,
        *,
        heads: int = 4,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if width % heads:
            raise InputError(f"The width of GPS is a multiple of its {heads} heads, got {width}")
        self.local = local
        self.attention = nn.MultiheadAttention(width, heads, dropout=attention_dropout, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width),
            nn.ReLU(),
            Dropout(dropout),
            nn.Linear(2 * width, width),
            Dropout(dropout),
        )
        self.local_norm, self.attention_norm, self.norm = (BatchNorm(width) for _ in range(3))
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> tuple[Tensor, Tensor | None]:
        near, features = self._local(x, features, edges)
        far = self.attention_norm(x + self.dropout(attended(self.attention, x, edges.graph)))
        z = self.local_norm(near) + far
        return self.norm(z + self.mlp(z)), features

    def _local(self, x: Tensor, features: Tensor | None, edges: Edges) -> tuple[Tensor, Tensor | None]:
        if isinstance(self.local, GatedLayer):
            return self.local(x, features, edges)
        return x + self.dropout(self.local(x, features, edges)), features


def attended(attention: nn.MultiheadAttention, x: Tensor, graph: Tensor) -> Tensor:
    """Attention of every node to the nodes of its own graph, (nodes, width) -> (nodes, width).

    Graphs of similar size are padded together: the cost of padding grows with the square of the largest.
    """
    sizes = torch.bincount(graph)
    octave = sizes.clamp(min=SMALLEST).double().log2().ceil().long()[graph]
    octaves = octave.unique()
    if len(octaves) == 1:
        return _attended(attention, x, graph)
    found = torch.zeros_like(x)
    for one in octaves:
        node = (octave == one).nonzero().flatten()
        _, own = graph[node].unique_consecutive(return_inverse=True)
        found = found.index_copy(0, node, _attended(attention, x[node], own).to(x.dtype))
    return found


SMALLEST = 32
"""Graphs up to this size are padded together, whatever their sizes."""


def _attended(attention: nn.MultiheadAttention, x: Tensor, graph: Tensor) -> Tensor:
    """The same for graphs that are all padded to the largest of them."""
    sizes = torch.bincount(graph)
    place = torch.arange(len(graph), device=graph.device) - (sizes.cumsum(0) - sizes)[graph]
    rows = x.new_zeros(len(sizes), int(sizes.max()), x.shape[1]).index_put((graph, place), x)
    absent = torch.arange(rows.shape[1], device=graph.device) >= sizes.unsqueeze(1)
    # A number without a node has one row to attend to, so that no softmax is empty.
    absent[:, 0] &= sizes > 0
    found, _ = attention(rows, rows, rows, key_padding_mask=absent, need_weights=False)
    return found[graph, place]
