"""DeepSet: one function of every point, the sum over the points, a head."""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from adacanon.arguments import flag
from adacanon.errors import InputError, UnknownNameError
from adacanon.points.head import check_batch, classification_head
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.rows import checked_rows
from adacanon.takes import several, share, takes, text, whole

POOLINGS = ("sum", "mean")


class DeepSet(nn.Module):
    r""":math:`f(X) = \xi\bigl(\sum_i \phi(x_i)\bigr)` with MLPs :math:`\phi` and :math:`\xi`.

    Linear layers with batch normalization and ReLU; dropout before the last layer of :math:`\xi`. With batch
    normalization the first layer of :math:`\xi` undoes any common factor, so that "sum" and "mean" differ only between
    clouds of unequal sizes; without it, take "mean".

    Taken from the reference: three layers of 256 channels, a head of one hidden layer, dropout 0.5. Not taken: the
    maximum over all points that its layers subtract, in favour of the sum decomposition of its theorem, which is what
    the paper on adaptive canonicalization uses; and its Tanh, for batch normalization with ReLU as in the other
    networks.

    Args:
        classes: outputs.
        channels: coordinates of a point.
        widths: of the layers of :math:`\phi`.
        head: widths of the hidden layers of :math:`\xi`.
        dropout: share of the units before the last layer that are dropped in training.
        batch_norm: normalise after every hidden layer.
        pooling: "sum" or "mean".

    Shape:
        points (batch, points, channels), and for padded clouds a mask (batch, points), True for real points
        -> (batch, classes)

    Example:
        >>> import torch
        >>> DeepSet(10)(torch.randn(4, 128, 3)).shape
        torch.Size([4, 10])

    Reference:
        Zaheer et al., "Deep Sets", NeurIPS 2017.
    """

    @takes(
        classes=whole(1),
        channels=whole(1),
        widths=several(1),
        head=several(1),
        dropout=share,
        batch_norm=flag,
        pooling=text,
    )
    def __init__(
        self,
        classes: int,
        *,
        channels: int = 3,
        widths: Sequence[int] = (256, 256, 256),
        head: Sequence[int] = (256,),
        dropout: float = 0.5,
        batch_norm: bool = True,
        pooling: str = "sum",
    ) -> None:
        super().__init__()
        if not widths:
            raise InputError("DeepSet needs at least one layer before the sum, got widths=()")
        if pooling not in POOLINGS:
            raise UnknownNameError(f"DeepSet pools by {' or '.join(POOLINGS)}, got {pooling!r}")
        self.channels, self.pooling = channels, pooling
        layers = (NormalizedLinear(a, b, batch_norm=batch_norm) for a, b in pairwise([channels, *widths]))
        self.layers = nn.ModuleList(layers)
        self.head = classification_head([widths[-1], *head], classes, dropout=dropout, batch_norm=batch_norm)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.head(self.features(points, mask))

    def features(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """The sum over the points (batch, widths[-1])."""
        rows = checked_rows("DeepSet", points, mask, channels=self.channels)
        check_batch("DeepSet", points, self.head)
        x = rows.of(points)
        for layer in self.layers:
            x = layer(x).relu_()
        return rows.sum(x) if self.pooling == "sum" else rows.mean(x)
