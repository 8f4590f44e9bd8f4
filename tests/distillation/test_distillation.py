"""distil: a ranker that learns from the search of a network, and a model that is otherwise the same."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    Cascade,
    GridSearch,
    NegativeEntropy,
    Objective,
    RandomSearch,
    SampleAndRefine,
    distil,
)
from adacanon.distillation.exercises import exercises_of
from adacanon.distillation.lessons import lessons_of
from adacanon.distillation.measuring import measured
from adacanon.errors import InputError, ShapeError
from adacanon.images import Rotations as Turns
from adacanon.maximizers import Ranker
from adacanon.points import PointNet, Rotations
from adacanon.testing import assert_invariant
from cases.coarse_cases import CLASSES, MaxNetwork
from cases.networks import DenseNetwork, Mirror, Spy, cloud_network, clouds
from cases.rankers import RankingNetwork, small_ranker


def some_clouds(count: int = 48, *, seed: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 40, 3, generator=generator, dtype=torch.float64) * torch.tensor([1.0, 0.6, 0.3])


def full_model(**options: Any) -> Canonicalized:
    return Canonicalized(MaxNetwork(), Rotations(), AnchoredSearch(24), **options).eval()


def distilled_agreement(steps: int) -> tuple[float, ...]:
    ranker = Ranker(RankingNetwork(CLASSES), CLASSES, size=16).double()
    found = distil(full_model(), some_clouds().split(8), ranker=ranker, steps=steps, held_out=3, show=False)
    return found.measured.agreements


def test_a_ranker_that_has_learned_agrees_more_often() -> None:
    before, after = distilled_agreement(1), distilled_agreement(150)
    assert after[0] > before[0]
    assert sum(after) > sum(before)
    assert after[-1] == 1.0


def test_what_is_measured_is_what_the_model_does() -> None:
    batches = list(some_clouds().split(8))
    for temperature in (0.0, 0.5):
        model = full_model(temperature=temperature)
        found = distil(model, batches, ranker=small_ranker(CLASSES, size=16), steps=3, finalists=2, show=False)
        held = batches[0]
        answers, full = found.model(held).detach(), model(held).detach()
        assert found.measured.inputs == 8
        assert found.measured.agreement == float((answers.argmax(1) == full.argmax(1)).double().mean())
        assert found.measured.error == pytest.approx(float((answers.amax(1) - full.amax(1)).abs().mean()), rel=1e-5)
        record = found.model.canonicalize(held)
        assert found.measured.finalists <= 2
        assert record.evaluations == pytest.approx(found.measured.evaluations)
        assert found.measured.full_evaluations == 24


def test_the_network_stays_as_it_is_and_the_cascade_is_used_in_evaluation_alone() -> None:
    torch.manual_seed(0)
    model = Canonicalized(PointNet(4), Rotations(), seed=5, chunk_size=6)
    before = copy.deepcopy(model.state_dict())
    found = distil(model, torch.randn(24, 32, 3).split(6), steps=2, show=False)
    for key, value in model.state_dict().items():
        assert torch.equal(value, before[key]), key
    assert model.training
    assert model.network.training
    ours = found.model
    assert ours.network is model.network
    assert isinstance(ours.search, Cascade)
    assert ours.training_search is model.search
    assert (int(ours.seed), ours.chunk_size, ours.training) == (5, 6, True)
    Objective(ours)(torch.randn(4, 32, 3), torch.arange(4)).loss.backward()
    assert all(parameter.grad is None for parameter in ours.search.ranker.parameters())


def test_the_answer_of_the_default_ranker_is_exactly_invariant() -> None:
    torch.manual_seed(0)
    model = Canonicalized(MaxNetwork(), Rotations()).eval()
    found = distil(model, some_clouds().split(8), steps=3, show=False)
    assert next(found.model.search.ranker.parameters()).dtype == torch.float64
    assert_invariant(found.model, some_clouds(6, seed=8), Rotations(), tolerance=1e-9)


def test_the_same_seed_gives_the_same_ranker_twice() -> None:
    answers = []
    for _ in range(2):
        ranker = small_ranker(CLASSES, size=8)
        found = distil(full_model(), some_clouds(16).split(4), ranker=ranker, steps=5, show=False)
        answers.append(found.model.search.ranker(some_clouds(2)))
    assert torch.equal(answers[0], answers[1])


def test_a_loader_may_bring_labels_or_any_batch() -> None:
    labelled = torch.utils.data.TensorDataset(some_clouds(16), torch.arange(16))
    loader = torch.utils.data.DataLoader(labelled, batch_size=4)
    named = [{"cloud": some_clouds(4), "label": 0} for _ in range(3)]
    for batches, inputs in ((loader, None), (named, lambda batch: batch["cloud"])):
        ranker = small_ranker(CLASSES)
        found = distil(full_model(), batches, ranker=ranker, inputs=inputs, steps=1, show=False)
        assert found.measured.inputs == 4


def test_a_model_that_is_distilled_can_be_distilled_again() -> None:
    first = distil(full_model(), some_clouds(16).split(4), ranker=small_ranker(CLASSES), steps=1, show=False)
    again = distil(first.model, some_clouds(16).split(4), ranker=small_ranker(CLASSES), steps=1, show=False)
    assert again.model.search.search == AnchoredSearch(24)
    assert again.model.training_search == AnchoredSearch(24)


def test_the_cost_of_a_ranker_is_counted_in_operations() -> None:
    wide = nn.Sequential(nn.Flatten(), nn.Linear(12, 100), nn.ReLU(), nn.Linear(100, 3))  # 1,500 products
    light = nn.Sequential(nn.Flatten(), nn.Linear(12, 3))  # 36 products
    model = Canonicalized(wide, Rotations(), RandomSearch(8)).eval()
    g = clouds(12, dtype=torch.float32)
    found = distil(model, g.split(3), ranker=Ranker(light, 3), finalists=2, steps=1, show=False)
    assert 1 <= found.measured.finalists <= 2
    assert found.measured.evaluations == pytest.approx(found.measured.finalists + 8 * 36 / 1500)


def test_the_ranker_of_large_clouds_starts_as_a_copy_of_the_network_on_a_few_points() -> None:
    torch.manual_seed(0)
    g, network = torch.randn(2, 800, 3), PointNet(4).eval()
    ranker = Rotations().ranker(g, 4, network).eval()
    assert (ranker.size, ranker.scaled) == (25, True)
    torch.testing.assert_close(ranker(g), network(g))
    assert all(ours is not theirs for ours, theirs in zip(ranker.parameters(), network.parameters(), strict=True))
    before = copy.deepcopy(network.state_dict())
    model = Canonicalized(network, Rotations()).eval()
    found = distil(model, g.repeat(2, 1, 1).split(2), steps=2, candidates=2, show=False)
    assert float(found.model.search.ranker.cost) < 0.1
    assert torch.equal(found.model.search.ranker.mean, torch.zeros(4))
    for key, value in network.state_dict().items():
        assert torch.equal(value, before[key]), key
    drops = [module.p for module in found.model.search.ranker.modules() if isinstance(module, nn.Dropout)]
    assert drops
    assert set(drops) == {0.0}


def test_the_network_is_asked_about_some_candidates_of_what_is_learned_from() -> None:
    spy = Spy(MaxNetwork())
    model = Canonicalized(spy, Rotations(), AnchoredSearch(24)).eval()
    ranker = small_ranker(CLASSES)
    distil(model, some_clouds(16).split(4), ranker=ranker, candidates=3, held_out=2, steps=1, show=False)
    counting = 4  # a pass over the first batch, whose operations are counted
    assert sum(spy.rows(gradients=False)) == 2 * 4 * 24 + 2 * 4 * 3 + counting


def test_images_and_finite_families_are_distilled_alike() -> None:
    torch.manual_seed(0)
    images = torch.rand(12, 1, 20, 20)
    network = nn.Sequential(nn.Flatten(), nn.Linear(400, 3))
    found = distil(Canonicalized(network, Turns(), GridSearch(8)).eval(), images.split(4), steps=2, show=False)
    assert found.model(images).shape == (12, 3)
    mirror = Canonicalized(cloud_network(), Mirror(), GridSearch()).eval()
    found = distil(mirror, clouds(12).split(4), ranker=small_ranker(3), finalists=1, steps=2, show=False)
    assert len(found.measured.agreements) == 2


def test_one_shared_form_is_judged_by_the_chosen_candidate() -> None:
    model = Canonicalized(DenseNetwork(), Rotations(), AnchoredSearch(24), prior=NegativeEntropy()).eval()
    batches = list(clouds(12).split(6))
    ranker, lessons = lessons_of(model, batches, small_ranker(1))
    agreements = measured(ranker, model, exercises_of(ranker, model, lessons), 3).agreements
    cascade = Canonicalized(DenseNetwork(), Rotations(), Cascade(AnchoredSearch(24), ranker), prior=NegativeEntropy())
    same = [
        (cascade.eval().canonicalize(g).parameters == model.canonicalize(g).parameters).all(-1).all(-1) for g in batches
    ]
    assert agreements[2] == pytest.approx(float(torch.cat(same).double().mean()))


def test_what_cannot_be_distilled_is_refused() -> None:
    batches = some_clouds(8).split(4)
    with pytest.raises(InputError, match="takes a Canonicalized model, got MaxNetwork"):
        distil(MaxNetwork(), batches)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"finite set of candidates.*Hint"):
        distil(Canonicalized(MaxNetwork(), Rotations(), SampleAndRefine(4)), batches)
    with pytest.raises(InputError, match="at least two batches"):
        distil(full_model(), batches[:1], ranker=small_ranker(CLASSES), show=False)
    with pytest.raises(InputError, match="got none"):
        distil(full_model(), [], show=False)
    with pytest.raises(ShapeError, match="gives 6 values per candidate, the ranker estimates 4"):
        distil(full_model(), batches, ranker=small_ranker(4), show=False)
    with pytest.raises(InputError, match=r"no ranker of its own.*Hint: distil\(..., ranker=Ranker"):
        distil(Canonicalized(cloud_network(), Mirror(), GridSearch()), clouds(6).split(3), show=False)
    with pytest.raises(InputError, match="needs a Ranker"):
        distil(full_model(), batches, ranker=MaxNetwork(), show=False)  # type: ignore[arg-type]


def test_on_average_it_takes_no_more_finalists_than_it_was_told() -> None:
    for finalists in (1.5, 3, 6):
        ranker = small_ranker(CLASSES, size=16)
        found = distil(full_model(), some_clouds().split(8), ranker=ranker, finalists=finalists, steps=3, show=False)
        assert 1 <= found.measured.finalists <= finalists
        assert ranker.errors.settles
        assert found.model.search.finalists == 4 * finalists


def test_with_as_many_for_one_input_as_on_average_all_inputs_take_the_same_number() -> None:
    ranker = small_ranker(CLASSES, size=16)
    found = distil(full_model(), some_clouds().split(8), ranker=ranker, finalists=3, most=3, steps=3, show=False)
    assert found.measured.finalists == 3
    assert not ranker.errors.settles
    assert found.measured.agreement == found.measured.agreements[2]


def test_a_validation_set_is_measured_on_and_everything_else_is_learned_from() -> None:
    spy = Spy(MaxNetwork())
    model = Canonicalized(spy, Rotations(), AnchoredSearch(24)).eval()
    others = some_clouds(10, seed=8).split(5)
    ranker = small_ranker(CLASSES, size=16)
    found = distil(model, some_clouds(16).split(8), ranker=ranker, validation=others, candidates=4, steps=2, show=False)
    assert found.measured.inputs == 10
    asked = sum(rows for rows, _ in spy.calls)
    assert asked - 8 - 8 <= 16 * 4 + 10 * 24 <= asked  # besides, what counts its operations
    full = full_model()
    agreed = torch.cat([found.model(batch).argmax(1) == full(batch).argmax(1) for batch in others])
    assert found.measured.agreement == pytest.approx(float(agreed.double().mean()))


def test_numbers_of_finalists_that_make_no_sense_are_refused() -> None:
    batches = some_clouds(8).split(4)
    with pytest.raises(InputError, match="finalists"):
        distil(full_model(), batches, finalists=0.5, show=False)
    with pytest.raises(InputError, match="most"):
        distil(full_model(), batches, finalists=3, most=2, show=False)
