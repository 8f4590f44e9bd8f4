r"""Galaxies: :math:`\mathcal G = \dot\cup_j \mathcal G_j`, each with its :math:`\mathcal U_j`, infinitely far apart.

The galaxy of n holds matrices with n rows, on which the orthogonal group O(n) acts by :math:`C \mapsto U^\top C`.
Unequal n share one batch, padded with zeros.
"""

import itertools
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon import GridSearch, RandomSearch
from adacanon.core import Family, Maximizer
from adacanon.spaces import Circle, Orthogonal, Product
from cases.theory_cases import canonicalized, largest_difference, stream

SIZES = torch.tensor([1, 3, 2, 3, 1, 2])
LARGEST = 3


@dataclass(frozen=True)
class RowRotations(Family):
    r""":math:`\kappa_U(C) = U^\top C` for a batch of sizes n and padded matrices C of shape (batch, 3, channels)."""

    def space(self, g: tuple[Tensor, Tensor]) -> Orthogonal:
        return Orthogonal(g[0])

    def transform(self, g: tuple[Tensor, Tensor], u: Tensor, owner: Tensor) -> Tensor:
        coefficients = g[1][owner]
        return u.mT @ coefficients[:, : u.shape[-1]]


def network(x: Tensor) -> Tensor:
    """Three outputs without symmetry; zero rows beyond n change nothing, so that padding is unseen."""
    weights = torch.randn(LARGEST, x.shape[2], 3, generator=stream(9), dtype=torch.float64)
    return torch.einsum("bnc,ncd->bd", torch.tanh(x), weights[: x.shape[1]])


def inputs() -> tuple[Tensor, Tensor]:
    coefficients = torch.randn(len(SIZES), LARGEST, 2, generator=stream(1), dtype=torch.float64)
    return SIZES, coefficients * (torch.arange(LARGEST) < SIZES[:, None])[..., None]


def signed_permutations(n: int) -> Tensor:
    """The finite subgroup of O(n) of order 2^n n!, in the corner of a 3 x 3 identity."""
    group = []
    for order in itertools.permutations(range(n)):
        for signs in itertools.product((1.0, -1.0), repeat=n):
            u = torch.eye(LARGEST, dtype=torch.float64)
            u[:n, :n] = torch.eye(n, dtype=torch.float64)[list(order)] * torch.tensor(signs, dtype=torch.float64)
            group.append(u)
    return torch.stack(group)


def finite_groups() -> Tensor:
    """The group of each input, (48, inputs, 3, 3); smaller groups repeat their elements."""
    groups = [signed_permutations(int(n)) for n in SIZES]
    return torch.stack([group.repeat(48 // len(group), 1, 1) for group in groups], dim=1)


def error_under_own_groups(search: Maximizer) -> float:
    """The largest change when every input is moved by elements of the group of its own galaxy."""
    sizes, coefficients = inputs()
    model = canonicalized(network, search, RowRotations())
    moved = [model((sizes, u.mT @ coefficients)) for u in finite_groups()]
    return max(largest_difference(outputs, model((sizes, coefficients))) for outputs in moved)


def test_every_galaxy_has_its_own_symmetry_in_one_batch() -> None:
    assert error_under_own_groups(GridSearch(points=finite_groups())) < 1e-10


def test_random_elements_do_not_preserve_the_symmetry() -> None:
    """The same check with as many draws instead of groups."""
    draws = Orthogonal(SIZES).sample(48, generator=stream(0))
    assert error_under_own_groups(GridSearch(points=draws)) > 0.1


def test_the_smallest_galaxy_is_exactly_invariant_under_random_search() -> None:
    """O(1) has two elements, which 48 draws do not miss; the other galaxies are only covered approximately."""
    sizes, coefficients = inputs()
    model = canonicalized(network, RandomSearch(48), RowRotations())
    change = (model((sizes, -coefficients)) - model((sizes, coefficients))).abs().amax(1)
    assert (change[sizes == 1] < 1e-12).all()
    assert (change[sizes > 1] > 1e-3).any()


def test_an_output_does_not_depend_on_the_galaxies_beside_it() -> None:
    sizes, coefficients = inputs()
    model = canonicalized(network, RandomSearch(16), RowRotations())
    together = model((sizes, coefficients))
    for i, n in enumerate(SIZES.tolist()):
        alone = model((sizes[i : i + 1], coefficients[i : i + 1]))
        assert largest_difference(alone[0], together[i]) < 1e-12, n


def test_transformations_never_leave_their_galaxy() -> None:
    """Rows beyond n stay zero, whatever is drawn."""
    sizes, coefficients = inputs()
    forms = canonicalized(network, RandomSearch(16), RowRotations()).canonicalize((sizes, coefficients)).forms()
    outside = torch.arange(LARGEST) >= SIZES[:, None]
    assert (forms.transpose(1, 2)[outside] == 0).all()
    assert (forms.transpose(1, 2)[~outside] != 0).all()


def test_the_components_of_the_orthogonal_group_are_infinitely_far_apart() -> None:
    for n in (1, 2, 5):
        space = Orthogonal(n)
        u = Orthogonal(n, proper=True).sample(8, generator=stream(n))
        reflection = torch.eye(n, dtype=torch.float64)
        reflection[0, 0] = -1
        assert space.distance(u, u @ reflection).isinf().all()
        assert space.distance(u, u.flip(0)).isfinite().all()


def test_infinite_distances_obey_the_metric_laws() -> None:
    u = Orthogonal(3).sample(12, generator=stream(4))
    d = Orthogonal(3).distance(u[:, None], u[None])
    assert d.isinf().any()
    assert d[~torch.eye(12, dtype=torch.bool)].isfinite().any()
    assert ((d == d.mT) | ((d - d.mT).abs() < 1e-6)).all()
    assert (d[:, :, None] <= d[:, None, :] + d.mT[None, :, :].transpose(1, 2) + 1e-6).all()


def test_a_product_with_an_infinite_factor_is_infinitely_far_apart() -> None:
    space = Product(Circle(), Orthogonal(2))
    near, far = torch.eye(2, dtype=torch.float64), torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64))
    angle = torch.zeros((), dtype=torch.float64)
    assert space.distance((angle, near), (angle + 1, near)).item() == 1
    assert space.distance((angle, near), (angle, far)).isinf()
