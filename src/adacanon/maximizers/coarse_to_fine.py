"""All candidates on a coarse view of the input, fewer and fewer on finer views, the finalists on the input itself."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace

import torch
from torch import nn

from adacanon.arguments import set_flags, set_whole_numbers
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, Support
from adacanon.core.pytree import map_tensors
from adacanon.errors import InputError
from adacanon.maximizers.ascent import check_ascent, climb
from adacanon.maximizers.calibration import Calibration
from adacanon.maximizers.finalists import Pilot, best_few, best_shared, first_of_their_kind, pilot_of, places, strongest
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.selection import CandidateSearch, check_candidates
from adacanon.maximizers.stages import ClimbStage, CompareStage, Stage, Survivors
from adacanon.takes import instance


@dataclass(frozen=True)
class CoarseToFine(Maximizer):
    r"""The best of all candidates on a coarse view goes on to the input itself.

    1. Every candidate is scored on a coarse view of ``size`` points. That ranks poses well, but not classes: the scores
       of a class are shifted on views, each class by its own amount.
    2. So the best candidate of all, the pilot, is scored on the input itself, and the difference for every class is
       added to what the view says of it.
    3. The ``stages``, if there are any, look at the best of these on finer views: some compare them
       (:class:`CompareStage`), some let them climb (:class:`ClimbStage`).
    4. The ``contenders`` classes of largest value send their best ``keep``, or what the last stage has left, to the
       input itself. These finalists are shared by all classes, of which each takes its best.
    5. The contenders may climb from there by ``steps`` gradient steps.

    Every value returned is one of the network on the whole input. It is the full search's value for classes in
    contention if the views rank well, and a lower bound for the others: a heuristic, whose error
    ``benchmarks.searches.evaluation_cost`` measures.

    With ``contenders=0`` the coarse winners are returned as they are, with the corrected values as estimates: enough in
    training, where the gradient pass evaluates them anyway.

    Args:
        search: where the candidates come from.
        size: points or pixels of the first, coarsest view.
        keep: finalists for each class in contention, where no stage chooses them.
        contenders: classes that may still win.
        stages: between the first view and the input itself.
        steps: gradient steps of each contender on the whole input.
        step_size: length of the first of them, as a share of the diameter of the space.
        low_precision: score views in bfloat16 where the hardware has it; finalists are always in full precision.
        pilot: correct the view's scores of classes by one evaluation of the input itself.
        calibration: what was learnt of the difference between both from other inputs; cheaper, and the only correction
            that a training step needs.

    Example:
        >>> CoarseToFine(RandomSearch(200), 64).contenders
        3
        >>> CoarseToFine(RandomSearch(200), 32, stages=(CompareStage(128),)).stages[0].finalists
        4
    """

    search: CandidateSearch = field(default_factory=RandomSearch)
    size: int = 64
    _: KW_ONLY
    keep: int = 2
    contenders: int = 3
    stages: tuple[Stage, ...] = ()
    steps: int = 0
    step_size: float = 0.01
    low_precision: bool = True
    pilot: bool = True
    calibration: Calibration | None = None

    def __post_init__(self) -> None:
        check_candidates(self, self.search)
        check_ascent(self)
        set_whole_numbers(self, "size", "keep", least=1)
        set_whole_numbers(self, "contenders", least=0)
        set_flags(self, "low_precision", "pilot")
        instance(Calibration, "Calibration(inputs=4)", optional=True)("CoarseToFine", "calibration", self.calibration)
        self._check_stages()

    def _check_stages(self) -> None:
        if not isinstance(self.stages, tuple) or not all(isinstance(stage, Stage) for stage in self.stages):
            raise InputError(
                f"stages must be a tuple of stages, got {self.stages!r}. Hint: stages=(CompareStage({4 * self.size}),)"
            )
        views = [self.size, *(stage.view for stage in self.stages)]
        last_only = [stage for stage in self.stages[:-1] if isinstance(stage, CompareStage)]
        coarse = [stage for stage in self.stages if isinstance(stage, CompareStage) and stage.size <= self.size]
        if views != sorted(views) or last_only or coarse:
            raise InputError(
                "Stages go from coarse to fine, and a CompareStage comes last, on a finer view than the first one of "
                f"{self.size}; got {self.stages!r}. Hint: stages=(CompareStage({4 * self.size}),)"
            )

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        survivors, pilot = self._survivors(landscape, generator)
        if not self.contenders:
            found = SearchResult(map_tensors(lambda leaf: leaf[0], survivors.points), survivors.values[0])
        else:
            found = self._climbed(landscape, best_shared(landscape, survivors.shared(), pilot))
        self.learn(landscape, found)
        return found

    def support(self, landscape: Landscape, *, generator: torch.Generator) -> Iterator[Support]:
        """The finalists; with ``contenders=0`` the winners of all classes on the view."""
        if self.steps:
            yield from super().support(landscape, generator=generator)
        survivors, pilot = self._survivors(landscape, generator)
        points = survivors.shared()
        if pilot:
            points = map_tensors(lambda one, many: torch.cat([one.unsqueeze(0), many]), pilot.points, points)
        yield Support(points, first_of_their_kind(points, landscape.batch))

    def learn(self, landscape: Landscape, found: SearchResult) -> None:
        self.search.learn(landscape, found)

    def search_state(self) -> Iterator[nn.Module]:
        yield from self.search.search_state()
        if self.calibration is not None:
            yield self.calibration

    def with_budget(self, budget: float, landscape: Landscape) -> "CoarseToFine":
        """Half of the budget for finalists and the pilot, the other half for candidates on the coarse view; no stages
        and no steps.
        """
        whole = max(1, min(int(budget / 2), self.keep * self.contenders + self.pilot))
        share = landscape.share(self.size)
        pilot = self.pilot and whole > 1
        count = max(1, int((budget - whole) / share) - pilot)
        finalists = whole - pilot
        keep = min(self.keep, finalists)
        search = self.search.limited(count)
        return replace(self, search=search, keep=keep, contenders=finalists // keep, pilot=pilot, stages=(), steps=0)

    def _survivors(self, landscape: Landscape, generator: torch.Generator) -> tuple[Survivors, Pilot | None]:
        """What is left after all views, of the contenders alone if there are any."""
        stages = [stage for stage in self.stages if self.contenders and stage.applies(landscape)]
        survivors, pilot = self._on_first_view(landscape, stages, generator)
        for stage in stages:
            survivors = stage.survivors(
                landscape, survivors, pilot, contenders=self.contenders, low_precision=self.low_precision
            )
        return survivors.narrowed(self.contenders) if self.contenders else survivors, pilot

    def _on_first_view(
        self, landscape: Landscape, stages: list[Stage], generator: torch.Generator
    ) -> tuple[Survivors, Pilot | None]:
        """The best candidates of every form, with corrected values."""
        keep = stages[0].wanted if stages else self.keep if self.contenders else 1
        with landscape.coarse(self.size, low_precision=self.low_precision) as view:
            points, values = best_few(view, self.search.propose(landscape, generator), keep)
            several = values.shape[2] > 1  # one class cannot be ranked wrongly
            if self.calibration is not None and several:
                self.calibration.learn(landscape, view, map_tensors(lambda leaf: leaf[0], points), generator=generator)
                values = self.calibration(values)
            pilot = pilot_of(landscape, view, points, values, self.calibration) if self.pilot and several else None
        if pilot:
            values = values + pilot.shift
        form = torch.arange(values.shape[2], device=values.device).expand(values.shape[1:])
        return Survivors(points, values, form), pilot

    def _climbed(self, landscape: Landscape, found: SearchResult) -> SearchResult:
        """The contenders after their steps on the input itself."""
        if not self.steps:
            return found
        form = strongest(found.values, self.contenders)
        start = map_tensors(lambda leaf: leaf[places(form)].unsqueeze(0), found.parameters)
        climbed = climb(landscape, start, steps=self.steps, step_size=self.step_size, form=form)
        parameters = map_tensors(
            lambda leaf, new: leaf.index_put(places(form), new[0]), found.parameters, climbed.parameters
        )
        return SearchResult(parameters, found.values.scatter(1, form, climbed.values[0]), exact=True)


HALVING = (
    ClimbStage(32, 24, steps=3, step_size=0.06),
    ClimbStage(128, 9, steps=4, step_size=0.04),
    ClimbStage(256, 4, steps=4, step_size=0.03),
    ClimbStage(512, 1, steps=5, step_size=0.02),
)


def successive_halving(
    search: CandidateSearch | None = None,
    stages: tuple[ClimbStage, ...] = HALVING,
    *,
    contenders: int = 3,
    steps: int = 2,
    step_size: float = 0.01,
    low_precision: bool = True,
    pilot: bool = True,
) -> CoarseToFine:
    """A search that comes near the true maximum where there are many local ones: many candidates climb a little on
    coarse views, and fewer and fewer go on to finer ones.

    Args:
        search: where the candidates come from; a covering set of 200 by default.
        stages: from coarse to fine; the first one scores all candidates.
        contenders: classes that may still win after the first view.
        steps: gradient steps of each contender on the whole input.
        step_size: length of the first of them, as a share of the diameter of the space.
        low_precision: score and climb on views in bfloat16 where the hardware has it.
        pilot: correct the first view's scores of classes before contenders are chosen.

    Example:
        >>> [stage.keep for stage in successive_halving().stages]
        [24, 9, 4, 1]
    """
    if not isinstance(stages, tuple) or not stages or not all(isinstance(stage, ClimbStage) for stage in stages):
        raise InputError(
            f"Successive halving needs a tuple of at least one ClimbStage, got {stages!r}. "
            "Hint: stages=(ClimbStage(64, 8, steps=5),)"
        )
    return CoarseToFine(
        GridSearch(200) if search is None else search,
        stages[0].size,
        keep=stages[-1].keep,
        contenders=contenders,
        stages=stages,
        steps=steps,
        step_size=step_size,
        low_precision=low_precision,
        pilot=pilot,
    )
