"""Layers on edges that are computed at points, and the rows that clouds consist of."""

import pytest
import torch
from torch import Tensor, nn

from adacanon.points.edges import edge_statistics, folded_edges, largest_neighbours, winning_neighbours
from adacanon.points.rows import Rows

POINTS, CENTRES, K = 40, 25, 6


@pytest.fixture
def neighbours(generator: torch.Generator) -> Tensor:
    """With repetitions, and with points that are nobody's neighbour."""
    return torch.randint(POINTS - 5, (CENTRES, K), generator=generator)


@pytest.fixture
def layer(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    shapes = (7, 3), (7, 4), (CENTRES, 3), (POINTS, 4)
    U, V, a, p = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return U, V, a + 3, p - 5


def on_edges(U: Tensor, V: Tensor, centres: Tensor, points: Tensor, neighbours: Tensor) -> Tensor:
    return (centres @ U.T).unsqueeze(1) + points[neighbours] @ V.T


def test_statistics_are_those_of_all_edges(layer: tuple[Tensor, ...], neighbours: Tensor) -> None:
    mean, variance = edge_statistics(*layer, neighbours)
    expected, mean_of_edges = torch.var_mean(on_edges(*layer, neighbours), (0, 1), correction=0)
    torch.testing.assert_close(mean, mean_of_edges)
    torch.testing.assert_close(variance, expected)


@pytest.mark.parametrize("training", [True, False])
def test_folding_is_batch_normalization_of_all_edges(
    layer: tuple[Tensor, ...], neighbours: Tensor, training: bool
) -> None:
    norms = [nn.BatchNorm1d(7).double().train(training) for _ in range(2)]
    for norm in norms:
        norm.running_mean.copy_(torch.arange(7.0))
        norm.weight.data.copy_(torch.linspace(-1, 1, 7))
        norm.bias.data.copy_(torch.linspace(0, 2, 7))
    centres, points = layer[2:]
    U, V, bias = folded_edges(norms[0], *layer, neighbours)
    result = on_edges(U, V, centres, points, neighbours) + bias
    edges = on_edges(*layer, neighbours)
    torch.testing.assert_close(result, norms[1](edges.flatten(0, 1)).view_as(edges))
    torch.testing.assert_close(norms[0].state_dict(), norms[1].state_dict())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_maxima_and_their_gradients_are_those_of_the_gathered_values(
    generator: torch.Generator, neighbours: Tensor, dtype: torch.dtype
) -> None:
    values = torch.randn(POINTS, 9, generator=generator, dtype=dtype)
    x, y = values.clone().requires_grad_(), values.clone().requires_grad_()
    result, expected = largest_neighbours(x, neighbours), y[neighbours].max(1).values
    assert torch.equal(result, expected)
    assert torch.equal(largest_neighbours(values, neighbours), expected)
    result.sin().sum().backward()
    expected.sin().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_winners_attain_the_maximum_whatever_the_numbers(neighbours: Tensor, generator: torch.Generator) -> None:
    special = torch.tensor([0.0, -0.0, torch.inf, -torch.inf, 1e-45, -1e-45, 3e38, -3e38, 1.0, 1.0 + 2**-23])
    values = special[torch.randint(len(special), (POINTS, 50), generator=generator)]
    winners = winning_neighbours(values, neighbours)
    assert torch.equal(values.gather(0, winners), values[neighbours].amax(1))
    assert (winners.unsqueeze(1) == neighbours.unsqueeze(2)).any(1).all()


def test_numbers_that_are_none_stay_so(neighbours: Tensor) -> None:
    values = torch.full((POINTS, 2), torch.nan, requires_grad=True)
    assert largest_neighbours(values, neighbours).isnan().all()


class TestRows:
    @pytest.fixture
    def mask(self) -> Tensor:
        return torch.tensor([[True, False, True, True], [False, True, True, False]])

    @pytest.fixture
    def clouds(self, generator: torch.Generator) -> Tensor:
        return torch.randn(2, 4, 3, generator=generator)

    def test_sums_are_over_real_points(self, clouds: Tensor, mask: Tensor) -> None:
        rows = Rows(2, 4, mask)
        x = rows.of(clouds)
        assert torch.equal(x, clouds[mask])
        for found, reduce in [
            (rows.sum(x), lambda c: c.sum(0)),
            (rows.mean(x), lambda c: c.mean(0)),
            (rows.maximum(x), lambda c: c.amax(0)),
        ]:
            expected = torch.stack([reduce(cloud[real]) for cloud, real in zip(clouds, mask, strict=True)])
            torch.testing.assert_close(found, expected)

    def test_without_mask_all_points_count(self, clouds: Tensor) -> None:
        rows, masked = Rows(2, 4), Rows(2, 4, torch.ones(2, 4, dtype=torch.bool))
        x = rows.of(clouds)
        for verb in ("sum", "mean", "maximum", "clouds", "padded"):
            torch.testing.assert_close(getattr(rows, verb)(x), getattr(masked, verb)(x))
        assert torch.equal(rows.spread(clouds[:, 0]), masked.spread(clouds[:, 0]))
        assert torch.equal(rows.neighbours(x, 2), masked.neighbours(x, 2))

    def test_neighbours_are_rows_of_the_same_cloud(self, clouds: Tensor, mask: Tensor) -> None:
        rows = Rows(2, 4, mask)
        found = rows.neighbours(rows.of(clouds), 2)
        assert torch.equal(found[:, 0], torch.arange(5))
        assert torch.equal(found[3:].sort(1).values, torch.tensor([[3, 4], [3, 4]]))

    def test_padding_is_zero_or_a_repetition(self, clouds: Tensor, mask: Tensor) -> None:
        rows = Rows(2, 4, mask)
        x = rows.of(clouds)
        assert torch.equal(rows.padded(x), clouds.masked_fill(~mask[..., None], 0))
        assert torch.equal(rows.clouds(x)[1, 0], clouds[1, 1])
        assert torch.equal(rows.spread(torch.tensor([5, 7])), torch.tensor([5, 5, 5, 7, 7]))
