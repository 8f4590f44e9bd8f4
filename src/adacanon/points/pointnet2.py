"""PointNet++: small PointNets on balls around centres, level by level."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.errors import InputError
from adacanon.points.edges import folded_edges, group_maximum
from adacanon.points.grouping import Balls, balls
from adacanon.points.head import check_batch, classification_head
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.rows import checked_rows
from adacanon.takes import in_order, several, share, takes, whole

LEVELS = (Balls(512, 0.2, 32), Balls(128, 0.4, 64))
"""Of the reference, for 1024 points."""


class SetAbstraction(nn.Module):
    r"""One level: :math:`f_i = \max_{j \in B(c_i)} \phi(x_j - c_i, f_j)` for centres :math:`c_i` and balls B.

    The first layer of :math:`\phi` is linear in centre and member, so it is multiplied once per point
    (:mod:`~adacanon.points.edges`).

    Args:
        balls: the groups.
        channels: features of a point, beside its coordinates.
        widths: of the layers of :math:`\phi`.

    Shape:
        points (batch, points, 3), features (batch * points, channels) or None
        -> (batch, centres, 3), (batch * centres, widths[-1])
    """

    def __init__(self, balls: Balls, channels: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.balls = balls
        self.first = nn.Linear(3 + channels, widths[0], bias=False)
        self.norm = nn.BatchNorm1d(widths[0])
        self.layers = nn.ModuleList(NormalizedLinear(a, b, fold_batches=False) for a, b in pairwise(widths))

    def forward(self, points: Tensor, features: Tensor | None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        groups = self.balls.group(points, mask)
        near_zero = groups.around_their_means()
        at = near_zero.points if features is None else torch.cat([near_zero.points, features], 1)
        weight = self.first.weight
        own, beside, bias = folded_edges(self.norm, -weight[:, :3], weight, near_zero.centres, at, groups.members)
        edges = functional.linear(at, beside)[groups.members]
        edges = (edges + functional.linear(near_zero.centres, own, bias).unsqueeze(1)).relu_()
        return groups.positions, _largest(self.layers, edges)

    def extra_repr(self) -> str:
        return f"{self.balls}"


class PointNet2(nn.Module):
    r"""PointNet++ with single-scale grouping: set abstractions, then
    :math:`f(X) = \mathrm{head}\bigl(\max_i \phi(c_i, f_i)\bigr)` over the centres of the last level.

    Layers have batch normalization and ReLU. Two choices differ from the reference and make the network independent of
    the order of points: sampling starts at the point farthest from the centroid, not at the first one, and
    balls keep their nearest points, not the first ones.

    Args:
        classes: outputs.
        levels: balls of every level; fewer centres suit smaller clouds.
        widths: of the layers of every level.
        last: widths of the layers over all centres of the last level.
        head: widths of the hidden layers after the last maximum.
        dropout: share of the units that are dropped in training after every hidden layer of the head.

    Shape:
        points (batch, points, 3), and for padded clouds a mask (batch, points), True for real points
        -> (batch, classes)

    Example:
        >>> PointNet2(10, levels=(Balls(32, 0.4, 16), Balls(8, 0.8, 16)))(torch.randn(4, 64, 3)).shape
        torch.Size([4, 10])

    Reference:
        Qi, Yi, Su & Guibas, "PointNet++: Deep Hierarchical Feature Learning on Point Sets in a Metric Space", NeurIPS
        2017.
    """

    @takes(classes=whole(1), levels=balls, last=several(1), head=several(1), dropout=share)
    def __init__(
        self,
        classes: int,
        *,
        levels: Sequence[Balls] = LEVELS,
        widths: Sequence[Sequence[int]] = ((64, 64, 128), (128, 128, 256)),
        last: Sequence[int] = (256, 512, 1024),
        head: Sequence[int] = (512, 256),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        widths = [
            several(1)("PointNet2", "widths", width) for width in in_order("PointNet2", "widths", widths, what="widths")
        ]
        if not levels or len(levels) != len(widths) or not all([*widths, last]):
            raise InputError(
                f"PointNet2 needs layers for every level, got {len(levels)} levels, widths={widths} and last={last}"
            )
        self.centres = levels[0].centres
        channels = [0, *(width[-1] for width in widths)]
        stages = zip(levels, channels, widths, strict=False)
        self.levels = nn.ModuleList(SetAbstraction(*stage) for stage in stages)
        self.last = nn.ModuleList(
            NormalizedLinear(a, b, fold_batches=False) for a, b in pairwise([3 + channels[-1], *last])
        )
        self.head = classification_head([last[-1], *head], classes, dropout=dropout, every_layer=True)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.features(points, mask))

    def features(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """The maximum over the centres of the last level (batch, last[-1])."""
        checked_rows("PointNet2", points, mask, channels=3, least=self.centres)
        check_batch("PointNet2", points, self.head)
        features = None
        for level in self.levels:
            points, features = level(points, features, mask)
            mask = None  # centres are real points
        assert features is not None
        return _largest(self.last, torch.cat([points, features.unflatten(0, points.shape[:2])], 2))


def _largest(layers: Iterable[nn.Module], members: Tensor) -> Tensor:
    r""":math:`\max_j \phi(x_j)` in every group.

    Shape:
        (groups, members, channels) -> (groups, width of the last layer)
    """
    size, x = members.shape[1], members.flatten(0, 1)
    for layer in layers:
        x = layer(x).relu_()
    return group_maximum(x.unflatten(0, (-1, size)))
