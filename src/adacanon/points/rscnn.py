"""RS-CNN: convolutions whose weights are learned from the geometric relation between points."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from adacanon.errors import InputError
from adacanon.points.edges import group_maximum
from adacanon.points.grouping import Balls, Groups, balls
from adacanon.points.head import check_batch, classification_head
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.rows import checked_rows
from adacanon.takes import several, share, takes, whole

LEVELS = (Balls(512, 0.23, 48), Balls(128, 0.32, 64))
"""Of the reference's code, for 1024 points."""

RELATION = 10
"""Numbers that describe the relation of two points."""


class RelationConvolution(nn.Module):
    r"""One level: :math:`f_i = \sigma\bigl(\mathrm{BN}\bigl(W \max_{j \in B(c_i)} \sigma(\mathrm{BN}(M(h_{ij}) \odot
    g_j))\bigr)\bigr)` with :math:`h_{ij} = (\|x_j - c_i\|, c_i, x_j, x_j - c_i)` and :math:`g_j = (x_j - c_i, f_j)`.

    M has one hidden layer with batch normalization and ReLU. In the first level, where there are no features yet,
    :math:`g_j` is raised by a linear layer with batch normalization and ReLU.

    Args:
        balls: the groups.
        channels: features of a point, beside its coordinates.
        mapping: width of the hidden layer of M.
        outputs: channels of the answer.
        raised: channels that :math:`g_j` is raised to; None to take it as it is.

    Shape:
        points (batch, points, 3), features (batch * points, channels) or None
        -> (batch, centres, 3), (batch * centres, outputs)
    """

    def __init__(self, balls: Balls, channels: int, *, mapping: int, outputs: int, raised: int | None = None) -> None:
        super().__init__()
        self.balls = balls
        width = raised or 3 + channels
        self.raising = NormalizedLinear(3 + channels, width) if raised else None
        self.relation = NormalizedLinear(RELATION, mapping)
        self.weights = nn.Linear(mapping, width)
        self.norm = nn.BatchNorm1d(width)
        self.outputs = NormalizedLinear(width, outputs)

    def forward(self, points: Tensor, features: Tensor | None, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        groups = self.balls.group(points, mask)
        beside, relations = _relations(groups)
        g = beside if features is None else torch.cat([beside, features[groups.members]], 2)
        g = g.flatten(0, 1)
        if self.raising is not None:
            g = self.raising(g).relu_()
        products = self.norm(self.weights(self.relation(relations.flatten(0, 1)).relu_()) * g)
        largest = group_maximum(products.unflatten(0, groups.members.shape))
        return groups.positions, self.outputs(largest.relu()).relu_()

    def extra_repr(self) -> str:
        return f"{self.balls}"


class RSCNN(nn.Module):
    r"""RS-CNN with single-scale neighbourhoods: relation convolutions, then
    :math:`f(X) = \mathrm{head}\bigl(\max_i \sigma(\mathrm{BN}(W(c_i, f_i)))\bigr)` over the centres of the last level.

    The ten numbers of a pair are those of the article, with absolute coordinates :math:`c_i` and :math:`x_j`. In the
    authors' code a subtraction in place turns these into differences from the centre too, so that as it runs it sees
    :math:`(\|x_j - c_i\|, 0, x_j - c_i, x_j - c_i)`: there this network deviates from it.

    Taken from the authors' code for classification: centres, radii and numbers of neighbours, 16 raised channels, M
    of 10, 64, 16 and of 10, 128, 131 numbers, 128, 512 and 1024 channels, a head of 512 and 256, dropout 0.5. It counts
    1.29 million parameters. Not taken: biases before batch normalizations, which have no effect; the choice of
    neighbours and of the first centre, for which see :class:`~adacanon.points.pointnet2.PointNet2`; the second copy of
    its centre in every ball; several scales, the vote over scaled copies, and the initialisation.

    Args:
        classes: outputs.
        levels: balls of the two levels; fewer centres suit smaller clouds.
        widths: channels of the two levels and of the layer before the last maximum.
        head: widths of the hidden layers after the last maximum.
        dropout: share of the units that are dropped in training after every hidden layer of the head.

    Shape:
        points (batch, points, 3), and for padded clouds a mask (batch, points), True for real points
        -> (batch, classes)

    Example:
        >>> RSCNN(10, levels=(Balls(32, 0.4, 16), Balls(8, 0.8, 16)))(torch.randn(4, 64, 3)).shape
        torch.Size([4, 10])

    Reference:
        Liu, Fan, Xiang & Pan, "Relation-Shape Convolutional Neural Network for Point Cloud Analysis", CVPR 2019.
    """

    @takes(classes=whole(1), levels=balls, widths=several(1), head=several(1), dropout=share)
    def __init__(
        self,
        classes: int,
        *,
        levels: Sequence[Balls] = LEVELS,
        widths: Sequence[int] = (128, 512, 1024),
        head: Sequence[int] = (512, 256),
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if len(levels) != 2 or len(widths) != 3:
            raise InputError(f"RSCNN has two levels and three widths, got {len(levels)} and {tuple(widths)}")
        first, second, last = widths
        self.first = RelationConvolution(levels[0], 0, mapping=first // 2, outputs=first, raised=16)
        self.second = RelationConvolution(levels[1], first, mapping=second // 4, outputs=second)
        self.last = NormalizedLinear(3 + second, last, fold_batches=False)
        self.head = classification_head([last, *head], classes, dropout=dropout, every_layer=True)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.features(points, mask))

    def features(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """The maximum over the centres of the last level (batch, widths[-1])."""
        checked_rows("RSCNN", points, mask, channels=3, least=self.first.balls.centres)
        check_batch("RSCNN", points, self.head)
        points, features = self.first(points, None, mask)
        points, features = self.second(points, features)
        x = self.last(torch.cat([points.flatten(0, 1), features], 1))
        return group_maximum(x.unflatten(0, points.shape[:2])).relu()


def _relations(groups: Groups) -> tuple[Tensor, Tensor]:
    """Vectors from centres to members (centres, count, 3) and the ten numbers of each pair (centres, count, 10)."""
    at = groups.points[groups.members]
    own = groups.centres.unsqueeze(1)
    beside = at - own
    squared = beside.square().sum(2, keepdim=True)
    zero = squared == 0
    distance = squared.masked_fill(zero, 1).sqrt().masked_fill(zero, 0)  # the root has no slope at zero
    return beside, torch.cat([distance, own.expand_as(at), at, beside], 2)
