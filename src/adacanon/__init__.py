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
    Calibration,
    CoarseToFine,
    GridSearch,
    RandomSearch,
    Remembered,
    Restarts,
    Rung,
    SampleAndRefine,
    SuccessiveHalving,
    learning_searches,
)

__version__ = "0.1.0"

__all__ = [
    "AdacanonError",
    "AnchoredSearch",
    "Calibration",
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
    "learning_searches",
    "one_vs_rest",
    "predict",
    "probabilities",
]
