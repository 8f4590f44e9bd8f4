"""Run a search several times and keep the best."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import torch
from torch import nn

from adacanon.arguments import MOST, set_whole_numbers
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, as_maximizer
from adacanon.maximizers.selection import better


@dataclass(frozen=True)
class Restarts(Maximizer):
    """The best outcome, per input and form, of ``times`` independent runs of another search.

    Example:
        >>> from adacanon import Canonicalized, SampleAndRefine
        >>> from adacanon.points import PointNet, Rotations
        >>> model = Canonicalized(PointNet(4), Rotations(), Restarts(SampleAndRefine(10, 1), 2)).eval()
        >>> model(torch.randn(2, 9, 3)).shape
        torch.Size([2, 4])
    """

    search: Maximizer
    times: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "search", as_maximizer(self.search))
        set_whole_numbers(self, "times", least=1, most=MOST)

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        runs = (self.search.maximize(landscape, generator=generator) for _ in range(self.times))
        return reduce(better, runs)

    def with_budget(self, budget: float, landscape: Landscape) -> Maximizer:
        """As many repetitions as one evaluation each allows, with equal shares."""
        times = min(self.times, max(1, int(budget)))
        return Restarts(self.search.with_budget(budget / times, landscape), times)

    def search_state(self) -> Iterator[nn.Module]:
        return self.search.search_state()
