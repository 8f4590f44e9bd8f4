"""The search that every A-NLSF makes unless another one is given: written once, with the measured settings."""

from collections.abc import Sequence

from torch import Tensor

from adacanon.core.maximizer import Maximizer
from adacanon.core.soft import Temperature, as_temperature
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.sample_and_refine import SampleAndRefine

DRAWS = 32
STEPS = 1
STEP_SIZE = 10.0
"""In diameters of the set of blocks. Scores are close to linear there, so that one long step finds more than five short
ones (``python -m benchmarks.graphs.step_length``)."""

SHARED_DRAWS = 32
"""Training steps that share one set of draws: fresh draws cost time and bring no accuracy that can be measured
(``python -m benchmarks.graphs.fast_accuracy``)."""


def band_search(*, low_precision: bool = False) -> SampleAndRefine:
    """32 draws, and one long refinement step from the best of them.

    Args:
        low_precision: rank the draws in bfloat16, for training.

    Example:
        >>> search = band_search()
        >>> search.candidates, search.steps, search.step_size
        (32, 1, 10.0)
    """
    return SampleAndRefine(DRAWS, STEPS, step_size=STEP_SIZE, low_precision=low_precision)


def search_under(temperature: float | Sequence[float] | Tensor | Temperature) -> Maximizer | None:
    """The search that goes with a temperature: the same draws without refinement, because a soft maximum needs a finite
    set of candidates. None at temperature zero, where the family names its search.

    Example:
        >>> search_under(1.0), search_under(0.0)
        (RandomSearch(candidates=32), None)
    """
    return None if as_temperature(temperature) is None else RandomSearch(DRAWS)
