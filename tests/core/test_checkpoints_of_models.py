"""A checkpoint names the family, the searches and the prior of its model, and is refused by another."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from adacanon import (
    Canonicalized,
    GridSearch,
    LargestScore,
    Monotone,
    NegativeEntropy,
    Objective,
    RandomSearch,
    SampleAndRefine,
    Temperature,
)
from adacanon.core import Family
from adacanon.core.naming import packed, unpacked
from adacanon.errors import InputError
from adacanon.families import Composition
from adacanon.images import Dilations, Rotations, Translations, Windows
from adacanon.points import AxisRotations
from adacanon.points import Rotations as Turns


def model(family: Family | None = None, search: Any = None, **options: Any) -> Canonicalized:
    network = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4, 3))
    return Canonicalized(network, family or Rotations(), search or RandomSearch(4), **options)


OTHERS = {
    "family": model(Translations()),
    "family of the same name": model(Turns()),
    "composition": model(Composition(Rotations(), Dilations())),
    "search": model(search=SampleAndRefine(4)),
    "search in training": model(training_search=GridSearch(4)),
    "prior": model(prior=NegativeEntropy()),
    "answers": model(prior=NegativeEntropy(axis=1), answers="maps"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_model_is_refused_and_nothing_is_loaded(other: str) -> None:
    theirs, ours = OTHERS[other], model(seed=7)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    with pytest.raises(InputError, match="belongs to another model"):
        ours.load_state_dict(theirs.state_dict())
    assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())


@pytest.mark.parametrize(
    ("saved", "own", "hint"),
    [(1.0, 0.0, r"temperature=1\.0"), (0.0, 1.0, "temperature=0"), (Temperature(2.0, learned=True), 0.0, r"2\.0")],
)
def test_a_maximum_is_not_taken_for_a_soft_maximum(saved: Any, own: float, hint: str) -> None:
    theirs, ours = model(temperature=saved), model(temperature=own, seed=7)
    before = {name: value.clone() for name, value in ours.state_dict().items()}
    with pytest.raises(InputError, match=hint):
        ours.load_state_dict(theirs.state_dict())
    assert all(torch.equal(value, before[name]) for name, value in ours.state_dict().items())


def test_inside_an_objective_it_is_refused_too() -> None:
    with pytest.raises(InputError, match=r"remove the entry 'model\._extra_state'"):
        Objective(model()).load_state_dict(Objective(model(Translations())).state_dict())


def test_whoever_asks_for_it_may_load_it_all_the_same() -> None:
    ours, state = model(), model(Translations()).state_dict()
    del state["_extra_state"]
    with pytest.warns(UserWarning, match="does not name its family"):
        ours.load_state_dict(state)
    assert torch.equal(ours.network[2].weight, state["network.2.weight"])


def test_the_number_of_candidates_may_differ() -> None:
    ours, theirs = model(search=RandomSearch(50)), model(search=RandomSearch(4))
    ours.load_state_dict(theirs.state_dict())
    assert torch.equal(ours.network[2].weight, theirs.network[2].weight)


@pytest.mark.parametrize(
    ("theirs", "ours", "settings"),
    [
        (model(Windows(levels=3)), model(Windows()), "levels=3"),
        (model(Rotations("disc")), model(Rotations("zero")), "outside='disc'"),
        (model(Turns(vectors=2)), model(Turns()), "vectors=2"),
        (model(AxisRotations((0, 1, 0))), model(AxisRotations((0, 0, 1))), "axis=(0, 1, 0)"),
        (model(Composition(Rotations("disc"), Dilations())), model(Composition(Rotations(), Dilations())), "disc"),
        (model(prior=Monotone(torch.neg)), model(prior=Monotone(torch.exp)), "signs=(-1,)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_settings_are_said_at_the_line_that_loads(
    theirs: Canonicalized, ours: Canonicalized, settings: str
) -> None:
    with pytest.warns(UserWarning, match=f"belongs to .*{re.escape(settings)}.* Hint: make the model with ") as caught:
        ours.load_state_dict(theirs.state_dict())
    assert caught[0].filename == __file__


def test_the_kinds_of_answers_are_not_mixed() -> None:
    """In both directions; the answers of the first are turned back, those of the second are not."""
    turned, fixed = (model(Turns(), prior=LargestScore(), answers=kind) for kind in ("vectors", "invariant"))
    for theirs, ours, words in ((turned, fixed, "answers vectors in"), (fixed, turned, "answers invariant in")):
        with pytest.raises(InputError, match=words):
            ours.load_state_dict(theirs.state_dict())


def test_a_checkpoint_that_does_not_name_its_prior_is_loaded() -> None:
    """As older versions wrote them."""
    state = model(prior=NegativeEntropy()).state_dict()
    names = {name: value for name, value in unpacked(state["_extra_state"]).items() if "prior" not in name}
    ours = model()
    ours.load_state_dict(state | {"_extra_state": packed(names)})
    assert torch.equal(ours.network[2].weight, state["network.2.weight"])


def test_a_checkpoint_of_tensors_alone_takes_the_names_along(tmp_path: Path) -> None:
    save_file(model(Translations()).state_dict(), tmp_path / "model.safetensors")
    state = load_file(tmp_path / "model.safetensors")
    model(Translations()).load_state_dict(state)
    with pytest.raises(InputError, match="Translations"):
        model().load_state_dict(state)
