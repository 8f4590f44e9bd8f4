"""Made clouds with symmetry: exact ones, whose variances agree to within rounding, and the same with some noise."""

import math

import torch
from torch import Tensor

from adacanon.points.rotations import rotations_about
from adacanon.spaces.so3 import rotation_group

UP = (0.0, 0.0, 1.0)
SEED = 5


def made_clouds() -> dict[str, Tensor]:
    """Clouds (points, 3) in float64, centred in the unit ball, by name."""
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 3)
    draws = torch.rand(80, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(SEED))
    found = {
        "cube, 8 corners": corners,
        "cube, 120 points": copies(on_cube(draws[:5]), rotation_group("cube")),
        "icosahedron, 12 corners": icosahedron(),
        "ball of 180 points": copies(draws[:3] - 0.5, rotation_group("icosahedron")),
        "prism of 3 sides": prism(3, 1.3),
        "prism of 6 sides": prism(6, 0.8),
        "square table": copies(table(draws[:32]), turns(4)),
        "table of 8 sides": copies(table(draws[:16]), turns(8)),
        "cylinder, 24-fold": copies(mantle(draws[:5]), turns(24)),
        "bottle, 40-fold": copies(bottle(draws[:3]), turns(40)),
        "bowl, 100-fold": copies(bowl(draws[:2]), turns(100)),
    }
    return {name: sized(cloud) for name, cloud in found.items()}


def noisy(cloud: Tensor, size: float, *, seed: int) -> Tensor:
    """Every coordinate with a normal error of that size."""
    generator = torch.Generator().manual_seed(seed)
    return cloud + size * torch.randn(cloud.shape, dtype=cloud.dtype, generator=generator)


def isotropic(cloud: Tensor) -> Tensor:
    """A cloud stretched along its axes until its three variances are equal."""
    x = cloud.double() - cloud.double().mean(0)
    variances, axes = torch.linalg.eigh(x.mT @ x)
    return sized(x @ axes / variances.sqrt())


def two_alike(cloud: Tensor) -> Tensor:
    """A cloud stretched along its second axis until it has the variance of the longest one."""
    x = cloud.double() - cloud.double().mean(0)
    variances, axes = torch.linalg.eigh(x.mT @ x)
    scales = torch.ones_like(variances)
    scales[1] = (variances[2] / variances[1]).sqrt()
    return sized(x @ axes * scales)


def sized(cloud: Tensor) -> Tensor:
    """Centred in the unit ball."""
    x = cloud - cloud.mean(0)
    return x / x.norm(dim=1).amax()


def copies(points: Tensor, group: Tensor) -> Tensor:
    """The images of all points under all elements of a group."""
    return torch.einsum("gij,nj->gni", group.to(points), points).flatten(0, 1)


def turns(count: int) -> Tensor:
    """The rotations about the upright axis by multiples of a share of a turn."""
    return rotations_about(UP, torch.arange(count, dtype=torch.float64) * 2 * math.pi / count)


def on_cube(draws: Tensor) -> Tensor:
    """Points of one face."""
    return torch.stack([2 * draws[:, 0] - 1, 2 * draws[:, 1] - 1, torch.ones_like(draws[:, 0])], 1)


def icosahedron() -> Tensor:
    """Its corners."""
    golden = (1 + math.sqrt(5)) / 2
    rectangle = torch.tensor([[0, a, b * golden] for a in (-1, 1) for b in (-1, 1)], dtype=torch.float64)
    return torch.cat([rectangle.roll(places, 1) for places in range(3)])


def prism(sides: int, height: float) -> Tensor:
    """The corners of a prism over a regular polygon."""
    return copies(torch.tensor([[1.0, 0.0, height], [1.0, 0.0, -height]], dtype=torch.float64), turns(sides))


def table(draws: Tensor) -> Tensor:
    """A quarter: a part of the top, and a leg."""
    top = torch.stack([draws[:, 0], draws[:, 1] * 2 - 1, torch.full_like(draws[:, 0], 0.6)], 1)
    leg = torch.stack([0.85 + 0.1 * draws[:, 0], 0.85 + 0.1 * draws[:, 1], 1.2 * draws[:, 2] - 0.6], 1)
    return torch.where(torch.arange(len(draws))[:, None] % 3 == 0, leg, top)


def mantle(draws: Tensor) -> Tensor:
    """Points of a cylinder's mantle."""
    angle = draws[:, 0] * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin(), 3 * draws[:, 2] - 1.5], 1)


def bottle(draws: Tensor) -> Tensor:
    """A wide body and a thin neck."""
    angle, height = draws[:, 0] * 2 * math.pi, 4 * draws[:, 2]
    radius = torch.where(height < 2.6, 1.0, 0.35)
    return torch.stack([radius * angle.cos(), radius * angle.sin(), height], 1)


def bowl(draws: Tensor) -> Tensor:
    """The lower half of a sphere."""
    angle, height = draws[:, 0] * 2 * math.pi, -draws[:, 2]
    radius = (1 - height.square()).sqrt()
    return torch.stack([radius * angle.cos(), radius * angle.sin(), height], 1)
