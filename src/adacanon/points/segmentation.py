"""Part segmentation: PointNet and DGCNN with one answer per point, given the category of the shape."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.errors import InputError, ShapeError
from adacanon.points.dgcnn import SLOPE, EdgeConvolution
from adacanon.points.edges import folded_edges, group_maximum
from adacanon.points.head import check_batch
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.rows import Rows, checked_rows
from adacanon.takes import several, share, takes, whole

PARTS, CATEGORIES = 50, 16
"""Of the ShapeNet part benchmark."""


class PointHead(nn.Module):
    r""":math:`x_i \mapsto \mathrm{MLP}(g,\, x_i)` for features g of the cloud and :math:`x_i` of its points.

    The first layer multiplies g once per cloud: :math:`W[g, x_i] = W_1 g + W_2 x_i`. Layers have batch normalization
    and (leaky) ReLU.

    Args:
        of_cloud, of_point: channels of g and of :math:`x_i`.
        parts: outputs.
        widths: of the hidden layers.
        dropout: share of the units that are dropped in training after every hidden layer but the last.
        slope: of the activations below zero.
        bias: of the last layer.

    Shape:
        (batch, of_cloud), (rows, of_point) -> (rows, parts)
    """

    def __init__(
        self,
        of_cloud: int,
        of_point: int,
        parts: int,
        *,
        widths: Sequence[int] = (256, 256, 128),
        dropout: float,
        slope: float = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if not widths:
            raise InputError("The head of a segmentation needs at least one layer, got head=(). Hint: (256, 128)")
        self.sizes, self.slope = (of_cloud, of_point), slope
        self.first, self.norm = nn.Linear(of_cloud + of_point, widths[0], bias=False), nn.BatchNorm1d(widths[0])
        layers = (NormalizedLinear(a, b, fold_batches=False) for a, b in pairwise(widths))
        self.layers, self.dropout = nn.ModuleList(layers), nn.Dropout(dropout)
        self.last = nn.Linear(widths[-1], parts, bias=bias)

    def forward(self, of_cloud: Tensor, of_point: Tensor, rows: Rows) -> Tensor:
        common, own = self.first.weight.split(self.sizes, 1)
        products = functional.linear(of_point, own) + rows.spread(functional.linear(of_cloud, common))
        x = functional.leaky_relu(self.norm(products), self.slope)
        for layer in self.layers:
            x = functional.leaky_relu(layer(self.dropout(x)), self.slope)
        return self.last(x)


class PartSegmentation(nn.Module, ABC):
    """A network with one answer per point, given the category of the shape.

    Args:
        categories: of shapes.
        least: points that a cloud must have.

    Shape:
        points (batch, points, 3), categories (batch, categories) one-hot, and for padded clouds a mask (batch, points),
        True for real points -> (batch, points, parts), zero for padding
    """

    def __init__(self, categories: int, *, least: int = 1) -> None:
        super().__init__()
        if least < 1:
            raise InputError(f"{type(self).__name__} needs at least one neighbour, the point itself, got k={least}")
        self.categories, self.least = categories, least

    def forward(self, points: Tensor, categories: Tensor, mask: Tensor | None = None) -> Tensor:
        name = type(self).__name__
        rows = checked_rows(name, points, mask, channels=3, least=self.least)
        check_categories(name, categories, len(points), self.categories)
        if (once := self.once_per_cloud()) is not None:
            check_batch(name, points, once)
        return rows.padded(self.answers(rows, rows.of(points), categories))

    @abstractmethod
    def answers(self, rows: Rows, points: Tensor, categories: Tensor) -> Tensor:
        """For every real point, (rows, parts)."""

    def once_per_cloud(self) -> nn.Module | None:
        """The layers that normalise over the clouds of a batch, if there are any."""
        return None


class PointNetSegmentation(PartSegmentation):
    r""":math:`f_i(X) = \mathrm{head}\bigl(\max_j x_j^{(L)},\, c,\, x_i^{(1)}, \dots, x_i^{(L)}\bigr)` with the outputs
    :math:`x_i^{(l)}` of all layers shared by the points, and the category c of the shape.

    The reference's network without its input and feature transforms, which are learned alignments, and without its
    second head for the category.

    Args:
        parts: outputs for every point.
        categories: of shapes.
        widths: of the layers shared by all points.
        head: widths of the hidden layers after the maximum.
        dropout: share of the units that are dropped in training after every hidden layer but the last.

    Shape:
        points (batch, points, 3), categories (batch, categories) one-hot, and for padded clouds a mask (batch, points),
        True for real points -> (batch, points, parts), zero for padding

    Example:
        >>> PointNetSegmentation()(torch.randn(4, 64, 3), torch.eye(16)[:4]).shape
        torch.Size([4, 64, 50])

    Reference:
        Qi, Su, Mo & Guibas, "PointNet: Deep Learning on Point Sets for 3D Classification and Segmentation", CVPR 2017.
    """

    @takes(parts=whole(1), categories=whole(1), widths=several(1), head=several(1), dropout=share)
    def __init__(
        self,
        parts: int = PARTS,
        *,
        categories: int = CATEGORIES,
        widths: Sequence[int] = (64, 128, 128, 512, 2048),
        head: Sequence[int] = (256, 256, 128),
        dropout: float = 0.2,
    ) -> None:
        super().__init__(categories)
        if not widths:
            raise InputError("PointNetSegmentation needs at least one layer before the maximum, got widths=()")
        layers = (NormalizedLinear(a, b, fold_batches=False) for a, b in pairwise([3, *widths]))
        self.layers = nn.ModuleList(layers)
        self.head = PointHead(widths[-1] + categories, sum(widths), parts, widths=head, dropout=dropout)

    def answers(self, rows: Rows, points: Tensor, categories: Tensor) -> Tensor:
        x, layers = points, []
        for layer in self.layers:
            x = layer(x).relu_()
            layers.append(x)
        of_cloud = torch.cat([rows.maximum(x), categories.to(x)], 1)
        return self.head(of_cloud, torch.cat(layers, 1), rows)


class EdgeBlock(nn.Module):
    r""":math:`x_i \mapsto \max_{j \in N(i)} \phi([x_i,\; x_j - x_i])` with an MLP :math:`\phi` of two layers with batch
    normalization and leaky ReLU. The first one is multiplied per point (:mod:`~adacanon.points.edges`).

    Shape:
        rows (rows, inputs), neighbours (rows, k) naming rows -> (rows, outputs)
    """

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(2 * inputs, hidden, bias=False), nn.BatchNorm1d(hidden)
        self.second = NormalizedLinear(hidden, outputs, fold_batches=False)

    def forward(self, rows: Tensor, neighbours: Tensor) -> Tensor:
        A, B = self.linear.weight.chunk(2, 1)
        own, beside, bias = folded_edges(self.norm, A - B, B, rows, rows, neighbours)
        edges = functional.linear(rows, beside)[neighbours] + functional.linear(rows, own, bias).unsqueeze(1)
        edges = functional.leaky_relu(edges, SLOPE, inplace=True)
        largest = group_maximum(self.second(edges.flatten(0, 1)).unflatten(0, neighbours.shape))
        return functional.leaky_relu(largest, SLOPE)


class DGCNNSegmentation(PartSegmentation):
    r""":math:`f_i(X) = \mathrm{head}\bigl(\max_j \psi_j,\, \sigma(\mathrm{BN}(Vc)),\, h_i^{(1)}, h_i^{(2)},
    h_i^{(3)}\bigr)` with two edge blocks and an edge convolution :math:`h^{(l)}`, each on the k nearest neighbours in
    the features before it, :math:`\psi_j = \sigma(\mathrm{BN}(W[h_j^{(1)}, h_j^{(2)}, h_j^{(3)}]))` and the category c
    of the shape.

    The reference's network without its spatial transformer, which is a learned alignment.

    Args:
        parts: outputs for every point.
        categories: of shapes.
        k: neighbours, the point itself included; 40 is published for 2048 points.
        width: of the edge layers, and of the embedded category.
        aggregation: width of :math:`\psi`.
        head: widths of the hidden layers after the maximum.
        dropout: share of the units that are dropped in training after every hidden layer but the last.

    Shape:
        points (batch, points, 3), categories (batch, categories) one-hot, and for padded clouds a mask (batch, points),
        True for real points -> (batch, points, parts), zero for padding

    Example:
        >>> DGCNNSegmentation()(torch.randn(4, 64, 3), torch.eye(16)[:4]).shape
        torch.Size([4, 64, 50])

    Reference:
        Wang, Sun, Liu, Sarma, Bronstein & Solomon, "Dynamic Graph CNN for Learning on Point Clouds", TOG 2019.
    """

    @takes(
        parts=whole(1),
        categories=whole(1),
        k=whole(),
        width=whole(1),
        aggregation=whole(1),
        head=several(1),
        dropout=share,
    )
    def __init__(
        self,
        parts: int = PARTS,
        *,
        categories: int = CATEGORIES,
        k: int = 40,
        width: int = 64,
        aggregation: int = 1024,
        head: Sequence[int] = (256, 256, 128),
        dropout: float = 0.5,
    ) -> None:
        super().__init__(categories, least=k)
        self.k = k
        blocks = EdgeBlock(3, width, width), EdgeBlock(width, width, width), EdgeConvolution(width, width)
        self.layers = nn.ModuleList(blocks)
        self.aggregation = NormalizedLinear(3 * width, aggregation, fold_batches=False)
        self.category = NormalizedLinear(categories, width, fold_batches=False)
        sizes = aggregation + width, 3 * width, parts
        self.head = PointHead(*sizes, widths=head, dropout=dropout, slope=SLOPE, bias=False)

    def once_per_cloud(self) -> nn.Module:
        return self.category

    def answers(self, rows: Rows, points: Tensor, categories: Tensor) -> Tensor:
        x, layers = points, []
        for layer in self.layers:
            x = layer(x, rows.neighbours(x, self.k))
            layers.append(x)
        of_points = torch.cat(layers, 1)
        largest = functional.leaky_relu(rows.maximum(self.aggregation(of_points)), SLOPE)
        embedded = functional.leaky_relu(self.category(categories.to(x)), SLOPE)
        return self.head(torch.cat([largest, embedded], 1), of_points, rows)


def check_categories(caller: str, categories: Tensor, batch: int, count: int) -> None:
    """Refuse what is not one row per cloud with one entry per category."""
    if not isinstance(categories, Tensor) or categories.shape != (batch, count):
        got = tuple(categories.shape) if isinstance(categories, Tensor) else type(categories).__name__
        raise ShapeError(
            f"{caller} expects categories of shape ({batch}, {count}), one-hot, got {got}. "
            f"Hint: torch.nn.functional.one_hot(labels, {count})"
        )
