"""Small maximization problems whose maximum is known in closed form."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.pytree import Tree
from adacanon.points.rotations import Rotations
from adacanon.spaces.circle import Circle
from adacanon.spaces.finite import Finite


@dataclass(frozen=True)
class Problem:
    r"""The functions :math:`u \mapsto f_d(\kappa_u(g_i))` and their maxima, (batch, classes).

    Example:
        >>> problem = circle_problem(batch=2, classes=3)
        >>> problem.network(problem.g).shape, problem.maximum.shape
        (torch.Size([2, 3]), torch.Size([2, 3]))
    """

    network: Callable[[Tree], Tensor]
    family: Family
    g: Tree
    maximum: Tensor


@dataclass(frozen=True)
class PlaneRotations(Family):
    r""":math:`\kappa_\theta(x)` turns vectors (batch, 2) by the angle :math:`\theta`.

    The anchor turns them to the first axis.
    """

    def space(self, g: Tensor) -> Circle:
        return Circle()

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        x, y = g[owner].unbind(-1)
        return torch.stack([x * u.cos() - y * u.sin(), x * u.sin() + y * u.cos()], dim=-1)

    def anchor(self, g: Tensor) -> Tensor:
        return -torch.atan2(g[:, 1:], g[:, :1])


@dataclass(frozen=True)
class Shifts(Family):
    r""":math:`\kappa_k(x)_i = x_{(i - k) \bmod n}` for vectors (batch, n)."""

    def space(self, g: Tensor) -> Finite:
        return Finite(g.shape[1])

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        n = g.shape[1]
        return g[owner].gather(1, (torch.arange(n, device=g.device) - u.unsqueeze(1)) % n)


def rotation_problem(*, batch: int = 4, classes: int = 3, seed: int = 2026) -> Problem:
    r""":math:`\max_R \langle A_d, XR^\top\rangle = \sigma_1 + \sigma_2 \pm \sigma_3`,
    the singular values of :math:`A_d^\top X` with the sign of its determinant.

    Example:
        >>> problem = rotation_problem(batch=2, classes=3)
        >>> problem.family, problem.g.shape, problem.maximum.shape
        (Rotations(), torch.Size([2, 5, 3]), torch.Size([2, 3]))
    """
    generator = torch.Generator().manual_seed(seed)
    clouds = torch.randn(batch, 5, 3, generator=generator, dtype=torch.float64)
    weights = torch.randn(classes, 5, 3, generator=generator, dtype=torch.float64)
    correlation = torch.einsum("dni,bnj->bdij", weights, clouds)
    values = torch.linalg.svdvals(correlation)
    signed = values[..., 2] * torch.linalg.det(correlation).sign()
    return Problem(
        lambda forms: torch.einsum("dni,pni->pd", weights, forms),
        Rotations(),
        clouds,
        values[..., 0] + values[..., 1] + signed,
    )


def circle_problem(*, batch: int = 4, classes: int = 3, seed: int = 2026) -> Problem:
    r""":math:`\max_\theta \langle a_d, \kappa_\theta(x)\rangle = |a_d||x|`.

    Example:
        >>> problem = circle_problem()
        >>> bool((problem.network(problem.g) <= problem.maximum).all())
        True
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, 2, generator=generator, dtype=torch.float64)
    a = torch.randn(classes, 2, generator=generator, dtype=torch.float64)
    return Problem(lambda forms: forms @ a.T, PlaneRotations(), x, x.norm(dim=1, keepdim=True) * a.norm(dim=1))


def finite_problem(*, batch: int = 4, classes: int = 3, size: int = 6, seed: int = 2026) -> Problem:
    r""":math:`\max_k \langle a_d, \kappa_k(x)\rangle`, the largest entry of a circular correlation.

    Example:
        >>> finite_problem(size=6).family.space(torch.zeros(1, 6))
        Finite(size=6)
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, size, generator=generator, dtype=torch.float64)
    a = torch.randn(classes, size, generator=generator, dtype=torch.float64)
    shifts = [(x.roll(k, 1) @ a.T) for k in range(size)]
    maximum = torch.full((batch, classes), -math.inf, dtype=torch.float64)
    for values in shifts:
        maximum = torch.maximum(maximum, values)
    return Problem(lambda forms: forms @ a.T, Shifts(), x, maximum)
