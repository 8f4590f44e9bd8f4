"""The theory in code: space, family, prior, maximizer, canonicalized network, loss. Imports torch only."""

from adacanon.core.answers import Carried
from adacanon.core.canonical import Canonical
from adacanon.core.canonicalized import Canonicalized
from adacanon.core.family import Family, Fused
from adacanon.core.landscape import Landscape
from adacanon.core.loss import cross_entropy, one_vs_rest, predict, probabilities
from adacanon.core.maximizer import Maximizer, SearchResult
from adacanon.core.objective import LossAndLogits, Objective
from adacanon.core.pictures import Drawing, Graph, Numbers, Pixels, Points
from adacanon.core.prior import ClassScore, Monotone, Prior
from adacanon.core.shared_priors import Confidence, EqualWeights, LargestScore, LogSumExp, NegativeEntropy, PlacePrior
from adacanon.core.soft import Temperature, effective_number, soft_maximum, soft_weights
from adacanon.core.space import Space

__all__ = [
    "Canonical",
    "Canonicalized",
    "Carried",
    "ClassScore",
    "Confidence",
    "Drawing",
    "EqualWeights",
    "Family",
    "Fused",
    "Graph",
    "Landscape",
    "LargestScore",
    "LogSumExp",
    "LossAndLogits",
    "Maximizer",
    "Monotone",
    "NegativeEntropy",
    "Numbers",
    "Objective",
    "Pixels",
    "PlacePrior",
    "Points",
    "Prior",
    "SearchResult",
    "Space",
    "Temperature",
    "cross_entropy",
    "effective_number",
    "one_vs_rest",
    "predict",
    "probabilities",
    "soft_maximum",
    "soft_weights",
]
