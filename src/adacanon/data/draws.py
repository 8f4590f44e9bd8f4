"""Random numbers for the samples of a synthetic data set."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Draws:
    """Numbers for some samples, from one stream."""

    samples: int
    generator: torch.Generator

    def between(self, low: float, high: float, *more: int) -> Tensor:
        """Uniform ones, (samples, *more)."""
        return low + (high - low) * torch.rand(self.samples, *more, generator=self.generator)

    def chance(self, probability: float) -> Tensor:
        """Whether something happens, (samples,) of booleans."""
        return self.between(0, 1) < probability
