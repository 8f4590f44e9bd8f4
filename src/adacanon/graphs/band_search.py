"""The search that every A-NLSF makes unless another one is given: written once, with the measured settings."""

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
