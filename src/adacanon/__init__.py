"""adacanon: any neural network, any symmetry, by adaptive canonicalization (Lin & Levie, ICLR 2026)."""

from adacanon.core import (
    Canonicalized,
    ClassScore,
    Monotone,
    NegativeEntropy,
    Objective,
    one_vs_rest,
    predict,
    probabilities,
)
from adacanon.errors import AdacanonError
from adacanon.families import Composition
from adacanon.maximizers import (
    AnchoredSearch,
    CoarseToFine,
    GridSearch,
    RandomSearch,
    Remembered,
    Restarts,
    Rung,
    SampleAndRefine,
    SuccessiveHalving,
)

__version__ = "0.1.0"

__all__ = [
    "AdacanonError",
    "AnchoredSearch",
    "Canonicalized",
    "ClassScore",
    "CoarseToFine",
    "Composition",
    "GridSearch",
    "Monotone",
    "NegativeEntropy",
    "Objective",
    "RandomSearch",
    "Remembered",
    "Restarts",
    "Rung",
    "SampleAndRefine",
    "SuccessiveHalving",
    "one_vs_rest",
    "predict",
    "probabilities",
]
