"""The fast searches of a model that is trained."""

from adacanon.arguments import flag
from adacanon.core.family import Searches
from adacanon.maximizers.calibration import Calibration
from adacanon.maximizers.coarse_to_fine import CoarseToFine
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.stages import CompareStage
from adacanon.maximizers.with_memory import WithMemory
from adacanon.takes import takes, whole


@takes(size=whole(1), compare=flag)
def fast_training_searches(
    samples: int,
    *,
    candidates: int = 200,
    training_candidates: int = 50,
    size: int = 32,
    slots: int = 4,
    calibration: int = 4,
    contenders: int = 3,
    keep: int = 1,
    compare: bool = True,
) -> Searches:
    """A search for evaluation and one for training that learn from each other, for spaces with covering sets.

    In training, draws and remembered winners on a coarse view, with calibrated scores: nothing of the search but a few
    inputs for the calibration is evaluated on whole inputs. In evaluation, a covering set on the view, a pilot, a
    finer view and the finalists.

    Training samples must come unchanged, with their ids: ``objective(g, labels, ids)``.

    Args:
        samples: size of the training set; ids are sample indices below it.
        candidates: tried in evaluation.
        training_candidates: new ones tried in training.
        size: points or pixels of the coarse view.
        slots: winners that are remembered for each sample.
        calibration: inputs of a training batch that are evaluated whole for the calibration.
        contenders: classes in evaluation that may still win after the view, where there is no finer one.
        keep: finalists of each of them.
        compare: in evaluation, choose the finalists on a view four times as fine.

    Example:
        >>> from adacanon import Canonicalized, Objective
        >>> from adacanon.points import PointNet, Rotations
        >>> evaluation, training = fast_training_searches(samples=100)
        >>> model = Canonicalized(PointNet(10), Rotations(), evaluation, training_search=training)
        >>> objective = Objective(model, forms=2)
    """
    known, between = Calibration(calibration), (CompareStage(4 * size),) if compare else ()
    with_memory = WithMemory(RandomSearch(training_candidates), samples, slots=slots)
    return (
        CoarseToFine(GridSearch(candidates), size, keep=keep, contenders=contenders, calibration=known, stages=between),
        CoarseToFine(with_memory, size, contenders=0, pilot=False, calibration=known),
    )
