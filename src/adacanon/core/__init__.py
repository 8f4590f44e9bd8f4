"""The theory in code: space, family, prior, maximizer, canonicalized network, loss. Imports torch only."""

from adacanon.core.canonicalized import Canonical, Canonicalized
from adacanon.core.family import Family, Fused
from adacanon.core.landscape import Landscape
from adacanon.core.loss import one_vs_rest, predict, probabilities
from adacanon.core.maximizer import Found, Maximizer
from adacanon.core.objective import Objective
from adacanon.core.prior import ClassScore, Monotone, NegativeEntropy, Prior
from adacanon.core.space import Space

__all__ = [
    "Canonical",
    "Canonicalized",
    "ClassScore",
    "Family",
    "Found",
    "Fused",
    "Landscape",
    "Maximizer",
    "Monotone",
    "NegativeEntropy",
    "Objective",
    "Prior",
    "Space",
    "one_vs_rest",
    "predict",
    "probabilities",
]
