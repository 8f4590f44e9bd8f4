"""The laws of every space, and its agreement with independent implementations."""

import math
from types import FunctionType

import pytest
import roma
import torch
from scipy.spatial.transform import Rotation
from torch import Tensor

import adacanon.spaces
from adacanon.core import Space
from adacanon.core.pytree import Tree
from adacanon.errors import InputError
from adacanon.spaces import (
    SO3,
    Box,
    Circle,
    Finite,
    Orthogonal,
    OrthogonalBlocks,
    Product,
    rotation_group,
    super_fibonacci,
)
from adacanon.spaces.orthogonal_blocks import gaussian_table, haar_blocks
from adacanon.testing import check_space
from oracles.orthogonal_blocks import complete, haar_block

COMMON = {"draws", "projection", "tangents", "retraction", "distance", "identity"}
SIZES = torch.tensor([3, 1, 0, 4, 3])
MEAN_ANGLE = math.pi / 2 + 2 / math.pi
ROOMY = torch.tensor([[40, 9], [20, 12], [6, 8]])
TIGHT = torch.tensor([[40, 4], [1, 0], [3, 5], [2, 3], [4, 70]])

SPACES = {
    "rotations": (SO3(), {"composition", "cover"}),
    "circle": (Circle(), {"composition", "cover"}),
    "box": (Box((0.0, -1.0, 2.0), (1.0, 2.0, 2.5)), {"cover"}),
    "box with neutral point": (Box((-1.0,), (3.0,), neutral=(0.0,)), {"cover"}),
    "finite": (Finite(7), {"cover"}),
    "one element": (Finite(1), {"cover"}),
    "O(1)": (Orthogonal(1), {"composition"}),
    "O(4)": (Orthogonal(4), {"composition"}),
    "SO(4)": (Orthogonal(4, proper=True), {"composition"}),
    "frames": (Orthogonal(5, columns=2), set()),
    "unequal O(n)": (Orthogonal(SIZES), {"composition", "members"}),
    "unequal SO(n)": (Orthogonal(SIZES, proper=True), {"composition", "members"}),
    "unequal frames": (Orthogonal(SIZES, columns=2), {"members"}),
    "frames wider than some n": (Orthogonal(torch.tensor([1, 2, 6, 0]), columns=4), {"members"}),
    "product": (Product(SO3(), Circle()), {"composition", "cover"}),
    "product with a finite set": (Product(SO3(), Finite(3)), {"cover"}),
    "product with a box": (Product(Box((0.0,), (1.0,)), Circle()), {"cover"}),
    "mixed product": (Product(SO3(), Orthogonal(SIZES)), {"composition", "members"}),
    "product in a product": (Product(Product(SO3(), Circle()), Finite(2)), {"cover"}),
    "mixed product in a product": (Product(Product(SO3(), Circle()), Orthogonal(SIZES)), {"composition", "members"}),
    "blocks inside the ball": (OrthogonalBlocks(ROOMY, rows=(3, 4), columns=2), {"members"}),
    "blocks with forced singular values": (OrthogonalBlocks(TIGHT, rows=(3, 4), columns=2), {"members"}),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_space_keeps_the_laws_of_spaces(name: str) -> None:
    space, parts = SPACES[name]
    assert set(check_space(space, first_order="forced" not in name)) == COMMON | parts


def test_special_orthogonal_is_the_function_of_that_name() -> None:
    assert isinstance(adacanon.spaces.special_orthogonal, FunctionType)
    assert repr(adacanon.spaces.special_orthogonal(4)) == "SpecialOrthogonal(4)"


# Rotations of space


def test_rotation_distance_is_the_angle_of_roma_and_scipy() -> None:
    u, v = draw(SO3(), 64, 0), draw(SO3(), 64, 1)
    ours = SO3().distance(u, v)
    theirs = (Rotation.from_matrix(u.numpy()).inv() * Rotation.from_matrix(v.numpy())).magnitude()
    torch.testing.assert_close(ours, torch.as_tensor(theirs))
    torch.testing.assert_close(ours, roma.rotmat_geodesic_distance(u, v))


@pytest.mark.parametrize("angle", [1e-9, 1e-5, 1.0, math.pi - 1e-3, math.pi])
def test_rotation_distance_is_accurate_at_small_and_large_angles(angle: float) -> None:
    axis = torch.tensor([1.0, 2.0, -2.0], dtype=torch.float64) / 3
    v = torch.as_tensor(Rotation.from_rotvec((axis * angle).numpy()).as_matrix())
    assert float(SO3().distance(torch.eye(3, dtype=torch.float64), v)) == pytest.approx(angle, rel=1e-6)


def test_rotation_steps_are_exponentials() -> None:
    u, x = draw(SO3(), 16, 0), torch.randn(16, 3, 3, generator=seeded(1), dtype=torch.float64)
    v = SO3().tangent(u, x)
    torch.testing.assert_close(SO3().retract(u, v), u @ torch.linalg.matrix_exp(u.mT @ v))


def test_rotation_draws_are_haar() -> None:
    """E R = 0, E R_ij^2 = 1/3, E tr(R)^2 = 1, and the angle has mean pi/2 + 2/pi."""
    r = draw(SO3(), 20000, 2)
    trace = r.diagonal(dim1=1, dim2=2).sum(1)
    assert r.mean(0).abs().max() < 0.02
    assert (r.square().mean(0) - 1 / 3).abs().max() < 0.01
    assert trace.mean().abs() < 0.03
    assert trace.square().mean() == pytest.approx(1, abs=0.04)
    assert SO3().distance(r, torch.eye(3, dtype=torch.float64)).mean() == pytest.approx(
        math.pi / 2 + 2 / math.pi, abs=0.02
    )


@pytest.mark.parametrize(("solid", "order"), [("tetrahedron", 12), ("cube", 24), ("icosahedron", 60)])
def test_rotations_of_a_solid_are_a_group(solid: str, order: int) -> None:
    group = rotation_group(solid)
    assert group.shape == (order, 3, 3)
    torch.testing.assert_close(torch.linalg.det(group), torch.ones(order, dtype=torch.float64))
    apart = SO3().distance(group.unsqueeze(0), group.unsqueeze(1)) + 10 * torch.eye(order)
    assert apart.min() > 0.5
    products = (group.unsqueeze(0) @ group.unsqueeze(1)).flatten(0, 1)
    nearest = SO3().distance(products.unsqueeze(1), group.unsqueeze(0)).min(1).values
    assert nearest.max() < 1e-9


def test_scipy_knows_the_same_groups() -> None:
    for solid, name in (("tetrahedron", "T"), ("cube", "O"), ("icosahedron", "I")):
        theirs = torch.as_tensor(Rotation.create_group(name).as_matrix())
        angles = SO3().distance(theirs, torch.eye(3, dtype=torch.float64)).sort().values
        ours = SO3().distance(rotation_group(solid), torch.eye(3, dtype=torch.float64)).sort().values
        torch.testing.assert_close(ours, angles, atol=1e-7, rtol=0)


def test_covering_sets_cover_better_than_random_draws() -> None:
    queries = draw(SO3(), 2000, 3)

    def nearest(points: Tensor) -> float:
        gaps = SO3().distance(queries.unsqueeze(1), points.unsqueeze(0)).min(1).values
        return math.degrees(gaps.mean())

    assert nearest(super_fibonacci(50)) == pytest.approx(33, abs=1.5)
    assert nearest(rotation_group("icosahedron")) == pytest.approx(29, abs=1.5)
    random = sum(nearest(draw(SO3(), 50, seed)) for seed in range(10, 16)) / 6
    assert random == pytest.approx(38, abs=2)


# Circle, box, finite set, product


def test_circle_distance_is_the_shorter_arc() -> None:
    u, v = torch.tensor([3.0, 0.1, 0.0]), torch.tensor([-3.0, -0.1, 3.0])
    torch.testing.assert_close(Circle().distance(u, v), torch.tensor([2 * math.pi - 6, 0.2, 3.0]))


def test_angles_are_projected_to_the_half_open_interval() -> None:
    edge = torch.tensor([-math.pi, math.pi, 3 * math.pi, -math.pi - 4.5e-16, math.pi - 4.5e-16], dtype=torch.float64)
    angles = Circle().project(edge)
    assert (angles >= -math.pi).all()
    assert (angles < math.pi).all()


def test_tangents_of_a_box_do_not_leave_it() -> None:
    box = Box((0.0, 0.0), (1.0, 1.0))
    corner = torch.tensor([0.0, 1.0])
    assert box.tangent(corner, torch.tensor([-1.0, 1.0])).tolist() == [0, 0]
    assert box.tangent(corner, torch.tensor([1.0, -1.0])).tolist() == [1, -1]


def test_box_cover_fills_every_cell() -> None:
    cells = (Box((0.0, 0.0), (1.0, 1.0)).cover(128) * 5).long()
    assert len({tuple(cell) for cell in cells.tolist()}) == 25


def test_finite_draws_are_uniform_and_its_cover_is_everything() -> None:
    draws = draw(Finite(5), 20000, 0)
    assert (draws.bincount(minlength=5) / 20000 - 0.2).abs().max() < 0.015
    assert Finite(5).cover().tolist() == [0, 1, 2, 3, 4]


def test_product_distance_is_euclidean_in_its_factors() -> None:
    space = Product(SO3(), Circle())
    u, v = draw(space, 8, 0), draw(space, 8, 1)
    expected = (SO3().distance(u[0], v[0]) ** 2 + Circle().distance(u[1], v[1]) ** 2).sqrt()
    torch.testing.assert_close(space.distance(u, v), expected)


def test_product_cover_holds_all_combinations() -> None:
    shift, angle = Product(Finite(3), Circle()).cover(16)
    pairs = {(int(k), round(float(t), 6)) for k, t in zip(shift, angle, strict=True)}
    assert len(pairs) == len(shift) == 3 * 5


# Orthogonal groups


@pytest.mark.parametrize("n", [2, 3, 5])
def test_orthogonal_draws_are_haar(n: int) -> None:
    """E U_ij^2 = 1/n, E U_ij^4 = 3/(n(n+2)), E tr(U)^2 = 1, and both determinants are equally likely."""
    u = draw(Orthogonal(n), 20000, 4)
    assert (u.square().mean(0) - 1 / n).abs().max() < 0.015
    assert (u**4).mean() == pytest.approx(3 / (n * (n + 2)), abs=0.01)
    assert u.diagonal(dim1=1, dim2=2).sum(1).square().mean() == pytest.approx(1, abs=0.05)
    assert torch.linalg.det(u).mean().abs() < 0.03


def test_special_orthogonal_draws_are_the_rotations_of_space() -> None:
    r = draw(Orthogonal(3, proper=True), 20000, 5)
    torch.testing.assert_close(torch.linalg.det(r), torch.ones(20000, dtype=torch.float64))
    assert SO3().distance(r, torch.eye(3, dtype=torch.float64)).mean() == pytest.approx(
        math.pi / 2 + 2 / math.pi, abs=0.02
    )


def test_orthogonal_distance_of_rotations_is_their_angle() -> None:
    u, v = draw(SO3(), 32, 0), draw(SO3(), 32, 1)
    torch.testing.assert_close(Orthogonal(3).distance(u, v), SO3().distance(u, v))


def test_orthogonal_distance_is_the_norm_of_the_logarithm() -> None:
    w = 0.5 * torch.randn(6, 4, 4, generator=seeded(2), dtype=torch.float64)
    skew = (w - w.mT) / 2
    u = draw(Orthogonal(4), 6, 3)
    expected = skew.flatten(1).norm(dim=1) / math.sqrt(2)
    torch.testing.assert_close(Orthogonal(4).distance(u, u @ torch.linalg.matrix_exp(skew)), expected)


def test_projection_to_an_orthogonal_group_is_nearest_in_it() -> None:
    x = torch.randn(8, 4, 4, generator=seeded(3), dtype=torch.float64)
    for space in (Orthogonal(4), Orthogonal(4, proper=True)):
        error = (x - space.project(x)).flatten(1).norm(dim=1)
        others = (x.unsqueeze(1) - draw(space, 500, 4)).flatten(2).norm(dim=2)
        assert (error <= others.min(1).values).all()


def test_projection_keeps_unequal_special_orthogonal_members_apart() -> None:
    """The turned singular direction must be one of the member's own, however large its singular values are."""
    space = Orthogonal(torch.tensor([2, 4]), proper=True)
    x = torch.diag(torch.tensor([3.0, -2.0, 1.0, 1.0], dtype=torch.float64)).repeat(1, 2, 1, 1)
    small = space.project(x)[0, 0]
    torch.testing.assert_close(small, torch.eye(4, dtype=torch.float64))
    assert torch.linalg.det(small[:2, :2]) == pytest.approx(1)


def test_draws_of_a_size_do_not_depend_on_the_largest_size() -> None:
    alone = draw(Orthogonal(torch.tensor([3])), 6, 0)[:, 0]
    together = draw(Orthogonal(torch.tensor([7, 3])), 6, 0)[:, 1, :3, :3]
    torch.testing.assert_close(alone, together)


def test_frames_are_the_first_columns_of_haar_matrices() -> None:
    frames = draw(Orthogonal(6, columns=2), 20000, 6)
    torch.testing.assert_close(frames.mT @ frames, torch.eye(2, dtype=torch.float64).expand(20000, 2, 2))
    assert (frames.square().mean(0) - 1 / 6).abs().max() < 0.01


# Blocks of orthogonal matrices


@pytest.mark.parametrize(("rows", "columns"), [(3, 2), (5, 4), (2, 6)])
def test_haar_blocks_are_those_of_a_slow_factorisation(rows: int, columns: int) -> None:
    dimensions = [0, 1, 2, 3, 5, 9, columns + 7, columns + 8, 30, 70, 130]
    dimensions = sorted(set(dimensions))
    blocks = haar_blocks(dimensions, 4, rows=rows, columns=columns, seed=5)
    table = gaussian_table(max(dimensions), 4, columns, seed=5)
    assert abs(float(table.mean())) < 0.1
    assert abs(float(table.std()) - 1) < 0.1
    for index, m in enumerate(dimensions):
        for sample in range(4):
            expected = haar_block(table[sample], m, rows) if m else torch.zeros(rows, columns, dtype=torch.float64)
            torch.testing.assert_close(blocks[sample, index], expected, atol=1e-10, rtol=0)


def test_a_gaussian_table_begins_like_any_larger_one() -> None:
    small, large = gaussian_table(70, 3, 2, seed=1), gaussian_table(200, 3, 5, seed=1)
    assert torch.equal(small, large[:, :70, :2])
    assert not torch.equal(large[..., 0], large[..., 1])


@pytest.mark.parametrize("m", [3, 5, 12])
def test_sampled_blocks_have_the_moments_of_haar_blocks(m: int) -> None:
    """Entries have second moment 1/M, and singular values the mean of blocks of scipy's Haar matrices."""
    from scipy.stats import ortho_group

    space = OrthogonalBlocks(torch.tensor([[m]]), rows=(2,), columns=2)
    ours = draw(space, 8000, 7)[:, 0, 0]
    theirs = torch.as_tensor(ortho_group.rvs(m, size=4000, random_state=0))[:, :2, :2]
    assert (ours.square().mean(0) - 1 / m).abs().max() < 0.02
    gap = torch.linalg.svdvals(ours).mean(0) - torch.linalg.svdvals(theirs).mean(0)
    assert gap.abs().max() < 0.02


CASES = [(m, j, t) for m in (1, 2, 3, 4, 5, 6, 9) for j in (1, 2, 3, 5) for t in (1, 2, 4)]


def block_extent(m: int, j: int, t: int) -> tuple[int, int, int]:
    """Rows, columns and number of singular values that must be one."""
    rows, columns = min(m, j), min(m, t)
    return rows, columns, max(0, rows + columns - m)


def assert_is_block(x: Tensor, m: int, j: int, t: int) -> None:
    """Some orthogonal m x m matrix has X in its corner."""
    rows, columns, forced = block_extent(m, j, t)
    values = torch.linalg.svdvals(x[:rows, :columns])
    assert values.max() <= 1 + 1e-9
    torch.testing.assert_close(values[:forced], torch.ones(forced, dtype=torch.float64))
    u = complete(x[:rows, :columns], m)
    torch.testing.assert_close(u @ u.T, torch.eye(m, dtype=torch.float64), atol=1e-7, rtol=0)
    torch.testing.assert_close(u[:rows, :columns], x[:rows, :columns])


@pytest.mark.parametrize(("m", "j", "t"), CASES)
def test_every_drawn_or_projected_block_can_be_completed(m: int, j: int, t: int) -> None:
    space = OrthogonalBlocks(torch.tensor([[m]]), rows=(j,), columns=t)
    drawn = draw(space, 4, 8)
    projected = space.project(drawn + 2 * torch.randn(drawn.shape, generator=seeded(9), dtype=torch.float64))
    identity = space.identity().unsqueeze(0)
    points = torch.cat([drawn, projected, identity])
    assert len(points) == 9
    for x in points:
        assert_is_block(x[0, 0], m, j, t)


@pytest.mark.parametrize(("m", "j", "t"), [(2, 4, 3), (3, 5, 4), (3, 3, 3), (4, 3, 3)])
def test_projected_blocks_of_deficient_rank_can_be_completed(m: int, j: int, t: int) -> None:
    space = OrthogonalBlocks(torch.tensor([[m]]), rows=(j,), columns=t)
    a, b = (
        torch.randn(1, 1, 1, j, 1, dtype=torch.float64, generator=seeded(0)),
        torch.randn(1, 1, 1, 1, t, dtype=torch.float64, generator=seeded(1)),
    )
    for x in (a * b, torch.zeros(1, 1, 1, j, t, dtype=torch.float64)):
        assert_is_block(space.project(x)[0, 0, 0], m, j, t)


@pytest.mark.parametrize(("m", "j", "t"), [(9, 3, 2), (4, 3, 3), (2, 3, 2)])
def test_projected_blocks_are_nearest(m: int, j: int, t: int) -> None:
    space = OrthogonalBlocks(torch.tensor([[m]]), rows=(j,), columns=t)
    x = 2 * torch.randn(8, 1, 1, j, t, generator=seeded(3), dtype=torch.float64) * space.mask()
    error = space.distance(x, space.project(x))
    others = space.distance(x.unsqueeze(1), draw(space, 500, 4))
    assert (error.unsqueeze(1) <= others + 1e-9).all()


def draw(space: Space, count: int, seed: int) -> Tree:
    return space.sample(count, generator=seeded(seed))


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("arguments", [{"size": 10**20}, {"size": 3, "columns": 10**20}])
def test_sizes_beyond_any_memory_are_refused_by_name(arguments: dict[str, int]) -> None:
    with pytest.raises(InputError, match=r"Orthogonal expects (size|columns) to be at most 1,000,000,000, got 100,000"):
        Orthogonal(**arguments)
