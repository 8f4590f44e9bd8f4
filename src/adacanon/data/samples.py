"""Samples with their classes, and how they were read."""

from dataclasses import dataclass

import torch
from torch import Tensor

GIVEN = "names that were given"
"""Where an order of classes may come from; the caller knows more."""


@dataclass(frozen=True)
class Labelled:
    """Samples with their classes.

    Attributes:
        inputs: images (samples, channels, height, width) with values in [0, 1], or clouds (samples, points, 3).
        labels: (samples,).
        class_names: in the order of the labels, or None if they are not known.
        class_source: where the order of the classes was taken from, in words.
        preparation: what was done to the inputs, in words.

    Example:
        >>> Labelled(torch.rand(3, 1, 28, 28), torch.tensor([0, 1, 0]), ("cat", "dog")).inputs.shape
        torch.Size([3, 1, 28, 28])
    """

    inputs: Tensor
    labels: Tensor
    class_names: tuple[str, ...] | None
    class_source: str = ""
    preparation: tuple[str, ...] = ()


def drawn_rows(count: int, limit: int | None, seed: int) -> Tensor:
    """Indices of all samples, or of so many that are drawn at random, in their order."""
    if limit is None or limit >= count:
        return torch.arange(count)
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:limit].sort().values


def drawn_note(count: int, chosen: int) -> list[str]:
    """In words, if not all samples were taken."""
    return [f"{chosen} of {count} samples, drawn at random"] if chosen < count else []
