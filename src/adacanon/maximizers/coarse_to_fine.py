"""All candidates on a coarse view of the input, the finalists on the input itself."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Found, Maximizer
from adacanon.core.pytree import map_tensors
from adacanon.errors import InputError
from adacanon.maximizers.calibration import Calibration
from adacanon.maximizers.finalists import best_few, best_shared, pilot_of, sent_by, strongest
from adacanon.maximizers.middle import Middle
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.selection import CandidateSearch, check_candidates


@dataclass(frozen=True)
class CoarseToFine(Maximizer):
    r"""The best of all candidates on a coarse view goes on to the input itself.

    1. Every candidate is scored on a coarse view of ``size`` points. That ranks poses well, but not classes: the scores
       of a class are shifted on views, each class by its own amount.
    2. So the best candidate of all, the pilot, is scored on the input itself, and the difference for every class is
       added to what the view says of it.
    3. The ``contenders`` classes of largest value send their best ``keep`` to the input itself: at most
       contenders x keep finalists for each input, shared by all classes, of which each class takes its best. If there
       is a ``middle`` stage, it chooses the finalists instead, on a finer view.

    Every value returned is one of the network on the whole input. It is the full search's value for classes in
    contention if the coarse view ranks well, and a lower bound for the others: a heuristic, whose error
    ``benchmarks.searches.evaluation_cost`` measures. :class:`SuccessiveHalving` climbs between the two, and after them.

    With ``contenders=0`` the coarse winners are returned as they are, with the corrected values as estimates: enough in
    training, where the gradient pass evaluates them anyway.

    Args:
        search: where the candidates come from.
        size: points or pixels of the coarse view.
        keep: finalists for each class in contention.
        contenders: classes that may still win.
        reduced: score the coarse view in bfloat16 where the hardware has it; finalists are always in full precision.
        pilot: correct the view's scores of classes by one evaluation of the input itself.
        calibration: what was learnt of the difference between both from other inputs; cheaper, and the only correction
            that a training step needs.
        middle: a stage in between, which chooses the finalists; None goes straight to the input.

    Example:
        >>> CoarseToFine(RandomSearch(200), size=64).contenders
        3
    """

    search: CandidateSearch = field(default_factory=RandomSearch)
    size: int = 64
    keep: int = 2
    contenders: int = 3
    reduced: bool = True
    pilot: bool = True
    calibration: Calibration | None = None
    middle: Middle | None = None

    def __post_init__(self) -> None:
        check_candidates(self, self.search)
        if self.size < 1 or self.keep < 1 or self.contenders < 0:
            raise InputError(
                f"CoarseToFine needs size >= 1, keep >= 1 and contenders >= 0, got size={self.size}, "
                f"keep={self.keep}, contenders={self.contenders}"
            )
        if self.middle is not None and (not isinstance(self.middle, Middle) or self.middle.size <= self.size):
            raise InputError(
                f"The middle stage must be a Middle with a finer view than the first one of {self.size}, "
                f"got {self.middle!r}. Hint: Middle(size={4 * self.size}), or None to go without it"
            )

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Found:
        middle = self._middle_of(landscape)
        with landscape.coarse(self.size, reduced=self.reduced) as view:
            blocks = self.search.candidates(landscape, generator)
            points, values = best_few(view, blocks, middle.most if middle else self.keep if self.contenders else 1)
            several = values.shape[2] > 1  # one class cannot be ranked wrongly
            if self.calibration is not None and several:
                self.calibration.learn(landscape, view, map_tensors(lambda leaf: leaf[0], points), generator=generator)
                values = self.calibration(values)
            pilot = pilot_of(landscape, view, points, values, self.calibration) if self.pilot and several else None
        if pilot:
            values = values + pilot.shift
        if middle:
            with landscape.coarse(middle.size, reduced=self.reduced) as view:
                finalists = middle.finalists_of(view, points, values, pilot)
            found = best_shared(landscape, finalists, pilot)
        elif self.contenders:
            found = best_shared(landscape, sent_by(strongest(values[0], self.contenders), points), pilot)
        else:
            found = Found(map_tensors(lambda leaf: leaf[0], points), values[0])
        self.search.learn(landscape, found)
        return found

    def _middle_of(self, landscape: Landscape) -> Middle | None:
        """The middle stage, where it is one."""
        if self.middle is None or not self.contenders or landscape.share(self.middle.size) >= 1:
            return None
        return self.middle

    def saved(self) -> Iterator[nn.Module]:
        yield from self.search.saved()
        if self.calibration is not None:
            yield self.calibration

    def within(self, budget: float, landscape: Landscape) -> "CoarseToFine":
        """Half of the budget for finalists and the pilot, the other half for candidates on the coarse view; no middle
        view.
        """
        whole = max(1, min(int(budget / 2), self.keep * self.contenders + self.pilot))
        share = landscape.share(self.size)
        pilot = self.pilot and whole > 1
        count = max(1, int((budget - whole) / share) - pilot)
        finalists = whole - pilot
        keep = min(self.keep, finalists)
        search = self.search.limited(count)
        return replace(self, search=search, keep=keep, contenders=finalists // keep, pilot=pilot, middle=None)
