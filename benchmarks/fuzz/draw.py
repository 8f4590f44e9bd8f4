"""What a case draws: everything follows from the name of the case, so that a single one can be repeated."""

import random
from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class Draw:
    """Random choices of one case.

    Example:
        >>> Draw("1/files/7").whole(0, 9) == Draw("1/files/7").whole(0, 9)
        True
    """

    def __init__(self, name: str) -> None:
        self.random = random.Random(name)
        self.generator = torch.Generator().manual_seed(self.random.getrandbits(60))

    def pick(self, things: Sequence[T]) -> T:
        return self.random.choice(things)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def whole(self, low: int, high: int) -> int:
        """Both ends included."""
        return self.random.randint(low, high)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return torch.randn(*shape, generator=self.generator, dtype=dtype)
