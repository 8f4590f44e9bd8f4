"""Baselines with an answer per node: MLP, GCN, GAT, ChebNet, a deeper GCN, and label propagation."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.errors import InputError
from adacanon.extras import optional


class NodeMLP(nn.Module):
    """An MLP on the features of every node; edges are not read.

    Example:
        >>> NodeMLP(4, classes=3)(torch.ones(5, 4), torch.zeros(2, 0, dtype=torch.int64)).shape
        torch.Size([5, 3])
    """

    def __init__(self, channels: int, *, classes: int, hidden: int = 64, layers: int = 2, dropout: float = 0.5) -> None:
        super().__init__()
        widths = [channels, *[hidden] * (layers - 1), classes]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        *before, last = self.layers
        for layer in before:
            x = layer(self.dropout(x)).relu()
        return last(self.dropout(x))


class NodeGCN(nn.Module):
    r"""GCN: layers :math:`\mathrm{ReLU}(\hat A x W)` with :math:`\hat A = (D+I)^{-1/2}(A+I)(D+I)^{-1/2}`, and dropout
    before each; two of them as in the paper.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> NodeGCN(4, classes=3)(torch.ones(3, 4), edges).shape
        torch.Size([3, 3])

    Reference:
        Kipf & Welling, "Semi-Supervised Classification with Graph Convolutional Networks", ICLR 2017.
    """

    def __init__(self, channels: int, *, classes: int, hidden: int = 64, layers: int = 2, dropout: float = 0.5) -> None:
        super().__init__()
        with optional("A graph network"):
            from adacanon.baselines.graphs.product_layers import ProductGCN

        widths = [channels, *[hidden] * (layers - 1), classes]
        self.layers = nn.ModuleList(ProductGCN(a, b) for a, b in pairwise(widths))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        messages = _messages(x, edge_index)
        *before, last = self.layers
        for layer in before:
            x = layer(self.dropout(x), messages).relu()
        return last(self.dropout(x), messages)


class NodeGAT(nn.Module):
    """GAT: two attention layers, eight heads of eight features with ELU, then one head; dropout on what the layers read
    and on the attention.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> NodeGAT(4, classes=3)(torch.ones(3, 4), edges).shape
        torch.Size([3, 3])

    Reference:
        Veličković et al., "Graph Attention Networks", ICLR 2018.
    """

    def __init__(self, channels: int, *, classes: int, hidden: int = 64, heads: int = 8, dropout: float = 0.6) -> None:
        super().__init__()
        with optional("A graph network"):
            from torch_geometric.nn import GATConv

        if hidden % heads:
            raise InputError(f"{heads} heads share {hidden} features evenly, which they cannot")
        self.first = GATConv(channels, hidden // heads, heads=heads, dropout=dropout)
        self.last = GATConv(hidden, classes, heads=1, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = nn.functional.elu(self.first(self.dropout(x), edge_index))
        return self.last(self.dropout(x), edge_index)


class NodeCheb(nn.Module):
    r"""ChebNet: layers :math:`\mathrm{ReLU}\big(\sum_{k<K} T_k(\mathcal L - I)\,x W_k\big)` with Chebyshev polynomials
    :math:`T_k`, learned functions of the Laplacian; dropout before each layer.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> NodeCheb(4, classes=3)(torch.ones(3, 4), edges).shape
        torch.Size([3, 3])

    Reference:
        Defferrard, Bresson & Vandergheynst, "Convolutional Neural Networks on Graphs with Fast Localized Spectral
        Filtering", NIPS 2016.
    """

    def __init__(
        self,
        channels: int,
        *,
        classes: int,
        hidden: int = 64,
        layers: int = 2,
        order: int = 8,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        with optional("A graph network"):
            from adacanon.baselines.graphs.product_layers import ProductCheb

        widths = [channels, *[hidden] * (layers - 1), classes]
        self.layers = nn.ModuleList(ProductCheb(a, b, K=order) for a, b in pairwise(widths))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        *before, last = self.layers
        messages = getattr(last, "messages")(x, edge_index)  # noqa: B009
        for layer in before:
            x = layer(self.dropout(x), messages).relu()
        return last(self.dropout(x), messages)


class ResidualNodeGCN(nn.Module):
    r"""A linear embedding, layers :math:`x \mapsto x + \mathrm{dropout}(\mathrm{ReLU}(\mathrm{norm}(\hat A x W)))` with
    BatchNorm, and a linear head: a GCN that may be deep.

    Example:
        >>> edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> ResidualNodeGCN(4, classes=3)(torch.ones(3, 4), edges).shape
        torch.Size([3, 3])

    Reference:
        Luo et al., "Classic GNNs are Strong Baselines", NeurIPS 2024.
    """

    def __init__(self, channels: int, *, classes: int, hidden: int = 64, layers: int = 4, dropout: float = 0.5) -> None:
        super().__init__()
        with optional("A graph network"):
            from adacanon.baselines.graphs.product_layers import ProductGCN

        self.embedding = nn.Linear(channels, hidden)
        self.layers = nn.ModuleList(ProductGCN(hidden, hidden) for _ in range(layers))
        self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(layers))
        self.head = nn.Linear(hidden, classes)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.embedding(x)
        messages = _messages(x, edge_index)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + self.dropout(norm(layer(x, messages)).relu())
        return self.head(x)


def _messages(x: Tensor, edge_index: Tensor) -> Any:
    """What all layers on these nodes and edges share."""
    from adacanon.baselines.graphs.product_layers import ProductGCN

    return ProductGCN.messages(x, edge_index)


def label_propagation(
    labels: Tensor, known: Tensor, edge_index: Tensor, *, classes: int, share: float = 0.9, steps: int = 50
) -> Tensor:
    r"""Scores (nodes, classes) from known labels alone: :math:`F \leftarrow \alpha D^{-1/2}AD^{-1/2}F + (1-\alpha)Y`.

    Args:
        labels: of all nodes; only those of ``known`` are read.
        known: indices of the nodes with a label.
        share: :math:`\alpha`.

    Example:
        >>> path = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])
        >>> label_propagation(torch.tensor([0, -1, -1, 1]), torch.tensor([0, 3]), path, classes=2).argmax(1).tolist()
        [0, 0, 1, 1]

    Reference:
        Zhou et al., "Learning with Local and Global Consistency", NIPS 2003.
    """
    nodes = len(labels)
    given = torch.zeros(nodes, classes, device=labels.device)
    given[known, labels[known]] = 1
    source, target = edge_index
    degree = torch.bincount(target, minlength=nodes).clamp(min=1).float().rsqrt()
    weight = (degree[source] * degree[target]).unsqueeze(1)
    found = given
    for _ in range(steps):
        spread = torch.zeros_like(found).index_add(0, target, weight * found[source])
        found = share * spread + (1 - share) * given
    return found
