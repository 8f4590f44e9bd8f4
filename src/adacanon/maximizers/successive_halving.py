"""Many candidates climb a little on coarse views; fewer and fewer go on, to finer and finer ones."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Found, Maximizer
from adacanon.core.pytree import Tree, map_tensors, take
from adacanon.errors import InputError
from adacanon.maximizers.ascent import check_ascent, climb
from adacanon.maximizers.coarse_to_fine import CoarseToFine
from adacanon.maximizers.finalists import best_few, best_shared, pilot_of, places, shared_by_forms, strongest
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.selection import CandidateSearch, check_candidates


@dataclass(frozen=True)
class Rung:
    """A stage of :class:`SuccessiveHalving`.

    Args:
        size: points or pixels of the coarse view.
        keep: how many go on for each class, the best on this view.
        steps: gradient steps that these then take on it.
        step_size: length of the first step, as a share of the diameter of the space.
    """

    size: int
    keep: int
    steps: int = 0
    step_size: float = 0.05

    def __post_init__(self) -> None:
        check_ascent(self.steps, self.step_size, "riemannian")
        if self.size < 1 or self.keep < 1:
            raise InputError(f"Rung needs size >= 1 and keep >= 1, got size={self.size}, keep={self.keep}")


@dataclass(frozen=True)
class SuccessiveHalving(Maximizer):
    r"""Near the true maximum for a few evaluations of the network, where there are many local ones.

    The candidate that is best before it climbs is often not the one that gets highest, and climbing from many on the
    whole input is dear. So every rung keeps the best of what came from the one before and lets them climb on its view,
    which is finer than the last one. In the end the survivors are scored on the input itself, each class takes its
    best, and the ``contenders`` go on from there by ``steps`` gradient steps.

    Like :class:`CoarseToFine` a heuristic for all but the contenders, with values that are always those of the
    network on the whole input.

    Args:
        search: where the candidates come from; a covering set by default.
        rungs: from coarse to fine; the first one scores all candidates.
        contenders: classes that may still win after the first rung.
        steps: gradient steps of each contender on the whole input.
        step_size: length of the first of them, as a share of the diameter of the space.
        reduced: score and climb on coarse views in bfloat16 where the hardware has it; finalists and their steps are
            always in full precision.
        pilot: as in :class:`CoarseToFine`: correct the first view's scores of classes before contenders are chosen.

    Example:
        >>> [rung.keep for rung in SuccessiveHalving().rungs]
        [24, 9, 4, 1]
    """

    search: CandidateSearch = field(default_factory=lambda: GridSearch(200))
    rungs: tuple[Rung, ...] = (
        Rung(32, keep=24, steps=3, step_size=0.06),
        Rung(128, keep=9, steps=4, step_size=0.04),
        Rung(256, keep=4, steps=4, step_size=0.03),
        Rung(512, keep=1, steps=5, step_size=0.02),
    )
    contenders: int = 3
    steps: int = 2
    step_size: float = 0.01
    reduced: bool = True
    pilot: bool = True

    def __post_init__(self) -> None:
        check_candidates(self, self.search)
        check_ascent(self.steps, self.step_size, "riemannian")
        rungs = self.rungs if isinstance(self.rungs, tuple) else ()
        if not rungs or not all(isinstance(rung, Rung) for rung in rungs) or self.contenders < 1:
            raise InputError(
                f"SuccessiveHalving needs a tuple of at least one Rung, and one contender, got rungs={self.rungs!r}, "
                f"contenders={self.contenders}. Hint: rungs=(Rung(64, keep=8, steps=5),)"
            )

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Found:
        first, *others = self.rungs
        with landscape.coarse(first.size, reduced=self.reduced) as view:
            points, values = best_few(view, self.search.candidates(landscape, generator), first.keep)
            several = values.shape[2] > 1  # one class cannot be ranked wrongly
            pilot = pilot_of(landscape, view, points, values) if self.pilot and several else None
        form = strongest(values[0] + pilot.shift if pilot else values[0], self.contenders)
        points = self._climbed(landscape, first, map_tensors(lambda leaf: leaf[:, *places(form)], points), form)
        for rung in others:
            points = self._climbed(landscape, rung, self._best(landscape, rung, points, form), form)
        found = self._refined(landscape, best_shared(landscape, shared_by_forms(points), pilot))
        self.search.learn(landscape, found)
        return found

    def saved(self) -> Iterator[nn.Module]:
        return self.search.saved()

    def within(self, budget: float, landscape: Landscape) -> "SuccessiveHalving":
        """The first rung without steps, which is coarse to fine."""
        few = CoarseToFine(self.search, self.rungs[0].size, self.rungs[-1].keep, self.contenders, pilot=self.pilot)
        few = few.within(budget, landscape)
        rung = replace(self.rungs[0], keep=few.keep, steps=0)
        return replace(self, search=few.search, rungs=(rung,), contenders=few.contenders, steps=0, pilot=few.pilot)

    def _best(self, landscape: Landscape, rung: Rung, points: Tree, form: Tensor) -> Tree:
        """The best of points (count, batch, n, *point) on the view of a rung."""
        with landscape.coarse(rung.size, reduced=self.reduced) as view:
            values = view.values(points, form)
        index = values.topk(min(rung.keep, len(values)), dim=0).indices
        sample, place = (torch.arange(size, device=index.device) for size in index.shape[1:])
        return take(points, index, sample.unsqueeze(1), place)

    def _climbed(self, landscape: Landscape, rung: Rung, points: Tree, form: Tensor) -> Tree:
        if not rung.steps:
            return points
        with landscape.coarse(rung.size, reduced=self.reduced) as view:
            return climb(view, points, steps=rung.steps, step_size=rung.step_size, form=form).parameters

    def _refined(self, landscape: Landscape, found: Found) -> Found:
        if not self.steps:
            return found
        form = strongest(found.values, self.contenders)
        start = map_tensors(lambda leaf: leaf[places(form)].unsqueeze(0), found.parameters)
        climbed = climb(landscape, start, steps=self.steps, step_size=self.step_size, form=form)
        parameters = map_tensors(
            lambda leaf, new: leaf.index_put(places(form), new[0]), found.parameters, climbed.parameters
        )
        return Found(parameters, found.values.scatter(1, form, climbed.values[0]), exact=True)
