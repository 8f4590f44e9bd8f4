"""Graph convolutions with one signature: node features, edge features or None, and the edges of a batch.

Layers whose messages do not depend on the edge use one sparse product for all of them. Layers that only add linear
maps of the two ends apply these maps to nodes before they gather: the same sums, a fraction of the work.
"""

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.edges import Edges
from adacanon.errors import InputError, ShapeError
from adacanon.extras import optional


class GCN(nn.Module):
    r""":math:`\sum_j \frac{\phi(Wx_j + e_{ji})}{\sqrt{d_id_j}} + \frac{\phi(Wx_i + r)}{d_i} + b` with
    :math:`d = 1 + {}` degree and a learned r.

    With edge features :math:`\phi` is a ReLU, as in OGB's examples; without them :math:`\phi(x) = x` and e = r = 0, the
    layer of Kipf and Welling.
    """

    def __init__(self, width: int, *, edge_features: bool = False) -> None:
        super().__init__()
        self.linear = nn.Linear(width, width, bias=False)
        self.bias = nn.Parameter(torch.zeros(width))
        self.loop = nn.Parameter(torch.zeros(width)) if edge_features else None

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> Tensor:
        x = self.linear(x)
        root = (edges.degree + 1).to(x.dtype).rsqrt().unsqueeze(1)
        if features is None or self.loop is None:
            return root * (edges.neighbour_sums(root * x) + root * x) + self.bias
        messages = (x.index_select(0, edges.source) + features).relu() * root[edges.source]
        return root * (edges.summed(messages) + root * (x + self.loop).relu()) + self.bias


class GIN(nn.Module):
    r""":math:`\mathrm{MLP}\bigl((1 + \epsilon)x_i + \sum_{j \to i} m_{ji}\bigr)` with :math:`m_{ji} = x_j`, or
    :math:`\mathrm{ReLU}(x_j + e_{ji})` where edges have features (GINE); the MLP has one hidden layer with batch
    normalisation.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.epsilon = nn.Parameter(torch.zeros(()))
        self.mlp = nn.Sequential(nn.Linear(width, width), BatchNorm(width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> Tensor:
        return self.mlp((1 + self.epsilon) * x + self._messages(x, features, edges))

    @staticmethod
    def _messages(x: Tensor, features: Tensor | None, edges: Edges) -> Tensor:
        if features is None:
            return edges.neighbour_sums(x)
        return edges.summed((x.index_select(0, edges.source) + features).relu())


class GAT(nn.Module):
    r""":math:`\sum_j \alpha_{ij} W x_j` with attention :math:`\alpha` over the neighbours and the node itself, in
    several heads side by side; edge features take part in :math:`\alpha`.
    """

    def __init__(self, width: int, *, heads: int = 4, edge_features: bool = False) -> None:
        super().__init__()
        if width % heads:
            raise InputError(f"The width of GAT is a multiple of its {heads} heads, got {width}")
        with optional("GAT"):
            from torch_geometric.nn import GATConv

        self.attention = GATConv(width, width // heads, heads=heads, edge_dim=width if edge_features else None)

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> Tensor:
        return self.attention(x, edges.index, features)


class Chebyshev(nn.Module):
    r""":math:`\sum_{k<K} T_k(\hat L)\, x\, W_k` with :math:`\hat L = L - I`, the normalised Laplacian moved to [-1, 1];
    isolated nodes have :math:`\hat L_{ii} = 0`.
    """

    def __init__(self, width: int, *, order: int = 3) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(width, width, bias=k == 0) for k in range(order))

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> Tensor:
        root = edges.degree.clamp(min=1).to(x.dtype).rsqrt().unsqueeze(1)
        terms = [x]
        while len(terms) < len(self.linears):
            turned = -root * edges.neighbour_sums(root * terms[-1])
            terms.append(turned if len(terms) == 1 else 2 * turned - terms[-2])
        return torch.stack([linear(term) for linear, term in zip(self.linears, terms, strict=True)]).sum(0)


class SAGE(nn.Module):
    r""":math:`W_1x_i + W_2\,\mathrm{mean}_{j \to i}\, x_j`, the layer of GraphSAGE with the mean."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.own, self.others = nn.Linear(width, width), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> Tensor:
        means = edges.neighbour_sums(x) / edges.degree.clamp(min=1).unsqueeze(1)
        return self.own(x) + self.others(means)


class PNA(nn.Module):
    r""":math:`U\bigl(x_i,\, (1, s(d_i), s(d_i)^{-1}) \otimes (\mathrm{mean}, \mathrm{min}, \mathrm{max},
    \mathrm{std})_{j \to i}\, m_{ji}\bigr)` with :math:`m_{ji} = Ax_i + Bx_j + Ce_{ji} + b`, linear U,
    :math:`s(d) = \log(d+1)/\delta` and the mean :math:`\delta` of :math:`\log(d+1)` over the nodes of training graphs.

    Args:
        width: of nodes and edges.
        degrees: how many nodes of the training graphs have 0, 1, 2, ... incoming edges.
    """

    def __init__(self, width: int, degrees: Tensor, *, edge_features: bool = False) -> None:
        super().__init__()
        self.own, self.others = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.features = nn.Linear(width, width, bias=False) if edge_features else None
        self.mix = nn.Linear(13 * width, width)
        self.register_buffer("scale", mean_log_degree(degrees))
        self.scale: Tensor

    def forward(self, x: Tensor, features: Tensor | None, edges: Edges) -> Tensor:
        varying = self.others(x).index_select(0, edges.source)
        if features is not None and self.features is not None:
            varying = varying + self.features(features)
        found = self._aggregated(self.own(x), varying, edges)
        log = (edges.degree + 1).to(x.dtype).log().unsqueeze(1)
        up = log / self.scale
        # Nodes without neighbours have nothing to weaken; degree one stands in, as in torch-geometric.
        down = self.scale / (edges.degree.clamp(min=1) + 1).to(x.dtype).log().unsqueeze(1)
        return self.mix(torch.cat([x, found, found * up, found * down], dim=1))

    @staticmethod
    def _aggregated(constant: Tensor, varying: Tensor, edges: Edges) -> Tensor:
        """Mean, min, max and deviation of the messages; the part that all messages to a node share moves the first
        three.
        """
        count = edges.degree.unsqueeze(1)
        mean = edges.summed(varying) / count.clamp(min=1)
        variance = edges.summed(varying.square()) / count.clamp(min=1) - mean.square()
        deviation = torch.where(variance > SMALL, variance.clamp(min=SMALL).sqrt(), 0.0)
        moved = torch.where(count > 0, constant, 0.0)
        extremes = [moved + edges.extreme(varying, which) for which in ("amin", "amax")]
        return torch.cat([moved + mean, *extremes, deviation], dim=1)


SMALL = 1e-5
"""Variances below this are zero, as in torch-geometric."""


def mean_log_degree(degrees: Tensor) -> Tensor:
    r""":math:`\delta`, the mean of :math:`\log(d + 1)` over the nodes that a histogram of degrees counts."""
    if degrees.dim() != 1:
        raise ShapeError(f"A degree histogram has shape (degrees,), got {tuple(degrees.shape)}")
    if not bool((degrees[1:] > 0).any()):
        raise InputError("PNA divides by the mean logarithmic degree, but no node of the histogram has a neighbour")
    logs = torch.arange(1, len(degrees) + 1, device=degrees.device).double().log()
    return ((logs * degrees).sum() / degrees.sum()).to(torch.get_default_dtype())


class BatchNorm(nn.BatchNorm1d):
    """Batch normalisation that takes its running statistics where a batch in training has fewer than two rows: a batch
    of graphs without edges has no statistics of edges.
    """

    def forward(self, x: Tensor) -> Tensor:
        if self.training and len(x) < 2:
            return nn.functional.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
            )
        return super().forward(x)
