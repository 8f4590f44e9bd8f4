"""Small networks and families that several tests share."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adacanon.core import Family
from adacanon.core.pytree import tensors
from adacanon.spaces import SO3, Finite, Orthogonal

POINTS = 4


def clouds(batch: int = 3, *, seed: int = 11, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(batch, POINTS, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def cloud_network(classes: int = 3, *, seed: int = 5, dtype: torch.dtype = torch.float64) -> nn.Sequential:
    """A smooth network on clouds without interaction between rows."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = nn.Sequential(nn.Flatten(), nn.Linear(3 * POINTS, 8), nn.Tanh(), nn.Linear(8, classes))
    return network.to(dtype)


def normalised_network(classes: int = 3, *, seed: int = 5) -> nn.Sequential:
    """With BatchNorm and dropout, in training mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = [nn.Flatten(), nn.Linear(3 * POINTS, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, classes)]
    return nn.Sequential(*layers).double()


class Spy(nn.Module):
    """Passes everything on and remembers the number of rows, and whether gradients were on, of every call."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.calls: list[tuple[int, bool]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.calls.append((tensors(x)[0].shape[0], torch.is_grad_enabled()))
        return self.network(x)

    def rows(self, *, gradients: bool) -> list[int]:
        return [rows for rows, enabled in self.calls if enabled == gradients]


class DenseNetwork(nn.Module):
    """Outputs (pairs, points, classes)."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            self.linear = nn.Linear(3, classes).double()

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) * 2


@dataclass(frozen=True)
class Views(Family):
    """Rotations whose forms are dicts: the turned cloud, and invariants beside it."""

    def space(self, g: Tensor) -> SO3:
        return SO3()

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> dict[str, Tensor]:
        cloud = g[owner]
        return {"cloud": cloud @ u.mT, "norms": cloud.norm(dim=-1)}


class ViewNetwork(nn.Module):
    def __init__(self, classes: int = 2) -> None:
        super().__init__()
        self.body = cloud_network(classes)

    def forward(self, x: dict[str, Tensor]) -> Tensor:
        return self.body(x["cloud"]) + x["norms"].sum(1, keepdim=True)


@dataclass(frozen=True)
class PaddedRotations(Family):
    r""":math:`\kappa_U(x) = Ux` for vectors of unequal lengths, padded with zeros; g is (vectors, sizes)."""

    def space(self, g: tuple[Tensor, Tensor]) -> Orthogonal:
        return Orthogonal(g[1])

    def transform(self, g: tuple[Tensor, Tensor], u: Tensor, owner: Tensor) -> Tensor:
        n = u.shape[-1]
        turned = (u @ g[0][owner, :n].unsqueeze(-1)).squeeze(-1)
        return nn.functional.pad(turned, (0, g[0].shape[1] - n))

    def anchor(self, g: tuple[Tensor, Tensor]) -> Tensor:
        """Householder reflections that send every vector to the first axis."""
        n = int(g[1].max())
        v = g[0][:, :n] - g[0].norm(dim=1, keepdim=True) * torch.eye(n, dtype=g[0].dtype)[0]
        v = v / v.norm(dim=1, keepdim=True).clamp(min=1e-12)
        return (torch.eye(n, dtype=v.dtype) - 2 * v.unsqueeze(-1) * v.unsqueeze(-2)).unsqueeze(1)


def padded_vectors() -> tuple[Tensor, Tensor]:
    sizes = torch.tensor([3, 1, 5, 2])
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(8), dtype=torch.float64)
    return x * (torch.arange(5) < sizes[:, None]), sizes


@dataclass(frozen=True)
class Mirror(Family):
    """Index 1 mirrors the first coordinate of a cloud, index 0 does nothing."""

    def space(self, g: Tensor) -> Finite:
        return Finite(2)

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        signs = torch.ones(u.shape[0], 1, 3, dtype=g.dtype)
        signs[:, 0, 0] = 1 - 2 * u.to(g.dtype)
        return g[owner] * signs
