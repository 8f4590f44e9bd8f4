"""The memory of winners: monotone for samples that stay, saved with the model, and of no use without ids."""

import copy

import pytest
import torch

from adacanon import Canonicalized, CoarseToFine, Objective, RandomSearch, SampleAndRefine, WithMemory
from adacanon.core import ClassScore, Landscape, Maximizer
from adacanon.errors import InputError
from adacanon.points import Rotations
from adacanon.points.pointnet import PointNet
from cases.networks import clouds

IDS = torch.tensor([4, 0, 2])


def network() -> torch.nn.Module:
    """For clouds of any number of points."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return PointNet(3, widths=(8, 16), head=(8,)).double().eval()


def landscape(ids: torch.Tensor | None = IDS) -> Landscape:
    return Landscape(network(), Rotations(), ClassScore(), clouds(), ids=ids)


def values(search: Maximizer, seed: int, ids: torch.Tensor | None = IDS) -> torch.Tensor:
    return search.maximize(landscape(ids), generator=torch.Generator().manual_seed(seed)).values


def test_values_never_fall_and_do_rise() -> None:
    search = WithMemory(RandomSearch(3), samples=5)
    path = torch.stack([values(search, seed) for seed in range(20)])
    assert bool((path.diff(dim=0) >= -1e-6).all())  # the same point in another batch of candidates
    assert bool((path[-1] > path[0]).any())
    alone = torch.stack([values(WithMemory(RandomSearch(3), 5), seed) for seed in range(20)]).amax(0)
    torch.testing.assert_close(path[-1], alone)


def test_what_is_found_has_the_value_that_it_says() -> None:
    search, where = WithMemory(SampleAndRefine(3, 2), samples=5), landscape()
    for seed in range(4):
        found = search.maximize(where, generator=torch.Generator().manual_seed(seed))
        assert found.exact
        torch.testing.assert_close(where.values(found.parameters.unsqueeze(0))[0], found.values)


def test_on_coarse_views_nothing_is_forgotten_either() -> None:
    """With one draw per call and a slot for every class, the winners on the view are the best of all calls."""
    search = CoarseToFine(
        WithMemory(RandomSearch(1), samples=5), size=3, contenders=0, low_precision=False, pilot=False
    )
    path = torch.stack([values(search, seed) for seed in range(12)])
    alone = [
        values(CoarseToFine(RandomSearch(1), size=3, contenders=0, low_precision=False, pilot=False), seed)
        for seed in range(12)
    ]
    torch.testing.assert_close(path[-1], torch.stack(alone).amax(0))


def test_one_slot_keeps_the_strongest_class() -> None:
    search = WithMemory(RandomSearch(3), samples=5, slots=1)
    path = torch.stack([values(search, seed).amax(1) for seed in range(20)])
    assert bool((path.diff(dim=0) >= -1e-6).all())
    assert search.memory.winners.shape == (5, 1, 3, 3)


def test_slots_beyond_the_classes_are_those_of_the_classes() -> None:
    many, all_classes = WithMemory(RandomSearch(3), samples=5, slots=99), WithMemory(RandomSearch(3), samples=5)
    for seed in range(3):
        assert torch.equal(values(many, seed), values(all_classes, seed))


def test_samples_do_not_mix() -> None:
    search = WithMemory(RandomSearch(2), samples=5)
    values(search, 0)
    others = torch.tensor([1, 3, 0])
    expected = values(WithMemory(RandomSearch(2), 5), 1, others)
    torch.testing.assert_close(values(search, 1, others)[:2], expected[:2])


def test_without_ids_it_is_the_search_itself_and_says_so() -> None:
    search = WithMemory(RandomSearch(3), samples=5)
    values(search, 0)
    plain = RandomSearch(3).maximize(landscape(), generator=torch.Generator().manual_seed(1))
    with pytest.warns(UserWarning, match=r"without ids and remembers nothing. Hint: objective\(g, targets, ids\)"):
        assert torch.equal(values(search, 1, None), plain.values)


def test_a_budget_leaves_the_memory_in_place() -> None:
    search = WithMemory(RandomSearch(30), samples=5)
    before = values(search, 0)
    few = search.with_budget(2, landscape())
    assert bool((values(few, 1) >= before - 1e-6).all())


@pytest.mark.parametrize("wrap", [lambda search: search, lambda search: CoarseToFine(search, size=3, contenders=0)])
def test_the_store_is_saved_with_the_model(wrap) -> None:
    def build() -> Canonicalized:
        torch.manual_seed(0)
        search = WithMemory(RandomSearch(3), samples=5)
        return Canonicalized(network(), Rotations(), RandomSearch(3), training_search=wrap(search))

    model, other = build(), build()
    objective = Objective(model)
    objective(clouds(), torch.tensor([0, 1, 2]), IDS)
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    memory, copied = model.search_state[0], other.search_state[0]
    assert torch.equal(copied.known, memory.known)
    assert torch.equal(copied.winners, memory.winners)
    torch.testing.assert_close(other(clouds(), ids=IDS), model(clouds(), ids=IDS))


def test_a_loaded_store_is_a_copy() -> None:
    """What is learnt after loading changes neither the model that it came from nor the state."""

    def build(samples: int) -> Canonicalized:
        return Canonicalized(network(), Rotations(), WithMemory(RandomSearch(3), samples=samples)).train()

    model, other = build(5), build(5)
    model(clouds(), ids=IDS)
    state = model.state_dict()
    before = copy.deepcopy(model.search_state[0].get_extra_state())
    other.load_state_dict(state)
    other(clouds(), ids=torch.tensor([4, 1, 3]))
    assert torch.equal(model.search_state[0].known, before["known"])
    assert torch.equal(model.search_state[0].winners, before["winners"])
    assert not torch.equal(other.search_state[0].winners, before["winners"])
    for samples in (3, 9):
        with pytest.raises(InputError, match=f"A memory of {samples} samples cannot take the state of one of 5"):
            build(samples).load_state_dict(state)


def test_a_search_that_serves_twice_is_saved_once() -> None:
    search = WithMemory(RandomSearch(3), samples=5)
    assert len(Canonicalized(network(), Rotations(), search, training_search=search).search_state) == 1
    assert not Canonicalized(network(), Rotations(), RandomSearch(3)).search_state


def test_ids_beyond_the_store_are_refused() -> None:
    with pytest.raises(InputError, match=r"ids 0\.\.2, got 0\.\.4"):
        values(WithMemory(RandomSearch(3), samples=3), 0)


def test_a_search_without_candidates_cannot_be_remembered_on_coarse_views() -> None:
    search = CoarseToFine(WithMemory(SampleAndRefine(3, 2), samples=5), size=3)
    with pytest.raises(InputError, match="WithMemory needs a search over a set of candidates"):
        values(search, 0)
