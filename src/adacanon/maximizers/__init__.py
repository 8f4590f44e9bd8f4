"""Search strategies, one per file."""

from adacanon.maximizers.anchored import AnchoredSearch
from adacanon.maximizers.calibration import Calibration
from adacanon.maximizers.cascade import Cascade
from adacanon.maximizers.coarse_to_fine import CoarseToFine, successive_halving
from adacanon.maximizers.fast_training import fast_training_searches
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.ranker import Ranker, view_ranker
from adacanon.maximizers.ranker_errors import RankerErrors
from adacanon.maximizers.restarts import Restarts
from adacanon.maximizers.sample_and_refine import SampleAndRefine
from adacanon.maximizers.stages import ClimbStage, CompareStage, Stage
from adacanon.maximizers.subset import SubsetSearch
from adacanon.maximizers.weighted_anchors import WeightedAnchors
from adacanon.maximizers.with_memory import WithMemory

__all__ = [
    "AnchoredSearch",
    "Calibration",
    "Cascade",
    "ClimbStage",
    "CoarseToFine",
    "CompareStage",
    "GridSearch",
    "RandomSearch",
    "Ranker",
    "RankerErrors",
    "Restarts",
    "SampleAndRefine",
    "Stage",
    "SubsetSearch",
    "WeightedAnchors",
    "WithMemory",
    "fast_training_searches",
    "successive_halving",
    "view_ranker",
]
