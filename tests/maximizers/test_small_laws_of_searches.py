"""Laws of searches that no other test noticed when they were broken (``make mutants``)."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from adacanon import (
    Canonicalized,
    Cascade,
    CoarseToFine,
    GridSearch,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    WeightedAnchors,
    WithMemory,
    fast_training_searches,
)
from adacanon.core.evaluation import slopes
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import SearchResult
from adacanon.errors import InputError, ScoreError
from adacanon.maximizers import Calibration, Ranker
from adacanon.maximizers.finalists import first_of_their_kind
from adacanon.maximizers.ranker import spread_of
from adacanon.maximizers.selection import better
from adacanon.maximizers.with_memory import Memory
from adacanon.points import Rotations
from cases.networks import Mirror, cloud_network, clouds


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_the_end_of_a_climb_needs_no_gradient(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient at the start of every step, and only the value at the last point."""
    plain, calls = Landscape.value_and_gradient, list[int]()

    def counted(self: Landscape, u: Tensor, form: Tensor | None = None) -> tuple[Tensor, Tensor]:
        calls.append(1)
        return plain(self, u, form)

    monkeypatch.setattr(Landscape, "value_and_gradient", counted)
    Canonicalized(cloud_network(), Rotations(), SampleAndRefine(2, steps)).eval()(clouds())
    assert len(calls) == steps


@pytest.mark.parametrize("gains", [(3, 5), (5, 3), (0, 2)])
def test_merged_calibrations_have_seen_what_the_busiest_has_seen(gains: tuple[int, int]) -> None:
    """Beyond what all of them knew before."""
    before = Calibration()
    before.moments, before.batches = torch.ones(4, 2), torch.tensor(7)
    before._common = torch.tensor(4)
    assert int(before.learned()[1]) == 3
    before._common = before.batches
    before.merge([(torch.full((4, 2), float(gain)), torch.tensor(gain)) for gain in gains])
    assert before.batches.tolist() == [7 + max(gains)] * 2
    expected = sum(gain * gain for gain in gains) / sum(gains)
    torch.testing.assert_close(before.moments, torch.full((4, 2), expected))


def test_points_are_compared_whole() -> None:
    """Matrices that agree in a row are not the same point; those of other inputs never are."""
    a, b = torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, -1.0]])
    points = torch.stack([torch.stack([a, a]), torch.stack([b, a]), torch.stack([a, b])])
    assert first_of_their_kind(points, 2).tolist() == [[True, True], [True, False], [False, True]]


@dataclass(frozen=True)
class Few(RandomSearch):
    """Says what budget it was given."""

    given: float = 0.0

    def with_budget(self, budget: float, landscape: Landscape) -> "Few":
        return Few(1, given=budget)


@pytest.mark.parametrize(("budget", "times"), [(1, 1), (2, 2), (12, 3), (0.5, 1)])
def test_repetitions_share_a_budget(budget: float, times: int) -> None:
    model = Canonicalized(cloud_network(), Rotations(), RandomSearch(2))
    with model.searching(clouds(), None, None) as (_, landscape):
        found = Restarts(Few(4), 3).with_budget(budget, landscape)
    assert isinstance(found, Restarts)
    assert isinstance(found.search, Few)
    assert (found.times, found.search.given) == (times, budget / times)


def test_a_budget_of_one_is_spent_on_the_first_element() -> None:
    """Of a finite set that is the identity: the answer is the network's own."""
    network, x = cloud_network(), clouds()
    model = Canonicalized(network, Mirror(), GridSearch()).eval()
    torch.testing.assert_close(model.canonicalize(x, budget=1).logits, network(x))


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("new", [True, False])
def test_the_better_of_two_outcomes_is_exact_if_both_are(old: bool, new: bool) -> None:
    first, second = (SearchResult(torch.zeros(1, 1, 3), torch.zeros(1, 1), exact=one) for one in (old, new))
    assert better(first, second).exact == (old and new)


def test_values_that_are_all_alike_have_a_spread_of_one() -> None:
    assert spread_of(torch.tensor([[2.0, 1.0], [2.0, 3.0]])).tolist() == [1.0, 1.0]
    assert spread_of(torch.tensor([[2.0, 1.0], [2.0, 9.0]])).tolist() == [1.0, 4.0]


@pytest.mark.parametrize("number", [-1, 4, 5])
def test_ids_beyond_the_samples_of_a_memory_are_refused(number: int) -> None:
    model = Canonicalized(cloud_network(), Rotations(), WithMemory(RandomSearch(2), 4)).train()
    with pytest.raises(InputError, match=r"was made for ids 0\.\.3"):
        model(clouds(2), ids=torch.tensor([0, number]))


def test_an_anchor_without_weight_never_wins() -> None:
    """A box has fewer anchors than a cube, beside which it gets places of weight zero."""
    corner = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    box, cube = (torch.cartesian_prod(corner, side * corner, far * corner) for side, far in ((2, 4), (1, 1)))
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(24, 3, dtype=torch.float64), torch.nn.Tanh())
    model = Canonicalized(network, Rotations(), WeightedAnchors()).eval()
    both, alone = model.canonicalize(torch.stack([box, cube])), model.canonicalize(box[None])
    torch.testing.assert_close(both.scores[:1], alone.scores)
    assert both.scores.isfinite().all()


@pytest.mark.parametrize(("budget", "finalists", "candidates"), [(1, 1, 1), (4, 2, 8), (9, 4, 20), (30, 5, 100)])
def test_a_cascade_gives_half_of_its_budget_to_finalists(budget: float, finalists: int, candidates: int) -> None:
    """The rest goes to candidates, four of which cost one evaluation."""
    search = Cascade(GridSearch(1000), Ranker(torch.nn.Flatten(), 3, cost=0.25), finalists=5)
    model = Canonicalized(cloud_network(), Rotations(), RandomSearch(2))
    with model.searching(clouds(), None, None) as (_, landscape):
        found = search.with_budget(budget, landscape)
    assert isinstance(found.search, GridSearch)
    assert (found.finalists, found.search.candidates) == (finalists, candidates)


@pytest.mark.parametrize(("given", "count", "expected"), [(None, 5, 5), (9, 5, 5), (3, 5, 3)])
def test_a_covering_set_is_limited_and_never_enlarged(given: int | None, count: int, expected: int) -> None:
    assert GridSearch(given).limited(count).candidates == expected


def test_the_training_search_of_a_fast_training_looks_at_remembered_and_drawn_candidates_alone() -> None:
    """No contenders, and no pilot."""
    _, training = fast_training_searches(samples=9)
    assert isinstance(training, CoarseToFine)
    assert (training.contenders, training.pilot) == (0, False)


@pytest.mark.parametrize(("scaled", "steps", "changes"), [(False, 0, True), (True, 0, False), (False, 1, False)])
def test_a_ranker_is_scaled_once(scaled: bool, steps: int, changes: bool) -> None:
    """Neither one whose values have the right size already, nor one that has learned."""
    ranker = Ranker(torch.nn.Flatten(), 2, scaled=scaled)
    ranker.steps.fill_(steps)
    ranker.set_scale(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
    assert (ranker.mean.tolist() == [2, 4]) == changes
    assert (ranker.spread.tolist() == [1, 2]) == changes


@pytest.mark.parametrize("samples", [[0], [2], [1, 2]])
def test_the_first_sample_for_which_a_network_gave_nan_is_named(samples: list[int]) -> None:
    """With the number of candidates, two for each of three samples, that have it."""
    plain = cloud_network()

    class Broken(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            scores: Tensor = plain(x)
            return scores.masked_fill((x.norm(dim=-1).amax(1) > 50).unsqueeze(1), torch.nan)

    x = clouds()
    x[samples, 0] = 100.0
    counts = rf"\({2 * len(samples)} of 6 candidates\)"
    with pytest.raises(ScoreError, match=f"NaN for a candidate of sample {samples[0]} {counts}"):
        Canonicalized(Broken(), Rotations(), RandomSearch(2)).eval()(x)


def test_values_that_do_not_depend_on_a_part_of_the_point_have_no_slope_by_it() -> None:
    value, gradient = slopes((torch.tensor([2.0]), torch.tensor([5.0])), lambda u: u[0] ** 2)
    assert (value.item(), gradient[0].item(), gradient[1].item()) == (4.0, 4.0, 0.0)


def test_merged_memories_know_what_each_has_stored_and_forget_that_it_is_new() -> None:
    """Of a sample that two have seen, the winners of the first; a process that stored nothing changes nothing."""
    one, other = torch.ones(2, 1, 3), 2 * torch.ones(2, 1, 3)
    memory = Memory(5)
    memory.fresh[0] = True
    nothing = (torch.tensor([], dtype=torch.int64), None)
    memory.merge([nothing, (torch.tensor([1, 2]), one), nothing, (torch.tensor([2, 4]), other)])
    assert memory.known.tolist() == [False, True, True, False, True]
    assert not memory.fresh.any()
    assert isinstance(memory.winners, Tensor)
    assert memory.winners[:, 0, 0].tolist() == [0, 1, 1, 0, 2]
