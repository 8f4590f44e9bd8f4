"""DGCNN: edge convolutions on neighbour graphs that are drawn anew in every layer."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.errors import InputError
from adacanon.points.edges import folded_edges, largest_neighbours
from adacanon.points.head import check_batch, classification_head
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.recomputed import recomputed
from adacanon.points.rows import Rows, checked_rows
from adacanon.takes import several, share, takes, whole

SLOPE = 0.2
"""Of the activations below zero."""


class EdgeConvolution(nn.Module):
    r""":math:`x_i \mapsto \max_{j \in N(i)} \sigma\bigl(\mathrm{BN}(W\,[x_i,\; x_j - x_i])\bigr)`, a leaky ReLU
    :math:`\sigma`.

    With :math:`W = [A, B]` the layer is linear in centre and neighbour, :math:`(A - B) x_i + B x_j`. So both are
    multiplied once per point, the normalization follows from statistics of the points
    (:func:`~adacanon.points.edges.folded_edges`), and as :math:`\sigma` increases, the maximum is taken over
    :math:`B'x_j` alone. Values, gradients and running statistics are those of the layer on all edges up to rounding.

    Args:
        inputs: channels of a point.
        outputs: channels of the answer.

    Shape:
        rows (rows, inputs), neighbours (rows, k) naming rows -> (rows, outputs)
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(2 * inputs, outputs, bias=False)
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, rows: Tensor, neighbours: Tensor) -> Tensor:
        A, B = self.linear.weight.chunk(2, 1)
        own, beside, bias = folded_edges(self.norm, A - B, B, rows, rows, neighbours)
        largest = largest_neighbours(functional.linear(rows, beside), neighbours)
        return functional.leaky_relu(functional.linear(rows, own, bias).add_(largest), SLOPE, inplace=True)


class DGCNN(nn.Module):
    r"""Edge convolutions :math:`h^{(l+1)} = \mathrm{EdgeConv}_l(h^{(l)}, N_k(h^{(l)}))` with the k nearest neighbours
    in the space of the features, then :math:`f(X) = \mathrm{head}\bigl(\max_i \psi_i,\; \mathrm{mean}_i \psi_i\bigr)`,
    :math:`\psi_i = \sigma(\mathrm{BN}(W[h_i^{(1)}, \dots, h_i^{(L)}]))`.

    Invariant to the order of points, not to rotations. The reference's network for classification; its
    spatial transformer, a learned alignment, belongs to segmentation only and is left out there too.

    Args:
        classes: outputs.
        channels: coordinates of a point.
        k: neighbours, the point itself included.
        widths: of the edge convolutions.
        aggregation: width of :math:`\psi`.
        head: widths of the hidden layers after the pooling.
        dropout: share of the units that are dropped in training after every hidden layer of the head.

    Shape:
        points (batch, points, channels), and for padded clouds a mask (batch, points), True for real points
        -> (batch, classes)

    Example:
        >>> DGCNN(10)(torch.randn(4, 64, 3)).shape
        torch.Size([4, 10])

    Reference:
        Wang, Sun, Liu, Sarma, Bronstein & Solomon, "Dynamic Graph CNN for Learning on Point Clouds", TOG 2019.
    """

    @takes(
        classes=whole(1),
        channels=whole(1),
        k=whole(),
        widths=several(1),
        head=several(1),
        dropout=share,
        aggregation=whole(1),
    )
    def __init__(
        self,
        classes: int,
        *,
        channels: int = 3,
        k: int = 20,
        widths: Sequence[int] = (64, 64, 128, 256),
        aggregation: int = 1024,
        head: Sequence[int] = (512, 256),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if not widths or k < 1:
            raise InputError(f"DGCNN needs at least one layer and one neighbour, got widths={tuple(widths)} and k={k}")
        self.channels, self.k = channels, k
        self.layers = nn.ModuleList(EdgeConvolution(a, b) for a, b in pairwise([channels, *widths]))
        self.aggregation = NormalizedLinear(sum(widths), aggregation, fold_batches=False)
        self.head = classification_head(
            [2 * aggregation, *head], classes, dropout=dropout, slope=SLOPE, every_layer=True
        )

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.features(points, mask))

    def features(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """Maximum and mean over the points (batch, 2 * aggregation)."""
        rows = checked_rows("DGCNN", points, mask, channels=self.channels, least=self.k)
        check_batch("DGCNN", points, self.head)
        layers = self.layers_of(rows, rows.of(points))
        x = torch.cat(layers, 1)
        with recomputed(x, partial(torch.cat, [layer.detach() for layer in layers], 1)):
            x = self.aggregation(x)
        return torch.cat(rows.maximum_and_mean(x, SLOPE), 1)

    def layers_of(self, rows: Rows, x: Tensor) -> list[Tensor]:
        """What every edge convolution gives for the rows x."""
        found = []
        for layer in self.layers:
            x = layer(x, rows.neighbours(x, self.k))
            found.append(x)
        return found
