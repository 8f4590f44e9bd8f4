"""The layer of GatedGCN, which keeps a state on every edge."""

from torch import Tensor, nn

from adacanon.baselines.graphs.convolutions import BatchNorm
from adacanon.baselines.graphs.dropout import Dropout
from adacanon.baselines.graphs.edges import Edges

EPSILON = 1e-6
"""Added to the sum of gates before it divides."""


class GatedGCN(nn.Module):
    r""":math:`\hat e_{ji} = Ax_i + Bx_j + Ce_{ji} + c`, :math:`\quad y_i = Ux_i + u + \sum_{j \to i}
    \frac{\sigma(\hat e_{ji})}{\sum_{j \to i} \sigma(\hat e_{ji}) + \epsilon} \odot Vx_j`.

    Args:
        width: of nodes and edges.
        reads: whether edges have features; without them :math:`\hat e = Ax_i + Bx_j + c`.

    Shape:
        x (nodes, width), e (edges, width) or None -> y (nodes, width), :math:`\hat e` (edges, width)

    Reference:
        Bresson & Laurent, "Residual Gated Graph ConvNets", 2017; with edge states as in Dwivedi et al.,
        "Benchmarking Graph Neural Networks", 2020.
    """

    def __init__(self, width: int, *, reads: bool = True) -> None:
        super().__init__()
        self.ends = nn.Linear(width, 2 * width)  # U beside A, and V beside B: two products in place of four
        self.begins = nn.Linear(width, 2 * width, bias=False)
        self.features = nn.Linear(width, width, bias=False) if reads else None

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> tuple[Tensor, Tensor]:
        own, key = self.ends(x).chunk(2, dim=1)
        value, query = (part.index_select(0, edges.source) for part in self.begins(x).chunk(2, dim=1))
        state = key.index_select(0, edges.target) + query
        if features is not None and self.features is not None:
            state = state + self.features(features)
        gate = state.sigmoid()
        return own + edges.summed(gate * value) / (edges.summed(gate) + EPSILON), state


class GatedLayer(nn.Module):
    r""":math:`x \mapsto x + \mathrm{ReLU}(\mathrm{BN}(y))`, :math:`e \mapsto e + \mathrm{ReLU}(\mathrm{BN}(\hat e))`
    with :math:`(y, \hat e)` of :class:`GatedGCN`, and dropout before the sums.

    Args:
        width: of nodes and edges.
        dropout: share of units dropped.
        reads: whether edges have features when they come.
        writes: whether a later layer reads those that leave; the last layer computes none.
    """

    def __init__(self, width: int, *, dropout: float = 0.0, reads: bool = True, writes: bool = True) -> None:
        super().__init__()
        self.convolution = GatedGCN(width, reads=reads)
        self.norm, self.edge_norm = BatchNorm(width), BatchNorm(width) if writes else None
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> tuple[Tensor, Tensor | None]:
        found, state = self.convolution(x, features, edges)
        return x + self.dropout(self.norm(found).relu()), self._states(state, features)

    def _states(self, state: Tensor, features: Tensor | None) -> Tensor | None:
        if self.edge_norm is None:
            return None
        state = self.dropout(self.edge_norm(state).relu())
        return state if features is None else features + state
