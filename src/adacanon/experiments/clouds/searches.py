"""How the AC rows of the tables on clouds search and train."""

from functools import partial

from adacanon.core.family import Searches
from adacanon.maximizers import (
    AnchoredSearch,
    Calibration,
    CoarseToFine,
    RandomSearch,
    Remembered,
    SubsetSearch,
    learning_searches,
)
from adacanon.runs.run import Settings

EXACT: Settings = {"draws": 50}
COARSE: Settings = {**EXACT, "size": 32, "contenders": 3, "keep": 2}
FEW: Settings = {"forms": 2.0}
LEARNING: Settings = {"slots": 4, "calibration": 4, "evaluation": 200}
FAST: Settings = {**COARSE, **FEW, **LEARNING}
ANCHORED: Settings = {"anchors": 24, "size": 32, "calibration": 4, **FEW}
REMEMBERED: Settings = {"anchors": 24, "subset": 6, "slots": 4, "fixed": True, **FEW}


def searches(options: Settings, *, samples: int) -> Searches:
    """With anchors, principal axes in any order; without, random draws, and with slots searches that learn.

    With a size, training searches on a view of so many points; random draws do so in evaluation too. With a subset,
    training searches among so many of the anchors and the winners that are remembered, on whole clouds.
    """
    if "anchors" in options:
        return _anchored(options, samples)
    draws = RandomSearch(options["draws"])
    if "size" not in options:
        return draws, None
    names = ("draws", "size", "slots", "calibration", "evaluation", "contenders", "keep")
    if "slots" in options:
        return learning_searches(samples, middle=False, **{name: options[name] for name in names})
    coarse = partial(CoarseToFine, draws, size=options["size"], keep=options["keep"], pilot=False)
    return coarse(contenders=options["contenders"]), coarse(contenders=0)


def _anchored(options: Settings, samples: int) -> Searches:
    anchors = AnchoredSearch(options["anchors"])
    if "subset" in options:
        return anchors, Remembered(SubsetSearch(anchors, options["subset"]), samples, options["slots"])
    if "size" not in options:
        return anchors, None
    known = Calibration(options["calibration"]) if "calibration" in options else None
    view = CoarseToFine(anchors, options["size"], contenders=0, pilot=False, reduced=False, calibration=known)
    return anchors, view
