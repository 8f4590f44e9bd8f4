"""Laws of spaces that no other test noticed when they were broken (``make mutants``)."""

import math

import pytest
import torch
from torch import Tensor

from adacanon.core import Space
from adacanon.errors import AdacanonError, InputError
from adacanon.spaces import Box, Finite, Orthogonal, Product, Rectangles, rotation_group, super_fibonacci
from adacanon.spaces.circle import Circle
from adacanon.spaces.orthogonal_blocks import OrthogonalBlocks

FLAT: dict[str, Space] = {
    "a box": Box((0.0, -1.0), (1.0, 1.0)),
    "rectangles": Rectangles(0.3, 0.9),
    "a circle": Circle(),
    "matrices": Orthogonal(3),
}


@pytest.mark.parametrize("space", FLAT.values(), ids=FLAT)
def test_lengths_and_distances_go_over_the_last_axes_whatever_stands_before(space: Space, generator: object) -> None:
    assert isinstance(generator, torch.Generator)
    u, v = (space.sample(6, generator=generator) for _ in range(2))
    assert isinstance(u, Tensor)
    assert isinstance(v, Tensor)
    tall, other = (points.reshape(1, 2, 3, *points.shape[1:]) for points in (u, v))
    step = space.tangent(u, v - u)
    for found, expected in (
        (space.distance(tall, other), space.distance(u, v)),
        (space.norm(step.reshape_as(tall)), space.norm(step)),
    ):
        torch.testing.assert_close(found, expected.reshape(1, 2, 3))


def test_the_largest_finite_set_has_numbers_that_are_exact_as_floats() -> None:
    assert Finite(2**53).size == 2**53
    with pytest.raises(InputError, match=r"at most 9,007,199,254,740,992, got 9,007,199,254,740,993"):
        Finite(2**53 + 1)


def test_the_diameter_of_a_product_is_that_of_a_box_of_its_factors() -> None:
    factors = (Box((0.0,), (3.0,)), Box((0.0,), (4.0,)))
    assert Product(*factors).diameter == pytest.approx(5)
    assert Product(factors[0]).diameter == pytest.approx(3)


@pytest.mark.parametrize("rows", [(2,), (3,)])
def test_blocks_are_projected_alike_whatever_stands_before(rows: tuple[int, ...]) -> None:
    """One block at a time, or many in a table."""
    space = OrthogonalBlocks(torch.tensor([[6], [4]]), rows=rows, columns=torch.tensor([[2], [2]]), width=2)
    many = 2 * torch.randn(5, 2, 1, rows[0], 2, generator=torch.Generator().manual_seed(0))
    one_by_one = torch.stack([space.project(block) for block in many])
    torch.testing.assert_close(space.project(many), one_by_one)
    torch.testing.assert_close(space.project(many[:, None])[:, 0], one_by_one)


@pytest.mark.parametrize(("solid", "size"), [("tetrahedron", 12), ("cube", 24), ("icosahedron", 60)])
def test_the_turns_of_a_solid_are_a_group(solid: str, size: int) -> None:
    group = rotation_group(solid)
    assert len(group) == size
    products = torch.einsum("aij,bjk->abik", group, group).flatten(0, 1)
    nearest = torch.cdist(products.flatten(1), group.flatten(1)).amin(1)
    torch.testing.assert_close(nearest, torch.zeros_like(nearest), atol=1e-6, rtol=0)
    torch.testing.assert_close(torch.linalg.det(group), torch.ones(size, dtype=group.dtype))


def test_the_spiral_leaves_no_rotation_far_away() -> None:
    r"""The constant of the paper solves :math:`\psi^4 = \psi + 4`; any other number leaves holes."""
    spiral = super_fibonacci(1000)
    draws = Orthogonal(3, proper=True).sample(2000, generator=torch.Generator().manual_seed(0))
    cosine = torch.einsum("aij,bij->ab", draws, spiral.to(draws)).amax(1).sub(1).div(2)
    farthest = math.degrees(float(cosine.clamp(-1, 1).acos().amax()))
    assert farthest < 25


def test_frames_have_at_most_as_many_columns_as_dimensions() -> None:
    assert Orthogonal(3, columns=3).columns == 3
    with pytest.raises(InputError, match="at most 3 columns, got columns=4"):
        Orthogonal(3, columns=4)


def test_a_product_needs_a_factor_and_factors_of_one_batch() -> None:
    with pytest.raises(AdacanonError):
        Product()
    with pytest.raises(AdacanonError):
        Product(Orthogonal(torch.tensor([2, 3])), Orthogonal(torch.tensor([2, 3, 4])))
    assert Product(Orthogonal(torch.tensor([2, 3])), Circle()).members == 2
