"""adacanon: any neural network, any symmetry, by adaptive canonicalization (Lin & Levie, ICLR 2026)."""

from typing import TYPE_CHECKING, Any

from adacanon.core import (
    Canonicalized,
    ClassScore,
    Confidence,
    EqualWeights,
    Family,
    LargestScore,
    LogSumExp,
    Maximizer,
    Monotone,
    NegativeEntropy,
    Objective,
    Prior,
    SearchResult,
    Space,
    Temperature,
    cross_entropy,
    one_vs_rest,
    predict,
    probabilities,
)
from adacanon.errors import AdacanonError
from adacanon.families import Composition
from adacanon.maximizers import (
    AnchoredSearch,
    Cascade,
    CoarseToFine,
    GridSearch,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    WeightedAnchors,
    WithMemory,
    fast_training_searches,
)
from adacanon.synchronization import synchronize

if TYPE_CHECKING:
    from adacanon.deployment import export
    from adacanon.diagnosis import doctor
    from adacanon.distillation import distil

__version__ = "0.2.0"

__all__ = [
    "AdacanonError",
    "AnchoredSearch",
    "Canonicalized",
    "Cascade",
    "ClassScore",
    "CoarseToFine",
    "Composition",
    "Confidence",
    "EqualWeights",
    "Family",
    "GridSearch",
    "LargestScore",
    "LogSumExp",
    "Maximizer",
    "Monotone",
    "NegativeEntropy",
    "Objective",
    "Prior",
    "RandomSearch",
    "Restarts",
    "SampleAndRefine",
    "SearchResult",
    "Space",
    "SubsetSearch",
    "Temperature",
    "WeightedAnchors",
    "WithMemory",
    "cross_entropy",
    "distil",
    "doctor",
    "export",
    "fast_training_searches",
    "one_vs_rest",
    "predict",
    "probabilities",
    "synchronize",
]


def __getattr__(name: str) -> Any:
    """What needs all applications, torch's exporter or drawing, which are imported when it is first called for."""
    if name == "doctor":
        from adacanon.diagnosis import doctor

        return doctor
    if name == "distil":
        from adacanon.distillation import distil

        return distil
    if name == "export":
        from adacanon.deployment import export

        return export
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
