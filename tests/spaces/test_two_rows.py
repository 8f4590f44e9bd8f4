"""Projection of two-row blocks in closed form, and the table of draws that batches share."""

import pytest
import torch
from torch import Tensor

from adacanon.spaces import OrthogonalBlocks, orthogonal_blocks
from adacanon.spaces.orthogonal_blocks import _SURE, _table, _two_rows_to_set, haar_blocks

# Sizes M and ranks r of blocks with J = 2 rows: the ball, forced singular values, frames, and blocks of few columns.
REGIMES = {
    "ball": (7, 3),
    "exactly the ball": (5, 3),
    "one forced": (4, 3),
    "two forced": (3, 3),
    "frames": (2, 2),
    "one row": (1, 1),
    "one column": (6, 1),
    "one column, forced": (2, 1),
    "no column": (4, 0),
    "empty band": (0, 0),
}
TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5}


def by_svd(u: Tensor, m: int, r: int) -> Tensor:
    """One block at a time: cut to min(2, M) x r, and give every singular value its nearest admissible one."""
    result = torch.zeros(u.shape, dtype=torch.float64)
    height = min(2, m)
    for place in range(len(u)):
        left, values, right = torch.linalg.svd(u[place, 0, :height, :r].double(), full_matrices=False)
        for i in range(len(values)):
            values[i] = 1.0 if i < height + r - m else min(float(values[i]), 1.0)
        result[place, 0, :height, :r] = left @ torch.diag(values) @ right
    return result


def space_of(regime: str, members: int) -> OrthogonalBlocks:
    m, r = REGIMES[regime]
    return OrthogonalBlocks(torch.full((members, 1), m), rows=(2,), columns=torch.full((members, 1), r), width=3)


def with_singular_values(*values: float, members: int = 6, seed: int = 0) -> Tensor:
    """Random 2 x 3 matrices with these two singular values."""
    generator = torch.Generator().manual_seed(seed)
    left = torch.linalg.qr(torch.randn(members, 1, 2, 2, generator=generator, dtype=torch.float64))[0]
    right = torch.linalg.qr(torch.randn(members, 1, 3, 2, generator=generator, dtype=torch.float64))[0]
    return left @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ right.mT


@pytest.fixture
def no_svd(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oracle is to be called before."""
    monkeypatch.setattr(torch.linalg, "svd", lambda *_, **__: pytest.fail("fell back to an SVD"))


class TestClosedForm:
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    @pytest.mark.parametrize("regime", REGIMES)
    @pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
    def test_agrees_with_singular_values(self, regime: str, size: float, dtype: torch.dtype) -> None:
        u = size * torch.randn(40, 1, 2, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        u = u.to(dtype)
        found = space_of(regime, len(u)).project(u)
        assert found.dtype == dtype
        expected = by_svd(u, *REGIMES[regime]).to(dtype)
        torch.testing.assert_close(found, expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])

    def test_random_points_need_no_decomposition(self, no_svd: None) -> None:
        u = torch.randn(40, 1, 2, 3, generator=torch.Generator().manual_seed(1))
        for regime in REGIMES:
            projected = space_of(regime, 40).project(u)
            assert bool((torch.linalg.matrix_norm(projected, ord="fro") <= 2**0.5 + 1e-5).all())

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    @pytest.mark.parametrize(
        "values", [(1.0, 1.0), (2.0, 2.0), (0.5, 0.5), (1.0, 0.3), (3.0, 1.0), (1.0 + 1e-9, 1.0 - 1e-9)]
    )
    @pytest.mark.parametrize("regime", ["ball", "exactly the ball", "two forced"])
    def test_equal_and_unit_singular_values(self, regime: str, values: tuple[float, float], dtype: torch.dtype) -> None:
        u = with_singular_values(*values).to(dtype)
        expected = by_svd(u, *REGIMES[regime]).to(dtype)
        torch.testing.assert_close(
            space_of(regime, len(u)).project(u), expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype]
        )

    @pytest.mark.parametrize("values", [(1.0, 1.0), (0.5, 0.5), (0.0, 0.0), (1.0, 0.0), (1e-9, 1e-9)])
    @pytest.mark.parametrize("regime", ["ball", "one forced", "two forced", "one column, forced", "frames"])
    def test_where_the_closest_point_is_not_unique_some_closest_point_comes_out(
        self, regime: str, values: tuple[float, float]
    ) -> None:
        (m, r), u = REGIMES[regime], with_singular_values(*values)
        space = space_of(regime, len(u))
        found, oracle = space.project(u), by_svd(u, m, r)
        torch.testing.assert_close(space.project(found), found, atol=1e-7, rtol=0)
        inside = u * space.mask()
        distance, least = ((x - inside).flatten(1).norm(dim=1) for x in (found, oracle))
        torch.testing.assert_close(distance, least, atol=1e-7, rtol=0)

    @pytest.mark.parametrize("largest", [1.0, 30.0, 1000.0])
    @pytest.mark.parametrize("small", [0.0, 1e-12, 1e-6, 0.9 * _SURE, 1.1 * _SURE, 1e-3, 1e-2])
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_tiny_singular_values_that_must_become_one(self, small: float, largest: float, dtype: torch.dtype) -> None:
        """The direction of a tiny one is known to the precision of the numbers over it, and to no more."""
        u = with_singular_values(largest, small).to(dtype)
        found = space_of("two forced", len(u)).project(u)
        values = torch.linalg.svdvals(found.double())
        torch.testing.assert_close(values, torch.ones_like(values), atol=1e-5, rtol=0)
        if small > 10 * largest * torch.finfo(dtype).eps:
            slack = max(1e-7, 10 * largest * torch.finfo(dtype).eps / small)
            torch.testing.assert_close(found.double(), by_svd(u, 3, 3), atol=slack, rtol=0)

    def test_members_and_bands_of_all_regimes_at_once(self) -> None:
        sizes = torch.tensor([[m for m, _ in REGIMES.values()]]).expand(5, -1)
        ranks = torch.tensor([[r for _, r in REGIMES.values()]]).expand(5, -1)
        space = OrthogonalBlocks(sizes, rows=(2,) * len(REGIMES), columns=ranks, width=3)
        u = torch.randn(5, len(REGIMES), 2, 3, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        found = space.project(u)
        for k, (m, r) in enumerate(REGIMES.values()):
            torch.testing.assert_close(found[:, k : k + 1], by_svd(u[:, k : k + 1], m, r), atol=1e-11, rtol=1e-11)

    def test_an_unsure_block_goes_to_the_decomposition_and_no_other(self) -> None:
        space = space_of("two forced", 6)
        u = with_singular_values(0.7, 0.4)
        u[3] = 0
        close, sure = _two_rows_to_set(u, space._forced(2, u.device).expand(6, 1, -1))
        assert sure.flatten().tolist() == [True, True, True, False, True, True]
        found, kept = space.project(u), torch.arange(6) != 3
        assert torch.equal(found[kept], close[kept])
        torch.testing.assert_close(found[kept], by_svd(u, 3, 3)[kept], atol=1e-11, rtol=1e-11)
        torch.testing.assert_close(torch.linalg.svdvals(found[3]), torch.ones(1, 2, dtype=torch.float64))


class TestSharedDraws:
    SEEDS = (5, 6)

    def drawn(self, sizes: Tensor, *, count: int = 4, rows: tuple[int, ...] = (2, 3), width: int = 3) -> Tensor:
        table = _table(self.SEEDS, count, rows, width, torch.float64)
        return table.blocks(sizes, sizes.clamp(max=width)).transpose(1, 2).mT

    def directly(self, m: int, band: int, *, count: int = 4, width: int = 3) -> Tensor:
        block = torch.zeros(count, 3, width, dtype=torch.float64)
        if m:
            rows = (2, 3)[band]
            seed = self.SEEDS[band]
            block[:, :rows] = haar_blocks([m], count, rows=rows, columns=width, seed=seed)[:, 0]
        return block

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 1)])
    def test_equal_those_drawn_directly_whatever_batches_came_before(self, order: tuple[int, ...]) -> None:
        _table.cache_clear()
        batches = [torch.tensor([[3, 90], [0, 1]]), torch.tensor([[200, 0], [12, 3]]), torch.tensor([[64, 65]])]
        for number in order:
            sizes = batches[number]
            found = self.drawn(sizes)
            for i, j in torch.cartesian_prod(torch.arange(sizes.shape[0]), torch.arange(2)).tolist():
                assert torch.equal(found[i, j], self.directly(int(sizes[i, j]), j))

    def test_fewer_columns_are_the_first_of_more(self) -> None:
        _table.cache_clear()
        sizes, columns = torch.tensor([[9, 9], [9, 2], [9, 0]]), torch.tensor([[3, 2], [1, 1], [0, 0]])
        found = _table(self.SEEDS, 4, (2, 3), 3, torch.float64).blocks(sizes, columns).transpose(1, 2).mT
        for i, j in torch.cartesian_prod(torch.arange(3), torch.arange(2)).tolist():
            expected = self.directly(int(sizes[i, j]), j) * (torch.arange(3) < columns[i, j])
            torch.testing.assert_close(found[i, j], expected, atol=1e-12, rtol=1e-12)

    def test_a_shape_is_drawn_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _table.cache_clear()
        first = self.drawn(torch.tensor([[3, 90], [0, 1]]))
        monkeypatch.setattr(orthogonal_blocks, "haar_blocks", lambda *_, **__: pytest.fail("drawn twice"))
        assert torch.equal(self.drawn(torch.tensor([[0, 1], [3, 90]])), first.flip(0))

    def test_memory_stays_bounded(self) -> None:
        _table.cache_clear()
        generator = torch.Generator().manual_seed(0)
        for _ in range(20):
            sizes = torch.randint(0, 30, (50, 2), generator=generator)
            OrthogonalBlocks(sizes, rows=(2, 2), columns=2).sample(3, generator=generator)
        assert _table.cache_info().currsize <= 2
        for _ in range(20):
            self.drawn(torch.randint(0, 30, (50, 2), generator=generator))
        table = _table(self.SEEDS, 4, (2, 3), 3, torch.float64)
        assert table.known.stored.shape[1] <= 30
        assert len(table.known.place) <= 30

    def test_a_space_draws_the_same_with_and_without_a_filled_table(self) -> None:
        space = OrthogonalBlocks(torch.tensor([[4, 40], [9, 0]]), rows=(2, 2), columns=2)
        _table.cache_clear()
        fresh = space.sample(5, generator=torch.Generator().manual_seed(0))
        OrthogonalBlocks(torch.tensor([[80, 7]]), rows=(2, 2), columns=2).sample(
            5, generator=torch.Generator().manual_seed(0)
        )
        again = space.sample(5, generator=torch.Generator().manual_seed(0))
        assert torch.equal(fresh, again)

    @pytest.mark.parametrize("earlier", [[], [[3, 5]], [[3, 5], [40, 60], [7, 7]]])
    def test_shapes_asked_of_earlier_tables_change_no_draw(self, earlier: list[list[int]]) -> None:
        def drawn(sizes: list[int], seed: int) -> Tensor:
            space = OrthogonalBlocks(torch.tensor([sizes]), rows=(2, 2), columns=2)
            return space.sample(5, generator=torch.Generator().manual_seed(seed))

        asked = [[4, 40], [9, 0], [80, 7]]
        expected = []
        for sizes in asked:
            orthogonal_blocks.forget_draws()
            expected.append(drawn(sizes, 1))
        orthogonal_blocks.forget_draws()
        for sizes in earlier:
            drawn(sizes, 0)
        assert all(torch.equal(drawn(sizes, 1), value) for sizes, value in zip(asked, expected, strict=True))

    def test_a_table_is_extended_by_all_shapes_of_earlier_tables_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        decompositions: list[tuple[int, ...]] = []

        def counted(dimensions: list[int], count: int, *, rows: int, columns: int, seed: int) -> Tensor:
            decompositions.append(tuple(dimensions))
            return haar_blocks(dimensions, count, rows=rows, columns=columns, seed=seed)

        orthogonal_blocks.forget_draws()
        monkeypatch.setattr(orthogonal_blocks, "haar_blocks", counted)
        batches = [torch.tensor([[m]]) for m in (4, 9, 80, 7)]

        def epoch(seed: int) -> list[tuple[int, ...]]:
            decompositions.clear()
            table = _table((seed,), 5, (2,), 2, torch.float64)
            for sizes in batches:
                table.blocks(sizes, torch.full_like(sizes, 2))
            return list(decompositions)

        assert epoch(0) == [(4,), (9,), (80,), (7,)]
        assert epoch(1) == [(4,), (7, 9, 80)]

    def test_other_types_are_rounded_draws(self) -> None:
        sizes = torch.tensor([[3, 90], [0, 12]])
        single, double = (
            OrthogonalBlocks(sizes, rows=(2, 3), columns=3, dtype=dtype).sample(
                5, generator=torch.Generator().manual_seed(1)
            )
            for dtype in (torch.float32, torch.float64)
        )
        assert torch.equal(single, double.float())

    def test_what_a_caller_does_with_draws_does_not_reach_the_table(self) -> None:
        space = OrthogonalBlocks(torch.tensor([[4, 40]]), rows=(2, 2), columns=2)
        first = space.sample(5, generator=torch.Generator().manual_seed(0))
        kept = first.clone()
        first.zero_()
        assert torch.equal(space.sample(5, generator=torch.Generator().manual_seed(0)), kept)
