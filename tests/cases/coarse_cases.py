"""Clouds and a network that takes any number of points, for searches over coarse views."""

import torch
from torch import Tensor

from adacanon.core import ClassScore, Landscape, Maximizer, SearchResult
from adacanon.points import Rotations

CLASSES, POINTS = 6, 40


class MaxNetwork(torch.nn.Module):
    """Any number of points; a maximum over them."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(2)
            self.pointwise, self.head = torch.nn.Linear(3, 32).double(), torch.nn.Linear(32, CLASSES).double()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.pointwise(x).relu().amax(1))


def large_clouds(batch: int = 5) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, POINTS, 3, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 0.6, 0.3])


def landscape(network: torch.nn.Module | None = None) -> Landscape:
    return Landscape(network or MaxNetwork(), Rotations(), ClassScore(), large_clouds())


def found_by(search: Maximizer, where: Landscape | None = None) -> SearchResult:
    return search.maximize(where or landscape(), generator=torch.Generator().manual_seed(0))
