"""Training of rankers: a light network learns from the network's own search."""

from adacanon.distillation.distilling import Distilled, distil
from adacanon.distillation.measuring import Measured

__all__ = [
    "Distilled",
    "Measured",
    "distil",
]
