"""Search strategies, one per file."""

from adacanon.maximizers.anchored import AnchoredSearch
from adacanon.maximizers.calibration import Calibration
from adacanon.maximizers.coarse_to_fine import CoarseToFine
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.learning import learning_searches
from adacanon.maximizers.middle import Middle
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.remembered import Remembered
from adacanon.maximizers.restarts import Restarts
from adacanon.maximizers.sample_and_refine import SampleAndRefine
from adacanon.maximizers.subset import SubsetSearch
from adacanon.maximizers.successive_halving import Rung, SuccessiveHalving

__all__ = [
    "AnchoredSearch",
    "Calibration",
    "CoarseToFine",
    "GridSearch",
    "Middle",
    "RandomSearch",
    "Remembered",
    "Restarts",
    "Rung",
    "SampleAndRefine",
    "SubsetSearch",
    "SuccessiveHalving",
    "learning_searches",
]
