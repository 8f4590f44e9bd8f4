"""Farthest points, nearest neighbours and ball queries: against scipy's KD-tree, and by their symmetries."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from adacanon.data.modelnet import load_modelnet
from adacanon.errors import InputError, ShapeError
from adacanon.points import ball_query, farthest_points, nearest_neighbours, neighbours
from adacanon.points.neighbours import smallest, squared_distances
from adacanon.spaces import SO3

BATCH, POINTS = 3, 40


@pytest.fixture
def clouds(generator: torch.Generator) -> Tensor:
    return torch.randn(BATCH, POINTS, 3, generator=generator, dtype=torch.float64)


@pytest.fixture
def mask(generator: torch.Generator) -> Tensor:
    mask = torch.rand(BATCH, POINTS, generator=generator) < 0.6
    mask[:, 0] = False
    return mask


@pytest.fixture
def order(generator: torch.Generator) -> Tensor:
    return torch.randperm(POINTS, generator=generator)


def taken(points: Tensor, indices: Tensor) -> Tensor:
    """The points (batch, ..., channels) at indices (batch, ...)."""
    return points[torch.arange(len(points)).view(-1, *[1] * (indices.dim() - 1)), indices]


def turned(points: Tensor, generator: torch.Generator) -> Tensor:
    rotation = SO3().sample(1, generator=generator)[0].to(points.dtype)
    return points @ rotation.mT + torch.tensor([3.0, -2.0, 1.0], dtype=points.dtype)


def farthest_points_by_a_loop(cloud: Tensor, count: int) -> list[int]:
    chosen = [int((cloud - cloud.mean(0)).norm(dim=1).argmax())]
    while len(chosen) < count:
        chosen.append(int(torch.cdist(cloud, cloud[chosen]).amin(1).argmax()))
    return chosen


class TestFarthestPoints:
    @pytest.mark.parametrize("count", [1, 2, 13, POINTS])
    def test_it_is_the_definition(self, clouds: Tensor, count: int) -> None:
        expected = [farthest_points_by_a_loop(cloud, count) for cloud in clouds]
        assert farthest_points(clouds, count).tolist() == expected

    def test_the_order_of_points_does_not_matter(self, clouds: Tensor, order: Tensor) -> None:
        assert torch.equal(order[farthest_points(clouds[:, order], 12)], farthest_points(clouds, 12))

    def test_neither_does_a_rotation_or_a_shift(self, clouds: Tensor, generator: torch.Generator) -> None:
        assert torch.equal(farthest_points(turned(clouds, generator), 12), farthest_points(clouds, 12))

    @pytest.mark.parametrize("padding", [0.0, 1e6, torch.nan])
    def test_padding_is_never_chosen(self, clouds: Tensor, mask: Tensor, padding: float) -> None:
        chosen = farthest_points(clouds.masked_fill(~mask[..., None], padding), 10, mask=mask)
        for cloud, real, indices in zip(clouds, mask, chosen, strict=True):
            alone = farthest_points(cloud[real][None], 10)[0]
            assert torch.equal(indices, real.nonzero()[:, 0][alone])

    def test_no_index_comes_twice_where_points_coincide(self, clouds: Tensor) -> None:
        doubled = torch.cat([clouds[:, :5], clouds[:, :5]], 1)
        chosen = farthest_points(doubled, 10)
        assert chosen.sort().values.tolist() == [list(range(10))] * BATCH
        assert (chosen[:, :5] % 5).sort().values.tolist() == [list(range(5))] * BATCH
        assert farthest_points(torch.zeros(1, 6, 3), 4).tolist() == [[0, 1, 2, 3]]

    def test_of_points_that_tie_the_first_is_taken(self) -> None:
        square = torch.tensor([[[1.0, 1], [1, -1], [-1, -1], [-1, 1]]])
        assert farthest_points(square, 4).tolist() == [[0, 2, 1, 3]]

    def test_clouds_far_from_the_origin_keep_their_farthest_points(self, generator: torch.Generator) -> None:
        cloud = (torch.randn(1, 200, 3, generator=generator) * 64).round() / 64  # exact also when it is moved
        assert torch.equal(farthest_points(cloud + 1024, 20), farthest_points(cloud, 20))

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision_is_computed_in_single(self, clouds: Tensor, dtype: torch.dtype) -> None:
        assert torch.equal(farthest_points(clouds.to(dtype), 9), farthest_points(clouds.to(dtype).float(), 9))


class TestNearestNeighbours:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("shift", [0.0, 1000.0])
    @pytest.mark.parametrize(("points", "k"), [(40, 1), (40, 7), (40, 40), (256, 20), (1000, 20), (1027, 33)])
    def test_it_agrees_with_a_tree(
        self, points: int, k: int, shift: float, dtype: torch.dtype, generator: torch.Generator
    ) -> None:
        clouds = (torch.randn(2, points, 3, generator=generator, dtype=torch.float64) + shift).to(dtype)
        queries = (torch.randn(2, 17, 3, generator=generator, dtype=torch.float64) + shift).to(dtype)
        for at, found in (
            (clouds, nearest_neighbours(clouds, k)),
            (queries, nearest_neighbours(clouds, k, queries=queries)),
        ):
            for cloud, x, indices in zip(clouds.double(), at.double(), found, strict=True):
                distances = cKDTree(cloud.numpy()).query(x.numpy(), k=[*range(1, k + 1)])[0]
                ours = (cloud[indices] - x[:, None]).norm(dim=-1).numpy()
                np.testing.assert_allclose(ours, distances, rtol=1e-6, atol=0)
                assert all(len(set(row)) == k for row in indices.tolist())

    @pytest.mark.parametrize("shift", [0.0, 100.0])
    def test_many_channels_agree_with_a_tree(self, shift: float, generator: torch.Generator) -> None:
        features = torch.randn(1, 300, 64, generator=generator) * 0.01 + shift
        found = nearest_neighbours(features, 10)[0]
        x = features[0].double()
        distances = cKDTree(x.numpy()).query(x.numpy(), k=10)[0]
        np.testing.assert_allclose((x[found] - x[:, None]).norm(dim=-1).numpy(), distances, rtol=1e-6, atol=1e-12)

    def test_every_point_is_its_own_first_neighbour(self, clouds: Tensor) -> None:
        assert (nearest_neighbours(clouds, 3)[..., 0] == torch.arange(POINTS)).all()

    def test_the_order_of_points_does_not_matter(self, clouds: Tensor, order: Tensor) -> None:
        found = order[nearest_neighbours(clouds[:, order], 6)]
        assert torch.equal(found, nearest_neighbours(clouds, 6)[:, order])

    def test_neither_does_a_rotation_or_a_shift(self, clouds: Tensor, generator: torch.Generator) -> None:
        assert torch.equal(nearest_neighbours(turned(clouds, generator), 6), nearest_neighbours(clouds, 6))

    @pytest.mark.parametrize("padding", [0.0, 1e6, torch.nan])
    @pytest.mark.parametrize("channels", [3, 12])
    def test_padding_is_never_chosen(self, clouds: Tensor, mask: Tensor, channels: int, padding: float) -> None:
        features = clouds.float().repeat(1, 1, channels // 3)
        found = nearest_neighbours(features.masked_fill(~mask[..., None], padding), 8, queries=features, mask=mask)
        for cloud, real, indices in zip(features, mask, found, strict=True):
            alone = nearest_neighbours(cloud[real][None], 8, queries=cloud[None])[0]
            assert torch.equal(indices, real.nonzero()[:, 0][alone])


@pytest.mark.data
@pytest.mark.parametrize(("points", "k", "least", "most"), [(128, 10, 0.0, 0.03), (1024, 20, 0.05, 0.5)])
def test_rounding_decides_among_the_neighbours_of_stored_shapes_that_tie(
    points: int, k: int, least: float, most: float, generator: torch.Generator
) -> None:
    """The share of real shapes, stored in half precision, whose neighbours a rotation in single precision changes."""
    shapes = load_modelnet(10, points).test.points[::9]
    turned = (shapes.double() @ SO3().sample(len(shapes), generator=generator).mT).float()
    before, after = (nearest_neighbours(x, k).sort(-1).values.flatten(1) for x in (shapes, turned))
    assert least <= (before != after).any(1).double().mean() <= most


class TestBallQuery:
    def test_it_agrees_with_a_tree(self, clouds: Tensor) -> None:
        centres, radius, count = clouds[:, :9] + 0.05, 1.2, 6
        found = ball_query(clouds, centres, radius, count)
        sizes = []
        for cloud, at, indices in zip(clouds, centres, found.tolist(), strict=True):
            for centre, row, inside in zip(
                at, indices, cKDTree(cloud.numpy()).query_ball_point(at.numpy(), radius), strict=True
            ):
                expected = sorted(inside, key=lambda i, x=cloud, c=centre: float((x[i] - c).norm()))[:count]
                assert row == expected + [expected[0]] * (count - len(expected))
                sizes.append(len(inside))
        assert min(sizes) < count < max(sizes)

    def test_the_order_of_points_does_not_matter(self, clouds: Tensor, order: Tensor) -> None:
        found = order[ball_query(clouds[:, order], clouds[:, :9], 0.9, 6)]
        assert torch.equal(found, ball_query(clouds, clouds[:, :9], 0.9, 6))

    def test_neither_does_a_rotation_or_a_shift(self, clouds: Tensor, generator: torch.Generator) -> None:
        moved = turned(clouds, generator)
        assert torch.equal(ball_query(moved, moved[:, :9], 0.9, 6), ball_query(clouds, clouds[:, :9], 0.9, 6))

    def test_an_empty_ball_gives_the_nearest_point(self, clouds: Tensor) -> None:
        centres = clouds[:, :2] + 100
        nearest = nearest_neighbours(clouds, 1, queries=centres)
        assert torch.equal(ball_query(clouds, centres, 0.5, 4), nearest.expand(-1, -1, 4))

    def test_more_places_than_points_repeat_the_nearest(self, clouds: Tensor) -> None:
        found = ball_query(clouds[:, :5], clouds[:, :2], 1e3, 9)
        assert torch.equal(found[..., :5], nearest_neighbours(clouds[:, :5], 5, queries=clouds[:, :2]))
        assert (found[..., 5:] == found[..., :1]).all()

    @pytest.mark.parametrize("radius", [1e3, 1e200, float("inf")])
    def test_padding_is_not_inside_a_ball_of_any_radius(self, clouds: Tensor, radius: float) -> None:
        mask = torch.arange(clouds.shape[1]).expand(clouds.shape[:2]) < 5
        found = ball_query(clouds, clouds[:, :2], radius, 9, mask=mask)
        assert torch.equal(found, ball_query(clouds[:, :5], clouds[:, :2], radius, 9))
        assert (found < 5).all()

    def test_a_point_on_the_sphere_is_inside(self) -> None:
        line = torch.arange(5.0)[None, :, None].expand(1, 5, 3) * torch.tensor([1.0, 0, 0])
        assert ball_query(line, line[:, :1], 2.0, 4).tolist() == [[[0, 1, 2, 0]]]

    def test_padding_is_never_chosen(self, clouds: Tensor, mask: Tensor) -> None:
        found = ball_query(clouds, clouds, 1.0, POINTS, mask=mask)
        assert taken(mask, found).all()


@pytest.mark.parametrize(
    ("columns", "k"), [(64, 5), (256, 32), (300, 20), (1024, 17), (1024, 128), (1000, 20), (1023, 20)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_smallest_is_topk(columns: int, k: int, dtype: torch.dtype, generator: torch.Generator) -> None:
    values = torch.rand(50, columns, generator=generator, dtype=torch.float64).to(dtype)
    values[:, ::3] = torch.inf
    expected = values.topk(k, largest=False)
    found, indices = smallest(values, k)
    assert torch.equal(found, expected.values)
    assert torch.equal(indices, expected.indices)


def test_smallest_with_ties_gives_distinct_columns(generator: torch.Generator) -> None:
    values = torch.randint(3, (50, 256), generator=generator).float()
    found, indices = smallest(values, 20)
    assert torch.equal(found, values.sort(1).values[:, :20])
    assert torch.equal(values.gather(1, indices), found)
    assert all(len(set(row)) == 20 for row in indices.tolist())


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("channels", [3, 16])
def test_clouds_looked_at_together_are_looked_at_alone(
    channels: int, masked: bool, generator: torch.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of several clouds, the last of them smaller."""
    x = torch.randn(11, 20, channels, generator=generator)
    mask = torch.arange(20) < torch.arange(10, 21)[:, None] if masked else None
    alone = [nearest_neighbours(x[i : i + 1], 6, mask=None if mask is None else mask[i : i + 1]) for i in range(len(x))]
    for blocks in (1, 4, 11):
        monkeypatch.setattr(neighbours, "DISTANCES_AT_ONCE", blocks * 20 * 20)
        assert torch.equal(nearest_neighbours(x, 6, mask=mask), torch.cat(alone))


@pytest.mark.parametrize("channels", [3, 8, 9, 64])
def test_small_distances_survive_far_from_the_origin(channels: int, generator: torch.Generator) -> None:
    x = torch.randn(30, channels, generator=generator) * 1e-3 + 100
    exact = torch.cdist(x.double(), x.double(), compute_mode="donot_use_mm_for_euclid_dist").square()
    torch.testing.assert_close(squared_distances(x[None], x[None])[0].double(), exact, rtol=1e-5, atol=1e-14)


POINTS_OF_INTEREST = torch.zeros(2, 10, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: farthest_points(x, 11), r"farthest_points expects count in 1..10.*got 11. Hint: ask for fewer"),
        (lambda x: farthest_points(x, 0), r"count in 1..10.*got 0"),
        (lambda x: farthest_points(x[0], 3), r"got \(10, 3\). Hint: add the batch, points\[None\]"),
        (lambda x: farthest_points(x.long(), 3), r"floating-point.*got torch.int64"),
        (lambda x: farthest_points(x, 3, mask=torch.arange(10).expand(2, 10) < 2), r"at least 3 .*cloud 0 has 2"),
        (lambda x: nearest_neighbours(x, 11), r"nearest_neighbours expects k in 1..10.*got 11"),
        (lambda x: nearest_neighbours(x, 3.0), r"expects k in 1..10.*got 3.0. Hint: a whole number"),
        (lambda x: nearest_neighbours(x, 3, queries=x.numpy()), r"expects queries as a tensor, got ndarray"),
        (
            lambda x: nearest_neighbours(x, 2, queries=x[..., :2]),
            r"queries of shape \(2, queries, 3\).*\(2, 10, 2\)",
        ),
        (lambda x: nearest_neighbours(x, 2, queries=x[0]), r"queries of shape \(2, queries, 3\).*got \(10, 3\)"),
        (lambda x: nearest_neighbours(x, 2, mask=torch.ones(2, 9).bool()), r"mask of shape \(2, 10\).*got \(2, 9\)"),
        (lambda x: ball_query(x, x[:1], 1.0, 4), r"ball_query expects centres of shape \(2, centres, 3\)"),
        (lambda x: ball_query(x, x, 0.0, 4), r"a radius and a count above zero, got 0.0 and 4"),
        (lambda x: ball_query(x, x / 0, 1.0, 4), r"ball_query expects finite coordinates"),
        (lambda x: nearest_neighbours(x, 2, queries=x / 0), r"nearest_neighbours expects finite coordinates"),
        (lambda x: ball_query(x, x, 1.0, 4, mask=torch.zeros(2, 10).bool()), r"at least 1 real point in .*has 0"),
    ],
)
def test_bad_inputs_get_an_error_with_a_hint(call: Callable[[Tensor], Any], message: str) -> None:
    with pytest.raises((ShapeError, InputError), match=message):
        call(POINTS_OF_INTEREST)


class TestLargeClouds:
    @pytest.mark.parametrize("channels", [3, 20])
    def test_queries_in_pieces_have_the_same_neighbours(
        self, channels: int, generator: torch.Generator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        points = torch.randn(2, 90, channels, generator=generator)
        mask = torch.arange(90) < torch.tensor([[90], [70]])
        whole, masked = nearest_neighbours(points, 5), nearest_neighbours(points, 5, mask=mask)
        balls = ball_query(points, points[:, :30], 0.7, 4)
        monkeypatch.setattr(neighbours, "MOST_DISTANCES", 7 * 90)
        monkeypatch.setattr(neighbours, "DISTANCES_AT_ONCE", 1)
        assert torch.equal(nearest_neighbours(points, 5), whole)
        assert torch.equal(nearest_neighbours(points, 5, mask=mask), masked)
        assert torch.equal(ball_query(points, points[:, :30], 0.7, 4), balls)

    def test_memory_is_that_of_a_piece(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The largest table of distances is recorded: it has no more entries than a piece may have."""
        sizes, real = list[int](), neighbours.squared_distances

        def recorded(queries: Tensor, points: Tensor) -> Tensor:
            table = real(queries, points)
            sizes.append(table.numel())
            return table

        monkeypatch.setattr(neighbours, "squared_distances", recorded)
        monkeypatch.setattr(neighbours, "MOST_DISTANCES", 2**18)
        nearest_neighbours(torch.randn(1, 3000, 3, generator=torch.Generator().manual_seed(0)), 2)
        assert len(sizes) > 30
        assert max(sizes) <= 2**18

    def test_clouds_of_common_sizes_are_one_piece_each(self) -> None:
        """So that their answers are those of earlier versions to the last digit."""
        assert list(neighbours._pieces(2, 4096, 4096)) == [(slice(i, i + 1), slice(0, 4096)) for i in range(2)]


class TestCounts:
    @pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
    def test_integers_of_numpy_count(self, clouds: Tensor, kind: Any) -> None:
        assert torch.equal(nearest_neighbours(clouds, kind(3)), nearest_neighbours(clouds, 3))
        assert torch.equal(farthest_points(clouds, kind(3)), farthest_points(clouds, 3))
        assert torch.equal(ball_query(clouds, clouds, 1.0, kind(3)), ball_query(clouds, clouds, 1.0, 3))

    @pytest.mark.parametrize("count", [True, 2.0, "3", None, np.float64(2), torch.tensor(2.5)])
    def test_what_is_no_whole_number_is_refused(self, clouds: Tensor, count: Any) -> None:
        for call in (nearest_neighbours, farthest_points, lambda points, k: ball_query(points, points, 1.0, k)):
            with pytest.raises(InputError, match="whole number"):
                call(clouds, count)
