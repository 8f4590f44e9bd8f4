"""Numbers in constructors: whole numbers of Python, numpy and torch are taken, anything else is refused by name."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    CoarseToFine,
    GridSearch,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    Temperature,
    WithMemory,
    cross_entropy,
    one_vs_rest,
)
from adacanon.errors import AdacanonError, InputError
from adacanon.graphs import BandRotations, NodeRotations, Partition, SpectralMLP, dyadic, uniform
from adacanon.images import AffineMaps, Dilations, Shears, Translations, Truncations, Windows
from adacanon.maximizers import Calibration, ClimbStage, CompareStage
from adacanon.points import AxisRotations, Isometries, Rotations
from adacanon.spaces import SO3, Box, Circle, Finite, Orthogonal, Rectangles

Make = Callable[[Any], object]


def model(**options: Any) -> Canonicalized:
    return Canonicalized(nn.Flatten(), Rotations(), RandomSearch(2), **options)


WHOLE: dict[str, tuple[Make, int]] = {
    "Canonicalized chunk_size": (lambda n: model(chunk_size=n), 1),
    "Canonicalized resample_every": (lambda n: model(resample_every=n), 1),
    "RandomSearch candidates": (RandomSearch, 1),
    "GridSearch candidates": (GridSearch, 1),
    "SampleAndRefine candidates": (SampleAndRefine, 1),
    "SampleAndRefine steps": (lambda n: SampleAndRefine(4, n), 0),
    "AnchoredSearch candidates": (AnchoredSearch, 1),
    "AnchoredSearch steps": (lambda n: AnchoredSearch(steps=n), 0),
    "SubsetSearch candidates": (lambda n: SubsetSearch(RandomSearch(), n), 1),
    "Restarts times": (lambda n: Restarts(RandomSearch(), n), 1),
    "CoarseToFine size": (lambda n: CoarseToFine(RandomSearch(), n), 1),
    "CoarseToFine keep": (lambda n: CoarseToFine(keep=n), 1),
    "CoarseToFine contenders": (lambda n: CoarseToFine(contenders=n), 0),
    "CoarseToFine steps": (lambda n: CoarseToFine(steps=n), 0),
    "ClimbStage size": (lambda n: ClimbStage(n, 2), 1),
    "ClimbStage keep": (lambda n: ClimbStage(8, n), 1),
    "CompareStage size": (CompareStage, 1),
    "CompareStage leaders": (lambda n: CompareStage(leaders=n), 0),
    "WithMemory samples": (lambda n: WithMemory(RandomSearch(), samples=n), 1),
    "WithMemory slots": (lambda n: WithMemory(RandomSearch(), samples=4, slots=n), 1),
    "Calibration inputs": (Calibration, 1),
    "Finite size": (Finite, 1),
    "Orthogonal size": (Orthogonal, 0),
    "Orthogonal columns": (lambda n: Orthogonal(4, columns=n), 1),
    "SO3.cover count": (lambda n: SO3().cover(n), 1),
    "Circle.cover count": (lambda n: Circle().cover(n), 1),
    "Box.cover count": (lambda n: Box((0.0,), (1.0,)).cover(n), 1),
    "Rotations vectors": (Rotations, 1),
    "Isometries vectors": (Isometries, 1),
    "AxisRotations vectors": (lambda n: AxisRotations((0, 0, 1), n), 1),
    "Windows levels": (lambda n: Windows(levels=n), 1),
    "BandRotations rows": (lambda n: BandRotations(dyadic(3), n), 1),
    "dyadic bands": (dyadic, 1),
    "uniform bands": (uniform, 1),
    "SpectralMLP layers": (lambda n: SpectralMLP(2, 2, classes=2, layers=n), 1),
}


@pytest.mark.parametrize("name", WHOLE)
class TestWholeNumbers:
    @pytest.mark.parametrize("value", [2.5, 2.0, "2", True, np.float64(2)], ids=repr)
    def test_other_kinds_are_refused(self, name: str, value: Any) -> None:
        owner, argument = name.split()
        with pytest.raises(InputError, match=f"^{owner} expects {argument} to be a whole number.*, got ") as caught:
            WHOLE[name][0](value)
        assert repr(value) in str(caught.value)

    def test_numbers_below_the_least_are_refused(self, name: str) -> None:
        make, least = WHOLE[name]
        with pytest.raises(InputError, match=f"a whole number, at least {least}, got {least - 1}"):
            make(least - 1)

    @pytest.mark.parametrize("kind", [np.int64, lambda n: torch.tensor(n)])
    def test_those_of_numpy_and_torch_are_taken(self, name: str, kind: Callable[[int], Any]) -> None:
        if name == "Orthogonal size" and isinstance(kind(3), torch.Tensor):
            pytest.skip("a tensor stands for one size per input")
        make, _ = WHOLE[name]
        if name.startswith(("SpectralMLP", "Canonicalized", "SO3", "Circle", "Box")):
            make(kind(3))
        else:
            assert repr(make(kind(3))) == repr(make(3))


ENDLESS = [
    "RandomSearch candidates",
    "GridSearch candidates",
    "SampleAndRefine candidates",
    "SampleAndRefine steps",
    "AnchoredSearch candidates",
    "AnchoredSearch steps",
    "SubsetSearch candidates",
    "Restarts times",
]


@pytest.mark.parametrize("name", ENDLESS)
def test_a_search_that_would_not_end_is_refused(name: str) -> None:
    owner, argument = name.split()
    with pytest.raises(InputError, match=f"^{owner} expects {argument} to be at most 1,000,000,000, got 1,0"):
        WHOLE[name][0](10**12)


NUMBERS: dict[str, Make] = {
    "SampleAndRefine step_size": lambda x: SampleAndRefine(step_size=x),
    "CoarseToFine step_size": lambda x: CoarseToFine(step_size=x),
    "ClimbStage step_size": lambda x: ClimbStage(8, 2, step_size=x),
    "CompareStage margin": lambda x: CompareStage(margin=x),
    "Calibration forget": lambda x: Calibration(forget=x),
    "Box low": lambda x: Box((x,), (1.0,)),
    "Box high": lambda x: Box((0.0,), (x,)),
    "Rectangles smallest": Rectangles,
    "Rectangles smallest ": Truncations,
    "Windows largest": lambda x: Windows(largest=x),
    "Dilations smallest": Dilations,
    "Translations reach": Translations,
    "Shears reach": Shears,
    "AffineMaps shift": lambda x: AffineMaps(shift=x),
    "dyadic decay": lambda x: dyadic(3, decay=x),
}


@pytest.mark.parametrize("name", NUMBERS)
class TestNumbers:
    @pytest.mark.parametrize("value", ["x", True, math.nan, [0.5], np.array([0.5, 0.6])], ids=repr)
    def test_other_kinds_are_refused(self, name: str, value: Any) -> None:
        owner, argument = name.split()
        with pytest.raises(InputError, match=f"^{owner} expects {argument} to be a number.*, got "):
            NUMBERS[name](value)

    @pytest.mark.parametrize("kind", [np.float32, lambda x: torch.tensor(x)])
    def test_those_of_numpy_and_torch_are_taken(self, name: str, kind: Callable[[float], Any]) -> None:
        assert repr(NUMBERS[name](kind(0.5))) == repr(NUMBERS[name](0.5))


@pytest.mark.parametrize("value", [1.5, "1", None, True])
def test_a_seed_is_a_whole_number(value: Any) -> None:
    with pytest.raises(InputError, match="Canonicalized expects seed to be a whole number, got "):
        model(seed=value)


def test_seeds_of_numpy_and_negative_ones_are_taken() -> None:
    assert int(model(seed=np.int64(7)).seed) == 7
    assert int(model(seed=-7).seed) == -7


@pytest.mark.parametrize("value", ["x", ["a"], True, [], {}, -1.0, math.nan, [[1.0]], 1j], ids=repr)
def test_a_temperature_is_a_number_or_one_per_class(value: Any) -> None:
    for make in (lambda: model(temperature=value), lambda: Temperature(value)):
        with pytest.raises(InputError, match="A temperature must be a number or one per class, and not negative, got "):
            make()


@pytest.mark.parametrize("value", [np.float32(0.5), np.array([0.5, 1.0]), np.int64(1), (0.5, 1.0), torch.tensor(0.5)])
def test_temperatures_of_numpy_and_torch_are_taken(value: Any) -> None:
    temperature = model(temperature=value).temperature
    assert temperature is not None
    assert torch.equal(temperature(), torch.as_tensor(value).float())


@pytest.mark.parametrize("part", [[], (), 0, "", False])
def test_an_empty_thing_is_no_prior(part: Any) -> None:
    with pytest.raises(InputError, match="The prior must be a Prior, got "):
        model(prior=part)


@pytest.mark.parametrize("budget", ["x", 0.5, math.nan, True])
def test_a_budget_is_at_least_one_evaluation(budget: Any) -> None:
    with pytest.raises(AdacanonError, match="expects budget to be a number, at least 1, got "):
        model()(torch.randn(2, 4, 3), budget=budget)


def test_a_budget_is_finite() -> None:
    with pytest.raises(InputError, match="a finite budget, got inf"):
        model()(torch.randn(2, 4, 3), budget=math.inf)


@pytest.mark.parametrize("loss", [cross_entropy, one_vs_rest])
@pytest.mark.parametrize("targets", [None, "cat", [[0], [0, 1]]], ids=repr)
def test_targets_that_are_no_tensor_are_refused(loss: Callable[..., Any], targets: Any) -> None:
    with pytest.raises(InputError, match="A loss of class scores expects a tensor of targets, got "):
        loss(torch.zeros(2, 3), targets)


@pytest.mark.parametrize("boundaries", [(0.0, math.nan, 2.0), (math.nan, 1.0), (0.0, math.inf), (1.0,), (0.0, 0.0)])
def test_boundaries_of_bands_are_finite_and_increase(boundaries: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match="Band boundaries must be finite and increase"):
        Partition(boundaries)


def test_rows_of_bands_may_be_a_list() -> None:
    assert BandRotations(dyadic(3), [np.int64(1), 2, 3]).rows == (1, 2, 3)  # type: ignore[arg-type]
    assert NodeRotations(dyadic(2), [1, 2]).rows == (1, 2)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="one for each of the 3 bands"):
        BandRotations(dyadic(3), (1, 2))
    with pytest.raises(InputError, match="expects rows to be a whole number"):
        BandRotations(dyadic(3), (1, 2.5, 3))  # type: ignore[arg-type]
