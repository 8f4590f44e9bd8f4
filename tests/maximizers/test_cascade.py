"""A cascade: the full search where all candidates are finalists, invariant as its candidates, honest in its values."""

import math
import threading

import pytest
import torch

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    Cascade,
    GridSearch,
    Maximizer,
    NegativeEntropy,
    RandomSearch,
    SampleAndRefine,
    WeightedAnchors,
)
from adacanon.errors import InputError, ScoreError, ShapeError, SpaceError
from adacanon.images import Rotations as Turns
from adacanon.maximizers import Ranker
from adacanon.points import Rotations
from adacanon.testing import assert_invariant, check_maximizer, rotation_problem
from cases.coarse_cases import CLASSES, POINTS, MaxNetwork, found_by, landscape, large_clouds
from cases.networks import DenseNetwork, Mirror, Spy, cloud_network, clouds
from cases.rankers import small_ranker
from oracles.cascade import scores as slow_scores

ANCHORS = AnchoredSearch(24)


def cascade(finalists: int = 3, *, size: int | None = 8, search: Maximizer = ANCHORS) -> Cascade:
    return Cascade(search, small_ranker(CLASSES, size=size), finalists=finalists)


@pytest.mark.parametrize("size", [8, None])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("finalists", [1, 3, 23])
def test_it_agrees_with_a_slow_loop(finalists: int, temperature: float, size: int | None) -> None:
    search, g, family = cascade(finalists, size=size), large_clouds(), Rotations()
    model = Canonicalized(MaxNetwork(), family, search, temperature=temperature).eval()
    view = g if size is None else family.coarse(g, size)
    points = family.anchor(g).transpose(0, 1)
    expected = slow_scores(
        model.network, search.ranker, family, g, view, points, finalists=finalists, temperature=temperature
    )
    torch.testing.assert_close(model(g), expected)


@pytest.mark.parametrize("finalists", [24, 100])
@pytest.mark.parametrize("search", [ANCHORS, RandomSearch(24), GridSearch(24)], ids=repr)
def test_with_all_candidates_as_finalists_it_is_the_full_search(search: Maximizer, finalists: int) -> None:
    where = landscape()
    found, expected = found_by(cascade(finalists, search=search), where), found_by(search)
    torch.testing.assert_close(found.values, expected.values)
    assert torch.equal(found.parameters, expected.parameters)
    assert where.pairs_evaluated == 24 * 5  # the ranker is not asked


def test_values_are_those_of_the_network_on_the_whole_input_and_no_larger_than_the_full_search() -> None:
    where = landscape()
    found = found_by(cascade(2), where)
    assert found.exact
    torch.testing.assert_close(where.values(found.parameters.unsqueeze(0))[0], found.values)
    full = found_by(ANCHORS).values
    assert bool((found.values <= full + 1e-12).all())
    assert bool((found.values < full - 1e-3).any())


@pytest.mark.parametrize("temperature", [0.0, 1.0, math.inf])
def test_it_is_as_invariant_as_its_candidates(temperature: float) -> None:
    model = Canonicalized(MaxNetwork(), Rotations(), cascade(2), temperature=temperature).eval()
    assert assert_invariant(model, large_clouds(), Rotations(), tolerance=1e-9) < 1e-9
    fixed = Canonicalized(MaxNetwork(), Rotations(), cascade(2, search=RandomSearch(24))).eval()
    with pytest.raises(AssertionError, match="not invariant"):
        assert_invariant(fixed, large_clouds(), Rotations(), tolerance=1e-3)


def test_the_order_of_points_does_not_matter() -> None:
    g = large_clouds()
    model = Canonicalized(MaxNetwork(), Rotations(), cascade(2)).eval()
    torch.testing.assert_close(model(g[:, torch.randperm(POINTS)]), model(g))


def test_it_keeps_the_laws_of_maximizers() -> None:
    problem = rotation_problem()
    forms = Canonicalized(problem.network, problem.family, ANCHORS).eval()(problem.g).shape[1]
    check_maximizer(Cascade(RandomSearch(20), small_ranker(forms), finalists=20), problem)


def test_its_cost_is_that_of_the_finalists_and_a_share_for_the_ranker() -> None:
    spy = Spy(MaxNetwork())
    where = landscape(spy)
    found_by(cascade(3), where)
    assert sum(spy.rows(gradients=False)) == 3 * 5
    assert where.pairs_evaluated == pytest.approx(5 * (3 + 24 * 0.05))


@pytest.mark.parametrize("budget", [1, 2.5, 5, 40])
def test_a_budget_is_kept(budget: float) -> None:
    model = Canonicalized(MaxNetwork(), Rotations(), cascade(3)).eval()
    assert 0 < model.canonicalize(large_clouds(), budget=budget).evaluations <= budget


# A temperature


def test_an_infinite_number_of_finalists_is_the_full_soft_maximum_and_few_are_near_it_if_the_ranker_is_right() -> None:
    g, network = large_clouds(), MaxNetwork()
    full = Canonicalized(network, Rotations(), ANCHORS, temperature=1.0).eval()(g)
    every = Canonicalized(network, Rotations(), cascade(24), temperature=1.0).eval()(g)
    torch.testing.assert_close(every, full)
    perfect = Cascade(ANCHORS, Ranker(MaxNetwork(), CLASSES), finalists=2)
    torch.testing.assert_close(Canonicalized(network, Rotations(), perfect, temperature=1.0).eval()(g), full)


def test_gradients_of_a_soft_answer_flow_through_the_finalists_alone() -> None:
    search, g, family = cascade(2), large_clouds(), Rotations()
    model = Canonicalized(MaxNetwork(), family, search, temperature=0.7).eval()
    model(g).square().sum().backward()
    slow, view = MaxNetwork(), family.coarse(g, 8)
    points = family.anchor(g).transpose(0, 1)
    slow_scores(slow, search.ranker, family, g, view, points, finalists=2, temperature=0.7).square().sum().backward()
    for ours, theirs in zip(model.network.parameters(), slow.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    assert all(parameter.grad is None for parameter in search.ranker.parameters())


def test_the_chosen_form_of_a_soft_answer_is_one_that_the_network_has_seen() -> None:
    model = Canonicalized(MaxNetwork(), Rotations(), cascade(2), temperature=1.0).eval()
    found = model.canonicalize(large_clouds())
    hard = Canonicalized(MaxNetwork(), Rotations(), cascade(2)).eval().canonicalize(large_clouds())
    torch.testing.assert_close(found.parameters, hard.parameters)
    assert found.weights.shape == (24, 5, CLASSES)
    torch.testing.assert_close(found.weights.sum(0), torch.ones(5, CLASSES, dtype=torch.float64))
    torch.testing.assert_close(found.logits, model(large_clouds()))


# Other priors, families and ways


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_a_prior_with_one_shared_form_needs_one_estimate(temperature: float) -> None:
    options = {"prior": NegativeEntropy(), "temperature": temperature}
    search = Cascade(ANCHORS, small_ranker(1), finalists=24)
    model = Canonicalized(DenseNetwork(), Rotations(), search, **options).eval()
    full = Canonicalized(DenseNetwork(), Rotations(), ANCHORS, **options).eval()
    torch.testing.assert_close(model(clouds()), full(clouds()))
    few = Canonicalized(DenseNetwork(), Rotations(), Cascade(ANCHORS, small_ranker(1)), **options).eval()
    assert few.canonicalize(clouds()).evaluations == pytest.approx(3 + 24 * 0.05)
    assert_invariant(few, clouds(), Rotations(), tolerance=1e-9)


def test_any_finite_family_takes_a_ranker_on_whole_inputs() -> None:
    model = Canonicalized(cloud_network(), Mirror(), Cascade(GridSearch(), small_ranker(3), finalists=1)).eval()
    assert model.canonicalize(clouds()).evaluations == pytest.approx(1 + 2 * 0.05)
    full = Canonicalized(cloud_network(), Mirror(), GridSearch()).eval()
    assert bool((model(clouds()) <= full(clouds()) + 1e-12).all())


def test_images_have_a_ranker_of_their_own() -> None:
    images = torch.rand(3, 1, 28, 28)
    ranker = Turns().ranker(images, 4)
    assert ranker.size == 196
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 4))
    model = Canonicalized(network, Turns(), Cascade(GridSearch(12), ranker, finalists=2)).eval()
    assert model(images).shape == (3, 4)


def test_padded_clouds_have_a_ranker_and_clouds_with_a_category_need_one() -> None:
    points, mask = torch.randn(2, 9, 3), torch.ones(2, 9, dtype=torch.bool)
    mask[1, 5:] = False
    ranker = Rotations().ranker((points, mask), 4).eval()
    assert ranker((points, mask)).shape == (2, 4)
    assert Rotations().ranker((points, torch.eye(2)), 4) is None


def test_chunks_do_not_change_the_answer() -> None:
    answers = [
        Canonicalized(MaxNetwork(), Rotations(), cascade(3), chunk_size=size).eval()(large_clouds()) for size in (1, 7)
    ]
    torch.testing.assert_close(answers[0], answers[1])


def test_the_ranker_is_asked_in_evaluation_mode_and_its_flags_stay() -> None:
    class Dropping(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.drop = small_ranker(CLASSES).network.double(), torch.nn.Dropout(0.9)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.drop(self.body(x))

    search = Cascade(ANCHORS, Ranker(Dropping(), CLASSES).double(), finalists=2)
    model = Canonicalized(MaxNetwork(), Rotations(), search)
    expected = Canonicalized(MaxNetwork(), Rotations(), cascade(2, size=None)).eval()(large_clouds())
    for _ in range(3):
        torch.testing.assert_close(model(large_clouds()), expected)
    assert search.ranker.training


def test_threads_get_the_answers_that_they_would_get_alone() -> None:
    model = Canonicalized(MaxNetwork(), Rotations(), cascade(2), temperature=0.5).eval()
    batches = [large_clouds() * factor for factor in (1.0, 0.5, 2.0, -1.0)]
    expected = [model(g).detach() for g in batches]
    answers: dict[int, torch.Tensor] = {}

    def work(number: int) -> None:
        for _ in range(5):
            answers[number] = model(batches[number]).detach()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        torch.testing.assert_close(answers[number], expected[number])


# Saving and refusing


def test_the_ranker_is_saved_with_the_model() -> None:
    model = Canonicalized(MaxNetwork(), Rotations(), cascade(2), temperature=0.5).eval()
    with torch.no_grad():
        model.search.ranker.mean += 0.3
    other_ranker = small_ranker(CLASSES, size=8)
    for parameter in other_ranker.parameters():
        torch.nn.init.zeros_(parameter)
    other = Canonicalized(MaxNetwork(), Rotations(), Cascade(ANCHORS, other_ranker, finalists=2), temperature=0.5)
    other.load_state_dict(model.state_dict())
    torch.testing.assert_close(other.eval()(large_clouds()), model(large_clouds()))
    full = Canonicalized(MaxNetwork(), Rotations(), ANCHORS, temperature=0.5)
    with pytest.raises(InputError, match="search Cascade\\(AnchoredSearch\\) in the checkpoint"):
        full.load_state_dict(model.state_dict())


@pytest.mark.parametrize(
    "search", [SampleAndRefine(8), AnchoredSearch(24, steps=2), WeightedAnchors()], ids=lambda search: repr(search)
)
def test_a_search_that_has_no_finite_set_of_candidates_is_refused(search: Maximizer) -> None:
    with pytest.raises(InputError, match=r"finite set of candidates.*Hint"):
        Cascade(search, small_ranker(CLASSES))


def test_a_ranker_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(InputError, match=r"Cascade needs a Ranker, got MaxNetwork. Hint: Ranker\(network"):
        Cascade(ANCHORS, MaxNetwork())  # type: ignore[arg-type]
    for temperature in (0.0, 1.0):
        wrong = Cascade(ANCHORS, small_ranker(CLASSES + 1))
        model = Canonicalized(MaxNetwork(), Rotations(), wrong, temperature=temperature).eval()
        with torch.no_grad(), pytest.raises(ShapeError, match=f"7 values per candidate.*outputs={CLASSES}"):
            model(large_clouds())
    lying = Cascade(ANCHORS, Ranker(small_ranker(4).network, CLASSES).double())
    with pytest.raises(ShapeError, match=r"gives \(pairs, 6\), got \(120, 4\)"):
        found_by(lying)


def test_views_of_a_family_that_has_none_are_refused() -> None:
    model = Canonicalized(cloud_network(), Mirror(), Cascade(GridSearch(), small_ranker(3, size=2), finalists=1)).eval()
    with pytest.raises(SpaceError, match=r"no coarse views.*size=None"):
        model(clouds())


@pytest.mark.parametrize("finalists", [0, 1.5, "3"])
def test_a_number_of_finalists_that_is_none_is_refused(finalists: object) -> None:
    with pytest.raises(InputError, match="finalists to be a whole number, at least 1"):
        Cascade(ANCHORS, small_ranker(CLASSES), finalists=finalists)  # type: ignore[arg-type]


def test_estimates_that_are_not_numbers_are_refused() -> None:
    ranker = small_ranker(CLASSES)
    ranker.mean.fill_(math.nan)
    with pytest.raises(ScoreError, match="NaN") as refused:
        found_by(Cascade(ANCHORS, ranker))
    assert "It is the ranker that was called here" in refused.value.__notes__[0]
