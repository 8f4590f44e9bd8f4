"""VN-PointNet and VN-DGCNN: classification that no rotation of the input changes."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.vector_neurons import (
    SLOPE,
    VNBatchNorm,
    VNEdgeConvolution,
    VNInvariant,
    VNLayer,
    VNLinear,
    coordinates,
)
from adacanon.errors import InputError
from adacanon.points.head import check_batch, classification_head
from adacanon.points.rows import Rows, checked_rows


class VNPointNet(nn.Module):
    r"""PointNet with vector neurons: features of a point and its k nearest neighbours, layers shared by all points,
    inner products with a frame, the maximum over the points, a head.

    The first layer sees :math:`(x_j - x_i,\, x_i,\, x_j \times x_i)` and is averaged over the neighbours, since a
    layer on :math:`x_i` alone could only stretch it. A feature of the whole cloud (the reference's transform net) is
    set beside those of the points, and their mean beside the last ones.

    Widths are a third of PointNet's, as in the reference: three numbers make a vector. Its neighbours are averaged, the
    default of its code. Dropout acts before the last layer, there before the normalization of the layer above it.

    Args:
        classes: outputs.
        k: neighbours, the point itself included.
        widths: vector channels of the layers shared by all points.
        context: vector channels of the layers of the feature of the whole cloud, before and after its mean.
        head: widths of the hidden layers after the maximum.
        dropout: share of the units before the last layer that are dropped in training.

    Shape:
        points (batch, points, 3), and for padded clouds a mask (batch, points), True for real points
        -> (batch, classes)

    Example:
        >>> VNPointNet(10)(torch.randn(4, 64, 3)).shape
        torch.Size([4, 10])

    Reference:
        Deng et al., "Vector Neurons: A General Framework for SO(3)-Equivariant Networks", ICCV 2021.
    """

    def __init__(
        self,
        classes: int,
        *,
        k: int = 20,
        widths: Sequence[int] = (21, 21, 42, 341),
        context: tuple[Sequence[int], Sequence[int]] = ((21, 42, 341), (170, 85)),
        head: Sequence[int] = (512, 256),
        dropout: float = 0.4,
    ) -> None:
        super().__init__()
        if len(widths) != 4 or k < 1:
            raise InputError(f"VNPointNet has four widths and at least one neighbour, got {tuple(widths)} and k={k}")
        self.k = k
        first, second, third, last = widths
        self.edges, self.points = VNLayer(3, first, slope=0), VNLayer(first, second, slope=0)
        self.context = VNContext(second, *context)
        self.beside = VNLayer(2 * second, third, slope=0)
        self.wide, self.norm = VNLinear(third, last), VNBatchNorm(last)
        self.invariant = VNInvariant(2 * last, slope=0)
        self.head = classification_head([6 * last, *head], classes, dropout=dropout)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.features(points, mask))

    def features(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """The maximum over the points (batch, 6 * widths[-1]), the same for every rotation."""
        rows = checked_rows("VNPointNet", points, mask, channels=3, least=self.k)
        check_batch("VNPointNet", points, self.head)
        x = self.points(edge_features(self.edges, rows, rows.of(points), self.k))
        x = self.beside.with_context(x, self.context(x, rows), partial(rows.spread, dim=1))
        return rows.maximum(invariants(self.invariant, self.norm(self.wide(x)), rows)[0])


class VNDGCNN(nn.Module):
    r"""DGCNN with vector neurons: edge convolutions whose neighbours are near in the space of all vectors, one wide
    layer on what they give, inner products with a frame, maximum and mean over the points, a head.

    Widths are a third of DGCNN's, and neighbours are averaged, as in the reference.

    Args:
        classes: outputs.
        k: neighbours, the point itself included.
        widths: vector channels of the edge convolutions.
        aggregation: vector channels of the wide layer.
        head: widths of the hidden layers after the pooling.
        dropout: share of the units that are dropped in training after every hidden layer of the head.

    Shape:
        points (batch, points, 3), and for padded clouds a mask (batch, points), True for real points
        -> (batch, classes)

    Example:
        >>> VNDGCNN(10)(torch.randn(4, 64, 3)).shape
        torch.Size([4, 10])

    Reference:
        Deng et al., "Vector Neurons: A General Framework for SO(3)-Equivariant Networks", ICCV 2021.
    """

    def __init__(
        self,
        classes: int,
        *,
        k: int = 20,
        widths: Sequence[int] = (21, 21, 42, 85),
        aggregation: int = 341,
        head: Sequence[int] = (512, 256),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if not widths or k < 1:
            raise InputError(f"VNDGCNN needs at least one layer and one neighbour, got {tuple(widths)} and k={k}")
        self.k = k
        self.layers = nn.ModuleList(VNEdgeConvolution(a, b) for a, b in pairwise([1, *widths]))
        self.aggregation = VNLayer(sum(widths), aggregation, shared=True)
        self.invariant = VNInvariant(2 * aggregation)
        sizes = [12 * aggregation, *head]
        self.head = classification_head(sizes, classes, dropout=dropout, slope=SLOPE, every_layer=True)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.features(points, mask))

    def features(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """Maximum and mean over the points (batch, 12 * aggregation), the same for every rotation."""
        rows = checked_rows("VNDGCNN", points, mask, channels=3, least=self.k)
        check_batch("VNDGCNN", points, self.head)
        x, layers = as_vectors(rows.of(points)), []
        for layer in self.layers:
            x = layer(x, vector_neighbours(rows, x, self.k))
            layers.append(x)
        numbers, _ = invariants(self.invariant, self.aggregation(torch.cat(layers, 2)), rows)
        return torch.cat(rows.maximum_and_mean(numbers), 1)


class VNContext(nn.Module):
    """One feature of the whole cloud: layers on its points, their mean, layers on the mean, a linear one.

    Args:
        channels: of the points, and of the answer.
        before, after: vector channels of the layers.

    Shape:
        (3, rows, channels) -> (3, batch, channels)
    """

    def __init__(self, channels: int, before: Sequence[int], after: Sequence[int]) -> None:
        super().__init__()
        self.before = nn.Sequential(*(VNLayer(a, b, slope=0) for a, b in pairwise([channels, *before])))
        self.after = nn.Sequential(*(VNLayer(a, b, slope=0) for a, b in pairwise([before[-1], *after])))
        self.last = VNLinear(after[-1], channels)

    def forward(self, vectors: Tensor, rows: Rows) -> Tensor:
        return self.last(self.after(mean_of_clouds(self.before(vectors), rows)))


def as_vectors(points: Tensor) -> Tensor:
    """Points as features of one channel: (rows, 3) -> (3, rows, 1)."""
    return points.T.unsqueeze(2)


def vector_neighbours(rows: Rows, vectors: Tensor, k: int) -> Tensor:
    """The k rows of the same cloud that are nearest in all channels: (3, rows, channels) -> (rows, k)."""
    return rows.neighbours(vectors.transpose(0, 1).flatten(1), k)


def mean_of_clouds(vectors: Tensor, rows: Rows) -> Tensor:
    """(3, rows, channels) -> (3, batch, channels)"""
    return rows.mean(vectors.transpose(0, 1)).transpose(0, 1).contiguous()


def edge_features(layer: VNLayer, rows: Rows, points: Tensor, k: int) -> Tensor:
    r"""The mean over the k nearest neighbours of a layer on :math:`(x_j - x_i,\, x_i,\, x_j \times x_i)`.

    The last one is computed as :math:`(x_j - x_i) \times x_i`, without the cancellation that near points have.

    Shape:
        points (rows, 3) -> (3, rows, channels)
    """
    neighbours = rows.neighbours(points, k)
    own = points.T.unsqueeze(2).expand(-1, -1, k)
    beside = points.T[:, neighbours] - own
    edges = torch.stack([beside, own, torch.linalg.cross(beside, own, dim=0)], 3)
    return layer(edges.flatten(1, 2)).unflatten(1, neighbours.shape).mean(2)


def invariants(layer: VNInvariant, vectors: Tensor, rows: Rows) -> tuple[Tensor, Tensor]:
    """Coordinates of features and of their mean over the cloud in frames made of both, and the frames.

    Shape:
        (3, rows, channels) -> (rows, 6 * channels), (3, rows, 3)
    """
    mean, spread = mean_of_clouds(vectors, rows), partial(rows.spread, dim=1)
    frames = layer.frames(vectors, mean, spread)
    numbers = torch.cat([coordinates(vectors, frames), coordinates(spread(mean), frames)], 2)
    return numbers.flatten(1), frames
