r"""Vector neurons: layers whose features are vectors that turn with the input.

A feature tensor V is (3, ..., channels), the coordinates first; a rotation R acts on the first axis, and every layer f
has :math:`f(RV) = R f(V)`. Linear layers mix channels and never coordinates, so they have no bias; what decides
about a vector (its length, its angle to a direction that is made of the same features) is invariant.

Reference:
    Deng, Litany, Duan, Poulenard, Tagliasacchi & Guibas, "Vector Neurons: A General Framework for SO(3)-Equivariant
    Networks", ICCV 2021. Lengths get the small constant of the authors' code, :math:`|v| + \epsilon`.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.aligned_product import product
from adacanon.baselines.clouds.vector_activations import (
    EPSILON,
    activate,
    activate_edges,
    edge_norm_statistics,
    norm_statistics,
)
from adacanon.errors import ShapeError
from adacanon.points.normalized_linear import running_statistics, track

SLOPE = 0.2
"""Of the activations against their direction."""

Spread = Callable[[Tensor], Tensor]


class VNLinear(nn.Linear):
    r""":math:`V \mapsto V W^\top`, the same for each coordinate.

    Shape:
        (3, ..., inputs) -> (3, ..., outputs)

    Example:
        >>> vectors = torch.randn(3, 10, 4)
        >>> layer, turn = VNLinear(4, 5), torch.linalg.qr(torch.randn(3, 3)).Q
        >>> turned = torch.einsum("ij,jrc->irc", turn, vectors)
        >>> torch.allclose(layer(turned), torch.einsum("ij,jrc->irc", turn, layer(vectors)), atol=1e-5)
        True
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs, bias=False)

    def forward(self, vectors: Tensor) -> Tensor:
        _check("VNLinear", vectors, self.in_features)
        return product(vectors, self.weight)


class VNBatchNorm(nn.Module):
    r""":math:`v \mapsto \mathrm{BN}(|v|)\, v / |v|`: batch normalization of lengths, one per channel.

    Shape:
        (3, ..., channels) -> (3, ..., channels)

    Example:
        >>> VNBatchNorm(4)(torch.randn(3, 10, 4)).shape
        torch.Size([3, 10, 4])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, vectors: Tensor) -> Tensor:
        _check("VNBatchNorm", vectors, self.norm.num_features)
        scale, shift = self.folded(vectors)
        return vectors * (scale + shift / (vectors.norm(dim=0) + EPSILON))

    def folded(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        r""":math:`\gamma, \beta` (channels,) with :math:`\mathrm{BN}(n) = \gamma n + \beta`; in training, updates the
        running statistics.
        """
        if not self.norm.training:
            return self.with_statistics(*running_statistics(self.norm))
        return self.with_batch(*norm_statistics(vectors.reshape(3, -1, vectors.shape[-1])), vectors[0, ..., 0].numel())

    def with_batch(self, mean: Tensor, variance: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The same from the statistics of ``count`` lengths."""
        track(self.norm, mean.detach(), variance.detach(), count)
        return self.with_statistics(mean, variance)

    def with_statistics(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        scale = self.norm.weight * (variance + self.norm.eps).rsqrt()
        return scale, self.norm.bias - mean * scale


class VNLeakyReLU(nn.Module):
    r""":math:`v \mapsto v - (1 - a)\min(\langle v, d\rangle, 0)\, d / |d|^2` with directions :math:`d = UV`.

    Args:
        channels: of the features.
        slope: a.

    Shape:
        (3, ..., channels) -> (3, ..., channels)

    Example:
        >>> VNLeakyReLU(4)(torch.randn(3, 10, 4)).shape
        torch.Size([3, 10, 4])
    """

    def __init__(self, channels: int, *, slope: float = SLOPE) -> None:
        super().__init__()
        self.direction, self.slope = VNLinear(channels, channels), slope

    def forward(self, vectors: Tensor) -> Tensor:
        one = vectors.new_ones(vectors.shape[-1])
        rows, directions = (x.reshape(3, -1, x.shape[-1]) for x in (vectors, self.direction(vectors)))
        return activate(rows, directions, one, torch.zeros_like(one), self.slope).view_as(vectors)


class VNLayer(nn.Module):
    r"""Linear layer, batch normalization and leaky ReLU: :math:`p = \mathrm{BN}(WV)`, directions :math:`d = UV` from
    the input.

    Args:
        inputs: channels that come in.
        outputs: channels that go out.
        slope: of the activation.
        shared: one direction for all channels.

    Shape:
        (3, rows, inputs) -> (3, rows, outputs)

    Example:
        >>> VNLayer(4, 6)(torch.randn(3, 10, 4)).shape
        torch.Size([3, 10, 6])
    """

    def __init__(self, inputs: int, outputs: int, *, slope: float = SLOPE, shared: bool = False) -> None:
        super().__init__()
        self.linear, self.direction = VNLinear(inputs, outputs), VNLinear(inputs, 1 if shared else outputs)
        self.norm, self.slope = VNBatchNorm(outputs), slope

    def forward(self, vectors: Tensor) -> Tensor:
        return self.activated(self.linear(vectors), self.direction(vectors))

    def with_context(self, vectors: Tensor, context: Tensor, spread: Spread) -> Tensor:
        """The layer on features beside others that all rows of a cloud share: those are multiplied once per cloud.

        Args:
            vectors: (3, rows, a).
            context: (3, clouds, inputs - a).
            spread: from (3, clouds, channels) to (3, rows, channels).
        """

        def beside_common(layer: VNLinear) -> Tensor:
            own, common = layer.weight.split([vectors.shape[2], context.shape[2]], 1)
            return product(vectors, own) + spread(product(context, common))

        return self.activated(beside_common(self.linear), beside_common(self.direction))

    def activated(self, products: Tensor, directions: Tensor) -> Tensor:
        return activate(products, directions, *self.norm.folded(products), self.slope)


class VNEdgeConvolution(nn.Module):
    r""":math:`V_i \mapsto \mathrm{mean}_{j \in N(i)}\, \sigma(\mathrm{BN}(W[V_j - V_i,\; V_i]))`, directions
    :math:`U[V_j - V_i,\; V_i]`.

    With :math:`W = [A, B]` this is :math:`AV_j + (B - A)V_i`: products are taken per point, not per edge.

    Shape:
        vectors (3, rows, inputs), neighbours (rows, k) naming rows -> (3, rows, outputs)

    Example:
        >>> neighbours = torch.randint(10, (10, 5))
        >>> VNEdgeConvolution(4, 6)(torch.randn(3, 10, 4), neighbours).shape
        torch.Size([3, 10, 6])
    """

    def __init__(self, inputs: int, outputs: int, *, slope: float = SLOPE) -> None:
        super().__init__()
        self.linear, self.direction = VNLinear(2 * inputs, outputs), VNLinear(2 * inputs, outputs)
        self.norm, self.slope = VNBatchNorm(outputs), slope

    def forward(self, vectors: Tensor, neighbours: Tensor) -> Tensor:
        _check("VNEdgeConvolution", vectors, self.linear.in_features // 2)
        products, directions = (edge_ends(layer.weight, vectors) for layer in (self.linear, self.direction))
        if self.norm.norm.training:
            statistics = edge_norm_statistics(*products, neighbours)
            scale, shift = self.norm.with_batch(*statistics, neighbours.numel())
        else:
            scale, shift = self.norm.with_statistics(*running_statistics(self.norm.norm))
        return activate_edges(*products, *directions, scale, shift, neighbours, self.slope)


class VNMaxPool(nn.Module):
    r""":math:`(V_1, \dots, V_n) \mapsto V_{m}` with :math:`m = \arg\max_j \langle V_j, UV_j\rangle`, per channel.

    Shape:
        (3, ..., members, channels) -> (3, ..., channels)

    Example:
        >>> VNMaxPool(4)(torch.randn(3, 2, 10, 4)).shape
        torch.Size([3, 2, 4])
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.direction = VNLinear(channels, channels)

    def forward(self, vectors: Tensor) -> Tensor:
        with torch.no_grad():
            winners = (vectors * self.direction(vectors)).sum(0).argmax(-2, keepdim=True)
        return vectors.gather(-2, winners.expand(3, *winners.shape)).squeeze(-2)


class VNMeanPool(nn.Module):
    """The mean over the members.

    Shape:
        (3, ..., members, channels) -> (3, ..., channels)

    Example:
        >>> VNMeanPool()(torch.randn(3, 2, 10, 4)).shape
        torch.Size([3, 2, 4])
    """

    def forward(self, vectors: Tensor) -> Tensor:
        return vectors.mean(-2)


class VNInvariant(nn.Module):
    r""":math:`V \mapsto V^\top Z` with three vectors :math:`Z = Z(V)` from two layers of a half and a quarter of the
    channels and a linear one: coordinates in a frame that turns with V do not turn.

    Args:
        channels: of the features.
        slope: of the activations.

    Shape:
        (3, rows, channels) -> (rows, 3, channels)

    Example:
        >>> VNInvariant(8)(torch.randn(3, 10, 8)).shape
        torch.Size([10, 3, 8])
    """

    def __init__(self, channels: int, *, slope: float = SLOPE) -> None:
        super().__init__()
        half, quarter = max(1, channels // 2), max(1, channels // 4)
        self.first, self.second = VNLayer(channels, half, slope=slope), VNLayer(half, quarter, slope=slope)
        self.last = VNLinear(quarter, 3)

    def forward(self, vectors: Tensor) -> Tensor:
        return coordinates(vectors, self.last(self.second(self.first(vectors))))

    def frames(self, vectors: Tensor, context: Tensor, spread: Spread) -> Tensor:
        """Z (3, rows, 3) for features beside those of their cloud; arguments as in :meth:`VNLayer.with_context`."""
        return self.last(self.second(self.first.with_context(vectors, context, spread)))


def coordinates(vectors: Tensor, frames: Tensor) -> Tensor:
    r"""Inner products :math:`\langle V_c, Z_l\rangle`.

    Shape:
        (3, rows, channels), (3, rows, 3) -> (rows, 3, channels)
    """
    return torch.bmm(frames.permute(1, 2, 0), vectors.transpose(0, 1))


def edge_ends(weight: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """What neighbours and centres contribute to the products on edges."""
    A, B = weight.chunk(2, 1)
    return product(vectors, A), product(vectors, B - A)


def _check(caller: str, vectors: Tensor, channels: int) -> None:
    if vectors.dim() < 2 or vectors.shape[0] != 3 or vectors.shape[-1] != channels:
        raise ShapeError(
            f"{caller} expects vectors of shape (3, ..., {channels}), got {tuple(vectors.shape)}. "
            "Hint: the coordinates come first and the channels last, points.movedim(-1, 0).unsqueeze(-1) for clouds"
        )
