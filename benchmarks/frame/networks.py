"""The network and the clouds that all benchmarks share."""

import itertools
import os
from pathlib import Path

import torch
from torch import Tensor, nn

from adacanon.spaces import SO3


class SmallPointNet(nn.Module):
    r""":math:`X \mapsto \psi(\max_n \phi(x_n))` with widths 3, 32, 64, 128 and 128, 64, classes."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.pointwise = _perceptron(3, 32, 64, 128)
        self.head = _perceptron(128, 64, classes)

    def forward(self, clouds: Tensor) -> Tensor:
        return self.head(self.pointwise(clouds).amax(-2))


def random_network(classes: int = 10, *, seed: int = 0) -> SmallPointNet:
    """A network at random initialisation, the same for the same seed; the caller's random state stays as it is."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return SmallPointNet(classes).eval()


def clouds(count: int, points: int, *, seed: int = 0) -> tuple[Tensor, str]:
    """Clouds (count, points, 3) in the unit ball and in random poses, and where they come from."""
    generator = torch.Generator().manual_seed(seed)
    path = Path(os.environ.get("ADACANON_DATA", "")) / "pointclouds" / "modelnet40.npz"
    real = "ADACANON_DATA" in os.environ and path.exists()
    upright = _modelnet(path, count, points, generator) if real else _gaussians(count, points, generator)
    upright = upright - upright.mean(1, keepdim=True)
    upright = upright / upright.norm(dim=2).amax(1)[:, None, None]
    poses = SO3().sample(count, generator=generator).to(upright)
    return upright @ poses.mT, "ModelNet40 (test)" if real else "anisotropic Gaussian clouds"


def crossing_path(steps: int, points: int = 128, *, seed: int = 0) -> Tensor:
    r"""Clouds :math:`Z\,\mathrm{diag}(1+t, 1-t, 1/2)` with isotropic Z; two principal axes cross at t = 0."""
    z = torch.randn(points, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    z = torch.linalg.qr(z - z.mean(0)).Q * (points / 9) ** 0.5
    t = torch.linspace(-0.2, 0.2, steps + 1, dtype=torch.float64) + 0.4 / (3 * steps)
    return (z * torch.stack([1 + t, 1 - t, torch.full_like(t, 0.5)], dim=-1).unsqueeze(1)).float()


def _perceptron(*widths: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(widths):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def _gaussians(count: int, points: int, generator: torch.Generator) -> Tensor:
    scales = 0.2 + torch.rand(count, 1, 3, generator=generator)
    return torch.randn(count, points, 3, generator=generator) * scales


def _modelnet(path: Path, count: int, points: int, generator: torch.Generator) -> Tensor:
    import numpy as np

    with np.load(path) as archive:
        stored = torch.from_numpy(archive["test_points"]).float()
    chosen = stored[torch.randperm(len(stored), generator=generator)[:count]]
    return chosen[:, torch.randperm(chosen.shape[1], generator=generator)[:points]]
