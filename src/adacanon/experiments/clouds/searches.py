"""How the AC rows of the tables on clouds search: one function for each kind of search."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from adacanon.core.family import Searches
from adacanon.maximizers import (
    AnchoredSearch,
    Calibration,
    CoarseToFine,
    RandomSearch,
    SubsetSearch,
    WithMemory,
    fast_training_searches,
)
from adacanon.maximizers.selection import CandidateSearch
from adacanon.runs.run import Settings

DRAWS: Settings = {"draws": 50}
COARSE: Settings = {**DRAWS, "size": 32, "contenders": 3, "keep": 2}
LEARNING: Settings = {**COARSE, "slots": 4, "calibration": 4, "evaluation": 200}
ANCHORS: Settings = {"anchors": 24}
ANCHORS_ON_VIEWS: Settings = {**ANCHORS, "size": 32}
LARGE_VIEWS: Settings = {"size": 128, "calibration": 4}
"""Of clouds of 1,024 points."""

CALIBRATED_ANCHORS: Settings = {**ANCHORS_ON_VIEWS, "calibration": 4}
REMEMBERED_ANCHORS: Settings = {**ANCHORS, "subset": 6, "slots": 4}

TWO_FORMS: Settings = {"forms": 2.0}
"""The pass with gradients takes two forms of a cloud: of the true class and of the hardest other one."""

FAST: Settings = {"search": "learning draws", **LEARNING, **TWO_FORMS}
"""The fast settings for random draws."""


def random_draws(options: Settings, samples: int) -> Searches:
    """Random rotations, on the whole cloud in training and in evaluation."""
    return RandomSearch(options["draws"]), None


def coarse_draws(options: Settings, samples: int) -> Searches:
    """Random rotations, compared on a view of some points first."""
    draws = RandomSearch(options["draws"])
    coarse = partial(CoarseToFine, draws, size=options["size"], keep=options["keep"], pilot=False)
    return coarse(contenders=options["contenders"]), coarse(contenders=0)


def learning_draws(options: Settings, samples: int) -> Searches:
    """Coarse to fine, with remembered winners of every training cloud and calibrated scores."""
    return fast_training_searches(
        samples,
        candidates=options["evaluation"],
        training_candidates=options["draws"],
        size=options["size"],
        slots=options["slots"],
        calibration=options["calibration"],
        contenders=options["contenders"],
        keep=options["keep"],
        compare=False,
    )


def anchors(options: Settings, samples: int) -> Searches:
    """Principal axes in any order, on the whole cloud in training and in evaluation."""
    return AnchoredSearch(options["anchors"]), None


def anchors_on_views(options: Settings, samples: int) -> Searches:
    """Principal axes in any order, in training on a view of some points."""
    return _on_views(AnchoredSearch(options["anchors"]), options, None)


def calibrated_anchors(options: Settings, samples: int) -> Searches:
    """Principal axes in any order, in training on a view with calibrated scores."""
    return _on_views(AnchoredSearch(options["anchors"]), options, Calibration(options["calibration"]))


def calibrated_draws(options: Settings, samples: int) -> Searches:
    """Random rotations, in training on a view with calibrated scores."""
    return _on_views(RandomSearch(options["draws"]), options, Calibration(options["calibration"]))


def remembered_anchors(options: Settings, samples: int) -> Searches:
    """Principal axes in any order; in training some of them and the winners that are remembered, on whole clouds."""
    every = AnchoredSearch(options["anchors"])
    return every, WithMemory(SubsetSearch(every, options["subset"]), samples, slots=options["slots"])


def _on_views(every: CandidateSearch, options: Settings, calibration: Calibration | None) -> Searches:
    size = options["size"]
    return every, CoarseToFine(every, size, contenders=0, pilot=False, low_precision=False, calibration=calibration)


@dataclass(frozen=True)
class Kind:
    """A kind of search.

    Attributes:
        make: from the settings of a run and the number of training clouds to the searches of evaluation and training.
        settings: the usual settings; their names are those that the function reads.
        remembers: whether it remembers the winners of training clouds, which then have to keep their poses.
    """

    make: Callable[[Settings, int], Searches]
    settings: Settings
    remembers: bool = False


KINDS: dict[str, Kind] = {
    "random draws": Kind(random_draws, DRAWS),
    "coarse draws": Kind(coarse_draws, COARSE),
    "learning draws": Kind(learning_draws, LEARNING, remembers=True),
    "anchors": Kind(anchors, ANCHORS),
    "anchors on views": Kind(anchors_on_views, ANCHORS_ON_VIEWS),
    "calibrated anchors": Kind(calibrated_anchors, CALIBRATED_ANCHORS),
    "calibrated anchors on large views": Kind(calibrated_anchors, {**ANCHORS, **LARGE_VIEWS}),
    "calibrated draws on large views": Kind(calibrated_draws, {**DRAWS, **LARGE_VIEWS}),
    "remembered anchors": Kind(remembered_anchors, REMEMBERED_ANCHORS, remembers=True),
}


def settings_of(kind: str) -> Settings:
    """The usual settings of a kind of search, which name the kind."""
    return {"search": kind, **KINDS[kind].settings}


def searches(options: Settings, *, samples: int) -> Searches:
    """The searches of evaluation and of training that settings name; None searches in training as in evaluation."""
    return KINDS[options["search"]].make(options, samples)
