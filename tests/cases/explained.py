"""Small models whose answers are explained."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from adacanon import Canonicalized
from adacanon.core import Canonical, Family
from adacanon.graphs import BandRotations, anlsf, dyadic
from adacanon.images import Rotations as ImageRotations
from adacanon.points import Rotations
from adacanon.spaces import Finite


class Largest(nn.Module):
    """Scores of clouds: the largest of a few random functions of their points."""

    def __init__(self, outputs: int = 3, *, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.randn(3, outputs, generator=generator), requires_grad=False)

    def forward(self, points: Tensor) -> Tensor:
        return torch.tanh(points @ self.weight).amax(1)


class Flips(Family):
    """Signals (batch, n) as they are, or backwards; without words or pictures."""

    def space(self, g: Tensor) -> Finite:
        return Finite(2)

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return torch.where(u[:, None] == 1, g[owner].flip(1), g[owner])


def rods(batch: int = 3, points: int = 80) -> Tensor:
    """Clouds of three different lengths along their axes."""
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, points, 3, generator=generator) * torch.tensor([1.0, 0.5, 0.2])


def pictures(batch: int = 3, side: int = 12) -> Tensor:
    return torch.rand(batch, 1, side, side, generator=torch.Generator().manual_seed(2))


def classifier(side: int = 12, classes: int = 3) -> nn.Module:
    network = nn.Sequential(nn.Flatten(), nn.Linear(side * side, classes))
    generator = torch.Generator().manual_seed(3)
    for parameter in network.parameters():
        parameter.data = 0.2 * torch.randn(parameter.shape, generator=generator)
    return network.requires_grad_(False)


def cycles(batch: int = 2, nodes: int = 8) -> list[Data]:
    forwards = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    generator = torch.Generator().manual_seed(4)
    edge_index = torch.cat([forwards, forwards.flip(0)], 1)
    return [Data(x=torch.randn(nodes, 2, generator=generator), edge_index=edge_index) for _ in range(batch)]


def of_clouds() -> Canonical:
    return Canonicalized(Largest(), Rotations()).eval().canonicalize(rods())


def of_images() -> Canonical:
    return Canonicalized(classifier(), ImageRotations()).eval().canonicalize(pictures())


def of_graphs() -> Canonical:
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = anlsf(BandRotations(dyadic(3), rows=2), channels=2, classes=2, hidden=8)
    return model.eval().canonicalize(cycles())
