"""The layers after the last pooling of a network on clouds."""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from adacanon.errors import ShapeError


def classification_head(
    widths: Sequence[int],
    classes: int,
    *,
    dropout: float,
    batch_norm: bool = True,
    slope: float = 0.0,
    every_layer: bool = False,
) -> nn.Sequential:
    """Linear layers with batch normalization and (leaky) ReLU, dropout, and a last linear layer.

    Args:
        widths: of the input and of the hidden layers.
        classes: outputs.
        dropout: before the last layer, or with ``every_layer`` after every hidden one.
        batch_norm: without it, the hidden layers have biases.
        slope: of the activations below zero.
    """
    layers: list[nn.Module] = []
    for a, b in pairwise(widths):
        layers += [nn.Linear(a, b, bias=not batch_norm), *([nn.BatchNorm1d(b)] if batch_norm else [])]
        layers += [nn.LeakyReLU(slope) if slope else nn.ReLU(), *([nn.Dropout(dropout)] if every_layer else [])]
    last = [] if every_layer else [nn.Dropout(dropout)]
    return nn.Sequential(*layers, *last, nn.Linear(widths[-1], classes))


def check_batch(caller: str, points: Tensor, head: nn.Module) -> None:
    """Refuse a single cloud where the head normalises over the clouds of a batch."""
    normalised = any(isinstance(module, nn.BatchNorm1d) and module.training for module in head.modules())
    if normalised and len(points) < 2:
        raise ShapeError(
            f"{caller} normalises over the clouds of a batch in training and needs two of them, got {len(points)}. "
            "Hint: model.eval(), or a DataLoader with drop_last=True"
        )
