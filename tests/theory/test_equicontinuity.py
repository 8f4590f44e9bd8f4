r"""Definition "continuous prior maximization": :math:`\{g \mapsto f(\kappa_u(g))\}_u` is equicontinuous.

Rotations are isometries, so one modulus of continuity serves all of them:
:math:`\sup_u \|\kappa_u(g) - \kappa_u(g')\| = \|g - g'\|`, for arrays and for multisets.
"""

import torch
from torch import Tensor

from adacanon.points import Rotations, multiset_distance
from adacanon.spaces import SO3
from cases.theory_cases import CloudNetwork, random_clouds, stream

ROTATIONS = SO3().sample(64, generator=stream(3))


def transformed(clouds: Tensor, u: Tensor) -> Tensor:
    """(clouds, transformations, points, 3)"""
    owner = torch.arange(len(clouds)).repeat_interleave(len(u))
    return Rotations().transform(clouds, u.repeat(len(clouds), 1, 1), owner).unflatten(0, (len(clouds), len(u)))


def largest_stretch(g: Tensor, h: Tensor, u: Tensor) -> float:
    r""":math:`\sup_u \|\kappa_u(g)-\kappa_u(h)\| / \|g-h\|`."""
    moved = (transformed(g, u) - transformed(h, u)).flatten(2).norm(dim=2)
    return (moved / (g - h).flatten(1).norm(dim=1, keepdim=True)).max().item()


def test_rotations_are_isometries() -> None:
    g, h = random_clouds(16, seed=0), random_clouds(16, seed=1)
    moved = (transformed(g, ROTATIONS) - transformed(h, ROTATIONS)).flatten(2).norm(dim=2)
    torch.testing.assert_close(moved, (g - h).flatten(1).norm(dim=1, keepdim=True).expand(-1, 64))


def test_rotations_keep_the_distance_of_multisets() -> None:
    g, h = random_clouds(2, seed=0)
    for u in ROTATIONS[:16]:
        torch.testing.assert_close(multiset_distance(g @ u.mT, h @ u.mT), multiset_distance(g, h))


def test_unbounded_dilations_are_not_equicontinuous() -> None:
    """The same measure tells a family without a common modulus: it grows with the set of transformations."""
    g, h = random_clouds(4, seed=0), random_clouds(4, seed=1)
    dilations = (
        torch.eye(3, dtype=torch.float64) * torch.tensor([1.0, 10.0, 1000.0], dtype=torch.float64)[:, None, None]
    )
    assert abs(largest_stretch(g, h, ROTATIONS) - 1) < 1e-12
    assert largest_stretch(g, h, dilations) > 100


def test_a_network_on_all_rotations_shares_one_modulus() -> None:
    r""":math:`\sup_u |f(\kappa_u g) - f(\kappa_u g')| \le L \|g-g'\|` with L a bound on the network alone."""
    f, g = CloudNetwork(0), random_clouds(16)
    inner, middle, outer = f.weights
    lipschitz = 3 * torch.linalg.matrix_norm(outer, 2) * torch.linalg.matrix_norm(middle, 2)
    lipschitz = lipschitz * torch.linalg.matrix_norm(inner, 2) / g.shape[1] ** 0.5
    for size in (1e-6, 1e-3, 1e-1):
        h = g + size * random_clouds(16, seed=2)
        change = (f(transformed(g, ROTATIONS)) - f(transformed(h, ROTATIONS))).abs().amax((1, 2))
        assert (change <= lipschitz * (g - h).flatten(1).norm(dim=1)).all()
