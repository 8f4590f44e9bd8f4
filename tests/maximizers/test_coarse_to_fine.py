"""Coarse to fine: the full search where the view is the whole input, cheap where it is not, honest in its values."""

import pytest
import torch

from adacanon import AnchoredSearch, Canonicalized, CoarseToFine, GridSearch, RandomSearch, SampleAndRefine
from adacanon.core import ClassScore, Landscape, Maximizer
from adacanon.errors import InputError, SpaceError
from adacanon.maximizers import ClimbStage, successive_halving
from adacanon.maximizers.coarse_to_fine import best_few
from adacanon.points import Rotations
from adacanon.testing import check_maximizer, rotation_problem
from cases.coarse_cases import CLASSES, POINTS, MaxNetwork, found_by, landscape, large_clouds
from cases.networks import Mirror, Spy, cloud_network, clouds


@pytest.mark.parametrize("search", [RandomSearch(30), RandomSearch(600), GridSearch(40), AnchoredSearch(20)], ids=repr)
def test_a_view_of_all_points_and_all_classes_is_the_search_itself(search: Maximizer) -> None:
    whole = CoarseToFine(search, size=POINTS, contenders=CLASSES, keep=1)
    found, expected = found_by(whole), found_by(search)
    torch.testing.assert_close(found.values, expected.values)
    assert torch.equal(found.parameters, expected.parameters)


@pytest.mark.parametrize("options", [{}, {"contenders": 1, "keep": 1}, {"contenders": 99}], ids=str)
def test_values_are_those_of_the_network_on_the_whole_input(options: dict[str, int]) -> None:
    where = landscape()
    found = found_by(CoarseToFine(RandomSearch(40), size=8, **options), where)
    assert found.exact
    torch.testing.assert_close(where.values(found.parameters.unsqueeze(0))[0], found.values)


def test_coarse_winners_alone_are_estimates() -> None:
    where = landscape()
    found = found_by(CoarseToFine(RandomSearch(40), size=8, contenders=0), where)
    assert not found.exact
    assert where.pairs_evaluated == pytest.approx(5 + 41 * 5 * 8 / POINTS)
    assert (where.values(found.parameters.unsqueeze(0))[0] - found.values).abs().max() > 1e-3


def test_the_cost_counts_views_by_their_share_and_equal_finalists_once() -> None:
    spy = Spy(MaxNetwork())
    where = landscape(spy)
    found_by(CoarseToFine(RandomSearch(40), size=8, contenders=3, keep=2), where)
    finalists = where.pairs_evaluated - 41 * 5 * 8 / POINTS
    assert 5 <= finalists <= 5 * 7
    assert sum(spy.rows(gradients=False)) == 41 * 5 + finalists


class Shifted(MaxNetwork):
    """On small clouds it adds a number to the scores of one class."""

    def forward(self, clouds: torch.Tensor) -> torch.Tensor:
        wrong = 10 * torch.eye(CLASSES, dtype=clouds.dtype)[0] * (clouds.shape[1] < POINTS)
        return super().forward(clouds) + wrong


def test_the_pilot_makes_up_for_scores_that_are_shifted_on_views() -> None:
    """Clouds of eight different points, each five times: the view is wrong about one class, and about nothing else."""
    g = large_clouds()[:, :8].repeat(1, POINTS // 8, 1)

    def found(network: MaxNetwork, **options: bool) -> torch.Tensor:
        search = CoarseToFine(RandomSearch(40), size=8, contenders=1, keep=1, low_precision=False, **options)
        return found_by(search, Landscape(network, Rotations(), ClassScore(), g)).values.amax(1)

    expected = found(MaxNetwork())
    torch.testing.assert_close(found(Shifted()), expected)
    assert bool((found(Shifted(), pilot=False) < expected - 1e-3).any())


def test_corrected_estimates_rank_classes_as_the_input_does() -> None:
    where = landscape()
    coarse, raw = (found_by(CoarseToFine(RandomSearch(40), size=8, contenders=0, pilot=p)) for p in (True, False))
    true = where.values(coarse.parameters.unsqueeze(0))[0]
    assert torch.equal(coarse.parameters, raw.parameters)
    assert (coarse.values - true).abs().mean() < (raw.values - true).abs().mean()


def test_the_best_few_are_those_of_a_sort() -> None:
    where = landscape()
    points = Rotations().space(where.g).sample(70, generator=torch.Generator().manual_seed(3))
    grid = points[:, None].expand(-1, 5, -1, -1)
    kept, values = best_few(where, [grid[:30], grid[30:32], grid[32:]], 4)
    every = where(grid)
    torch.testing.assert_close(values, every.sort(0, descending=True).values[:4])
    torch.testing.assert_close(where.values(kept), values)


def test_fewer_candidates_than_are_kept() -> None:
    assert found_by(CoarseToFine(RandomSearch(1), size=8, keep=5)).values.shape == (5, CLASSES)


def test_it_keeps_the_laws_of_maximizers() -> None:
    problem = rotation_problem()
    check_maximizer(CoarseToFine(RandomSearch(20), size=64, contenders=99, keep=1), problem)


def test_exact_values_are_not_evaluated_again_and_estimates_are() -> None:
    spy = Spy(MaxNetwork())
    g = large_clouds()
    for search, rows in [(RandomSearch(20), 20 * 5), (CoarseToFine(RandomSearch(20), 8, contenders=0), None)]:
        model = Canonicalized(spy, Rotations(), search).eval()
        spy.calls.clear()
        with torch.no_grad():
            logits = model(g)
        assert rows is None or sum(spy.rows(gradients=False)) == rows
        found = model.canonicalize(g)
        for d in range(CLASSES):
            torch.testing.assert_close(spy.network(found.forms()[:, d])[:, d], logits[:, d])


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="set of candidates"):
        CoarseToFine(SampleAndRefine(10))  # type: ignore[arg-type]
    model = Canonicalized(cloud_network(), Mirror(), CoarseToFine()).eval()
    with pytest.raises(SpaceError, match="no coarse views"):
        model(clouds())


@pytest.mark.parametrize("budget", [1, 2.5, 5, 12, 40])
@pytest.mark.parametrize(
    "search",
    [
        RandomSearch(50),
        GridSearch(50),
        GridSearch(points=torch.eye(3).expand(50, -1, -1)),
        AnchoredSearch(48),
        CoarseToFine(RandomSearch(50), size=8),
        CoarseToFine(GridSearch(50), size=8, contenders=5, keep=3),
        successive_halving(GridSearch(50), stages=(ClimbStage(8, 3, steps=2), ClimbStage(16, 2, steps=2)), steps=2),
    ],
    ids=repr,
)
def test_a_budget_is_kept(search: Maximizer, budget: float) -> None:
    model = Canonicalized(MaxNetwork(), Rotations(), search).eval()
    found = model.canonicalize(large_clouds(), budget=budget)
    assert 0 < found.evaluations <= max(budget, 1 + 8 / POINTS)
    for d in range(CLASSES):
        torch.testing.assert_close(model.network(found.forms()[:, d])[:, d], found.logits[:, d])


def test_a_larger_budget_finds_more() -> None:
    model = Canonicalized(MaxNetwork(), Rotations(), CoarseToFine(RandomSearch(1000), size=8)).eval()
    found = [float(model.canonicalize(large_clouds(20), budget=budget).scores.amax(1).mean()) for budget in (2, 10, 50)]
    assert found[0] < found[1] < found[2]


def test_a_budget_that_cannot_be_kept_is_refused() -> None:
    class Endless(RandomSearch):
        with_budget = Maximizer.with_budget

    model = Canonicalized(MaxNetwork(), Rotations(), Endless(5)).eval()
    with pytest.raises(InputError, match="cannot keep a budget"):
        model(large_clouds(), budget=10)
    with pytest.raises(InputError, match=r"budget to be a number, at least 1, got 0\.5"):
        model(large_clouds(), budget=0.5)
