"""A small ranker that is not trained: any order of candidates will do where laws are checked."""

import torch
from torch import Tensor, nn

from adacanon.maximizers import Ranker


class RankingNetwork(nn.Module):
    """Any number of points; a maximum over them."""

    def __init__(self, outputs: int, seed: int = 9) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.pointwise, self.head = nn.Linear(3, 8), nn.Linear(8, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.pointwise(x).relu().amax(1))


def small_ranker(outputs: int, *, size: int | None = None, dtype: torch.dtype = torch.float64) -> Ranker:
    return Ranker(RankingNetwork(outputs), outputs, size=size, cost=0.05).to(dtype)
