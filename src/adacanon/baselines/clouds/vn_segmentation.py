"""Part segmentation with vector neurons: one answer per point that no rotation of the input changes."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.baselines.clouds.vector_neurons import (
    SLOPE,
    VNBatchNorm,
    VNEdgeConvolution,
    VNInvariant,
    VNLayer,
    VNLinear,
    coordinates,
    edge_ends,
)
from adacanon.baselines.clouds.vn_networks import VNContext, as_vectors, edge_features, invariants, vector_neighbours
from adacanon.errors import InputError
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.rows import Rows
from adacanon.points.segmentation import CATEGORIES, PARTS, PartSegmentation, PointHead


class VNPointNetSegmentation(PartSegmentation):
    r"""The layers of :class:`~adacanon.baselines.clouds.vn_networks.VNPointNet` with an answer for every point, from
    the maximum of the invariants over the cloud, the category of the shape, and all layers in the frame of the point.

    Args:
        parts: outputs for every point.
        categories: of shapes.
        k: neighbours, the point itself included; 40 is published for 2048 points.
        widths: vector channels of the six layers shared by all points, a third of PointNet's.
        context: vector channels of the layers of the feature of the whole cloud, before and after its mean.
        head: widths of the hidden layers after the maximum.

    Shape:
        points (batch, points, 3), categories (batch, categories) one-hot, and for padded clouds a mask (batch, points),
        True for real points -> (batch, points, parts), zero for padding

    Example:
        >>> small = VNPointNetSegmentation(widths=(4, 4, 8, 8, 12, 16), k=8)
        >>> small(torch.randn(4, 32, 3), torch.eye(16)[:4]).shape
        torch.Size([4, 32, 50])

    Reference:
        Deng et al., "Vector Neurons: A General Framework for SO(3)-Equivariant Networks", ICCV 2021.
    """

    def __init__(
        self,
        parts: int = PARTS,
        *,
        categories: int = CATEGORIES,
        k: int = 40,
        widths: Sequence[int] = (21, 21, 42, 42, 170, 682),
        context: tuple[Sequence[int], Sequence[int]] = ((21, 42, 341), (170, 85)),
        head: Sequence[int] = (256, 256, 128),
    ) -> None:
        super().__init__(categories, least=k)
        if len(widths) != 6:
            raise InputError(f"VNPointNetSegmentation has six widths, got {tuple(widths)}")
        self.k = k
        first, second, third, fourth, fifth, last = widths
        self.edges = VNLayer(3, first, slope=0)
        pairs = [(first, second), (second, third), (third, fourth)]
        self.layers = nn.ModuleList(VNLayer(a, b, slope=0) for a, b in pairs)
        self.context, self.beside = VNContext(fourth, *context), VNLayer(2 * fourth, fifth, slope=0)
        self.wide, self.norm = VNLinear(fifth, last), VNBatchNorm(last)
        self.invariant = VNInvariant(2 * last, slope=0)
        sizes = 6 * last + categories, 3 * sum(widths[1:5]) + 6 * last, parts
        self.head = PointHead(*sizes, widths=head, dropout=0.0)

    def once_per_cloud(self) -> nn.Module:
        return self.context

    def answers(self, rows: Rows, points: Tensor, categories: Tensor) -> Tensor:
        x, layers = edge_features(self.edges, rows, points, self.k), []
        for layer in self.layers:
            x = layer(x)
            layers.append(x)
        layers.append(self.beside.with_context(x, self.context(x, rows), partial(rows.spread, dim=1)))
        numbers, frames = invariants(self.invariant, self.norm(self.wide(layers[-1])), rows)
        of_points = torch.cat([coordinates(torch.cat(layers, 2), frames).flatten(1), numbers], 1)
        of_cloud = torch.cat([rows.maximum(numbers), categories.to(numbers)], 1)
        return self.head(of_cloud, of_points, rows)


class VNEdgeBlock(nn.Module):
    r""":math:`V_i \mapsto \mathrm{mean}_{j \in N(i)}\, \phi([V_j - V_i,\; V_i])` with two layers :math:`\phi`; the
    first one is multiplied per point.

    Shape:
        vectors (3, rows, inputs), neighbours (rows, k) naming rows -> (3, rows, outputs)
    """

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.first, self.second = VNLayer(2 * inputs, hidden), VNLayer(hidden, outputs)

    def forward(self, vectors: Tensor, neighbours: Tensor) -> Tensor:
        def on_edges(layer: VNLinear) -> Tensor:
            beside, own = edge_ends(layer.weight, vectors)
            return (beside[:, neighbours] + own.unsqueeze(2)).flatten(1, 2)

        edges = self.first.activated(on_edges(self.first.linear), on_edges(self.first.direction))
        return self.second(edges).unflatten(1, neighbours.shape).mean(2)


class VNDGCNNSegmentation(PartSegmentation):
    r"""Two edge blocks and an edge convolution with vector neurons, a wide layer on what they give, and an answer for
    every point, from the maximum of the invariants over the cloud, the embedded category of the shape, and the three
    layers in the frame of the point.

    Args:
        parts: outputs for every point.
        categories: of shapes.
        k: neighbours, the point itself included; 40 is published for 2048 points.
        width: vector channels of the edge layers, a third of DGCNN's.
        aggregation: vector channels of the wide layer.
        embedded: channels of the embedded category.
        head: widths of the hidden layers after the maximum.
        dropout: share of the units that are dropped in training after every hidden layer but the last.

    Shape:
        points (batch, points, 3), categories (batch, categories) one-hot, and for padded clouds a mask (batch, points),
        True for real points -> (batch, points, parts), zero for padding

    Example:
        >>> small = VNDGCNNSegmentation(width=4, aggregation=8, k=8)
        >>> small(torch.randn(4, 32, 3), torch.eye(16)[:4]).shape
        torch.Size([4, 32, 50])

    Reference:
        Deng et al., "Vector Neurons: A General Framework for SO(3)-Equivariant Networks", ICCV 2021.
    """

    def __init__(
        self,
        parts: int = PARTS,
        *,
        categories: int = CATEGORIES,
        k: int = 40,
        width: int = 21,
        aggregation: int = 341,
        embedded: int = 64,
        head: Sequence[int] = (256, 256, 128),
        dropout: float = 0.5,
    ) -> None:
        super().__init__(categories, least=k)
        self.k = k
        blocks = VNEdgeBlock(1, width, width), VNEdgeBlock(width, width, width), VNEdgeConvolution(width, width)
        self.layers = nn.ModuleList(blocks)
        self.aggregation = VNLayer(3 * width, aggregation, shared=True)
        self.invariant = VNInvariant(2 * aggregation)
        self.category = NormalizedLinear(categories, embedded, fold_batches=False)
        sizes = 6 * aggregation + embedded, 9 * width, parts
        self.head = PointHead(*sizes, widths=head, dropout=dropout, slope=SLOPE, bias=False)

    def once_per_cloud(self) -> nn.Module:
        return self.category

    def answers(self, rows: Rows, points: Tensor, categories: Tensor) -> Tensor:
        x, layers = as_vectors(points), []
        for layer in self.layers:
            x = layer(x, vector_neighbours(rows, x, self.k))
            layers.append(x)
        x = torch.cat(layers, 2)
        numbers, frames = invariants(self.invariant, self.aggregation(x), rows)
        embedded = functional.leaky_relu(self.category(categories.to(numbers)), SLOPE)
        of_cloud = torch.cat([rows.maximum(numbers), embedded], 1)
        return self.head(of_cloud, coordinates(x, frames).flatten(1), rows)
