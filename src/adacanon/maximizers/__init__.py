"""Search strategies, one per file."""

from adacanon.maximizers.anchored import AnchoredSearch
from adacanon.maximizers.calibration import Calibration
from adacanon.maximizers.coarse_to_fine import CoarseToFine, successive_halving
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.learning import learning_searches
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.remembered import Remembered
from adacanon.maximizers.restarts import Restarts
from adacanon.maximizers.sample_and_refine import SampleAndRefine
from adacanon.maximizers.stages import ClimbStage, CompareStage, Stage
from adacanon.maximizers.subset import SubsetSearch

__all__ = [
    "AnchoredSearch",
    "Calibration",
    "ClimbStage",
    "CoarseToFine",
    "CompareStage",
    "GridSearch",
    "RandomSearch",
    "Remembered",
    "Restarts",
    "SampleAndRefine",
    "Stage",
    "SubsetSearch",
    "learning_searches",
    "successive_halving",
]
