"""Every search, with every kind of temperature that it allows, exact and over some forms."""

import math
from collections.abc import Callable
from typing import Any

import torch

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    CoarseToFine,
    GridSearch,
    Maximizer,
    Monotone,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    Temperature,
    WeightedAnchors,
    WithMemory,
    fast_training_searches,
    one_vs_rest,
)
from adacanon.images import Reflections, Windows
from adacanon.images import Rotations as Turns
from adacanon.maximizers import Calibration, Cascade, ClimbStage, CompareStage, Ranker, successive_halving
from adacanon.points import Isometries, PointNet, Rotations
from adacanon.spaces import rotation_group
from cases.on_any_device.case import CLASSES, Case, of_model
from cases.on_any_device.families import PictureNetwork, clouds, pictures
from cases.rankers import small_ranker

SAMPLES, POINTS, VIEW = 3, 24, 8


def ranker(size: int | None = None) -> Ranker:
    """Orders candidates; it is not trained."""
    return small_ranker(CLASSES, size=size, dtype=torch.float32)


STAGES = (ClimbStage(VIEW, 3, steps=1), ClimbStage(12, 1, steps=1))

SEARCHES: dict[str, Callable[[], Maximizer | None]] = {
    "of the family": lambda: None,
    "RandomSearch": lambda: RandomSearch(6),
    "GridSearch": lambda: GridSearch(6),
    "GridSearch of points": lambda: GridSearch(points=rotation_group("tetrahedron")),
    "AnchoredSearch": lambda: AnchoredSearch(4),
    "AnchoredSearch with steps": lambda: AnchoredSearch(4, 1),
    "AnchoredSearch, not whole": lambda: AnchoredSearch(6, whole=False),
    "SampleAndRefine": lambda: SampleAndRefine(4, 2),
    "SampleAndRefine, projected": lambda: SampleAndRefine(4, 2, method="projected"),
    "SampleAndRefine, every": lambda: SampleAndRefine(3, 1, every=True, low_precision=True),
    "Restarts": lambda: Restarts(SampleAndRefine(2, 1)),
    "SubsetSearch": lambda: SubsetSearch(GridSearch(12), 5),
    "WithMemory": lambda: WithMemory(RandomSearch(4), SAMPLES),
    "WithMemory of slots": lambda: WithMemory(GridSearch(4), SAMPLES, slots=2),
    "CoarseToFine": lambda: CoarseToFine(RandomSearch(12), VIEW),
    "CoarseToFine with steps": lambda: CoarseToFine(GridSearch(12), VIEW, steps=1),
    "CoarseToFine, estimates": lambda: CoarseToFine(RandomSearch(12), VIEW, contenders=0, pilot=False),
    "CoarseToFine, calibrated": lambda: CoarseToFine(RandomSearch(12), VIEW, calibration=Calibration(2)),
    "CoarseToFine, compared": lambda: CoarseToFine(RandomSearch(12), VIEW, stages=(CompareStage(12, deeper=3),)),
    "CoarseToFine with memory": lambda: CoarseToFine(WithMemory(RandomSearch(12), SAMPLES, slots=2), VIEW),
    "successive_halving": lambda: successive_halving(GridSearch(12), STAGES, steps=1),
    "Cascade": lambda: Cascade(AnchoredSearch(24), ranker(), finalists=4),
    "Cascade on views": lambda: Cascade(GridSearch(12), ranker(size=VIEW), finalists=4),
}

SOFT = (
    "RandomSearch",
    "GridSearch",
    "AnchoredSearch",
    "SubsetSearch",
    "WithMemory",
    "CoarseToFine",
    "CoarseToFine, calibrated",
    "CoarseToFine, estimates",
    "Cascade",
)
"""Those over a finite set of candidates."""

TEMPERATURES: dict[str, Callable[[], Any]] = {
    "a number": lambda: 0.7,
    "infinite": lambda: math.inf,
    "per class": lambda: [0.0, 1.0, math.inf],
    "learned": lambda: Temperature(0.8, learned=True),
    "learned per class": lambda: Temperature([0.5, 1.0, 2.0], learned=True),
}


def small_network() -> PointNet:
    return PointNet(CLASSES, widths=(8, 8, 16), head=(8,))


def _model(search: Maximizer | None, **options: Any) -> Canonicalized:
    return Canonicalized(small_network(), Rotations(), search, **options)


def _clouds() -> Any:
    return clouds(SAMPLES, POINTS)


def _fast() -> Canonicalized:
    sizes = {"candidates": 12, "training_candidates": 6, "size": 6, "slots": 2, "calibration": 2}
    search, training_search = fast_training_searches(SAMPLES, **sizes)
    return _model(search, training_search=training_search, resample_every=2)


def _of(name: str, **options: Any) -> Case:
    return of_model(lambda: _model(SEARCHES[name]()), _clouds, ids="emory" in name, **options)


def _soft(name: str, temperature: str, **options: Any) -> Case:
    def build() -> Canonicalized:
        return _model(SEARCHES[name](), temperature=TEMPERATURES[temperature]())

    return of_model(build, _clouds, ids="emory" in name, **options)


def _of_pictures(family: Any, search: Callable[[], Maximizer]) -> Case:
    return of_model(lambda: Canonicalized(PictureNetwork(), family, search()), pictures)


PAIRS = [("RandomSearch", t) for t in TEMPERATURES] + [(name, "a number") for name in SOFT if name != "RandomSearch"]

CASES: dict[str, Case] = {
    **{f"search {name}": _of(name) for name in SEARCHES},
    **{f"search {name}, a budget": _of(name, budget=6) for name in SOFT},
    "search fast_training_searches": of_model(_fast, _clouds, ids=True, forms=2),
    "search WeightedAnchors": of_model(lambda: _model(WeightedAnchors(), temperature=1.0), _clouds),
    "search WeightedAnchors of Isometries": of_model(
        lambda: Canonicalized(small_network(), Isometries(), WeightedAnchors(), temperature=0.5), _clouds
    ),
    "search over windows": _of_pictures(Windows(), GridSearch),
    "search over mirrors": _of_pictures(Reflections("both"), GridSearch),
    "search over turns": _of_pictures(Turns(), lambda: SampleAndRefine(3, 1)),
    "search over coarse images": _of_pictures(Turns(), lambda: CoarseToFine(GridSearch(6), 4)),
    **{f"temperature {temperature}, {name}": _soft(name, temperature) for name, temperature in PAIRS},
    "temperature a number, some forms": _soft("RandomSearch", "a number", forms=2),
    "temperature learned, some forms": _soft("RandomSearch", "learned", forms=2, loss=one_vs_rest),
    "objective over some forms": _of("RandomSearch", forms=2),
    "objective one against the rest": _of("RandomSearch", loss=one_vs_rest, forms=1.5),
    "objective with a monotone prior": of_model(lambda: _model(RandomSearch(6), prior=Monotone(_doubled)), _clouds),
}


def _doubled(scores: Any) -> Any:
    return 2 * scores
