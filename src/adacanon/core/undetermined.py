"""What is said of inputs whose anchors do not follow from them."""

from torch import Tensor

from adacanon.core.family import Family
from adacanon.errors import UndeterminedWarning
from adacanon.notices import warn_caller


def warn_of_undetermined(family: Family, determined: Tensor) -> None:
    """Warn of the inputs (batch,) that are not determined, also if another model did so at the same line."""
    first = int((~determined).nonzero()[0])
    message = (
        f"{int((~determined).sum())} of {len(determined)} inputs have no axes of their own to which {family!r} could "
        f"anchor its search, the first is sample {first}: to within rounding they are symmetric, or their points lie "
        "on a line. The answers for them depend on the pose in which they come. Hint: canonicalize(g).determined says "
        "which inputs these are; WeightedAnchors() takes more frames of such clouds; a search without anchors, such "
        "as SampleAndRefine(200, steps=5), depends a little on the pose of every input; both take more evaluations"
    )
    warn_caller(message, category=UndeterminedWarning, repeated=True)
