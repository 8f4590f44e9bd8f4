"""The memory of winners: monotone for samples that stay, saved with the model, and silent without ids."""

import copy

import pytest
import torch

from adacanon import Canonicalized, Objective, RandomSearch, Remembered, SampleAndRefine
from adacanon.core import ClassScore, Landscape
from adacanon.errors import InputError
from adacanon.points import Rotations
from networks import cloud_network, clouds

IDS = torch.tensor([4, 0, 2])


def landscape(ids: torch.Tensor | None = IDS) -> Landscape:
    return Landscape(cloud_network(), Rotations(), ClassScore(), clouds(), ids=ids)


def values(search: Remembered, seed: int, ids: torch.Tensor | None = IDS) -> torch.Tensor:
    return search.maximize(landscape(ids), generator=torch.Generator().manual_seed(seed)).values


def test_values_never_fall_and_do_rise() -> None:
    search = Remembered(RandomSearch(3), samples=5)
    path = torch.stack([values(search, seed) for seed in range(20)])
    assert bool((path.diff(dim=0) >= 0).all())
    assert bool((path[-1] > path[0]).any())
    assert torch.equal(path[-1], torch.stack([values(Remembered(RandomSearch(3), 5), s) for s in range(20)]).amax(0))


def test_what_is_found_has_the_value_that_it_says() -> None:
    search, where = Remembered(SampleAndRefine(3, 2), samples=5), landscape()
    for seed in range(4):
        found = search.maximize(where, generator=torch.Generator().manual_seed(seed))
        assert found.exact
        torch.testing.assert_close(where.values(found.parameters.unsqueeze(0))[0], found.values)


def test_samples_do_not_mix() -> None:
    search = Remembered(RandomSearch(2), samples=5)
    values(search, 0)
    others = torch.tensor([1, 3, 0])
    expected = values(Remembered(RandomSearch(2), 5), 1, others)
    torch.testing.assert_close(values(search, 1, others)[:2], expected[:2])


def test_without_ids_it_is_the_search_itself() -> None:
    search = Remembered(RandomSearch(3), samples=5)
    values(search, 0)
    plain = RandomSearch(3).maximize(landscape(), generator=torch.Generator().manual_seed(1))
    assert torch.equal(values(search, 1, None), plain.values)


def test_the_store_is_saved_with_the_model() -> None:
    torch.manual_seed(0)
    model = Canonicalized(cloud_network(), Rotations(), Remembered(RandomSearch(3), samples=5))
    objective = Objective(model)
    objective(clouds(), torch.tensor([0, 1, 2]), IDS)
    other = Canonicalized(cloud_network(), Rotations(), Remembered(RandomSearch(3), samples=5))
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    torch.testing.assert_close(other(clouds(), ids=IDS), model(clouds(), ids=IDS))
    assert torch.equal(other.maximizer.known, model.maximizer.known)


def test_ids_beyond_the_store_are_refused() -> None:
    with pytest.raises(InputError, match=r"ids 0\.\.2, got 0\.\.4"):
        values(Remembered(RandomSearch(3), samples=3), 0)
