"""Stages of a search between the coarse view and the input itself, each on a finer view than the one before."""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor

from adacanon.arguments import set_real_numbers, set_whole_numbers
from adacanon.core.landscape import Landscape
from adacanon.core.pytree import Tree, expand_over, map_tensors, take
from adacanon.maximizers.ascent import check_ascent, climb
from adacanon.maximizers.finalists import Pilot, places, scores_of_shared, shared_by_forms, strongest


@dataclass(frozen=True)
class Survivors:
    """The candidates that are left after a stage.

    Attributes:
        points: (count, batch, n, *point), the best first.
        values: of these points, as far as they are known, (count, batch, n).
        form: the form that each of the n columns stands for, (batch, n).
    """

    points: Tree
    values: Tensor
    form: Tensor

    def narrowed(self, contenders: int) -> "Survivors":
        """Only the columns of the forms of largest value."""
        if contenders >= self.form.shape[1]:
            return self
        column = places(strongest(self.values[0], contenders))
        points = map_tensors(lambda leaf: leaf[:, *column], self.points)
        return Survivors(points, self.values[:, *column], self.form[column])

    def shared(self, count: int | None = None) -> Tree:
        """The first ``count`` points of every column, or all of them, for all forms: (count * n, batch, *point)."""
        return shared_by_forms(map_tensors(lambda leaf: leaf[:count], self.points))


class Stage(ABC):
    """Compares the candidates that are left on a view of the input, and keeps some of them.

    Example:
        >>> from adacanon import CoarseToFine, RandomSearch
        >>> stages = (ClimbStage(64, 8, steps=3), CompareStage(128))
        >>> [stage.view for stage in CoarseToFine(RandomSearch(200), 32, stages=stages).stages]
        [64, 128]
    """

    @property
    @abstractmethod
    def view(self) -> int:
        """Points or pixels of the view."""

    @property
    @abstractmethod
    def wanted(self) -> int:
        """Candidates of each form that it looks at."""

    def applies(self, landscape: Landscape) -> bool:
        """Whether it has a place in the search of these inputs."""
        return True

    @abstractmethod
    def survivors(
        self, landscape: Landscape, before: Survivors, pilot: Pilot | None, *, contenders: int, low_precision: bool
    ) -> Survivors:
        """Those that go on.

        Args:
            landscape: of the inputs themselves.
            before: what the stage before has left.
            pilot: one candidate of every input whose scores on the input itself are known, or None.
            contenders: forms that may still win.
            low_precision: score views in bfloat16 where the hardware has it.
        """


@dataclass(frozen=True)
class ClimbStage(Stage):
    """The best candidates of each contender climb a little on its view.

    The candidate that is best before it climbs is often not the one that gets highest, and climbing from many of them
    on the whole input is expensive. Fewer and fewer climb on finer and finer views instead.

    Args:
        size: points or pixels of the view.
        keep: candidates of each class that go on, the best on this view.
        steps: gradient steps that these then take on it.
        step_size: length of the first step, as a share of the diameter of the space.

    Example:
        >>> ClimbStage(128, 9, steps=4).wanted
        9
    """

    size: int
    keep: int
    _: KW_ONLY
    steps: int = 0
    step_size: float = 0.05

    def __post_init__(self) -> None:
        check_ascent(self)
        set_whole_numbers(self, "size", "keep", least=1)

    @property
    def view(self) -> int:
        return self.size

    @property
    def wanted(self) -> int:
        return self.keep

    def survivors(
        self, landscape: Landscape, before: Survivors, pilot: Pilot | None, *, contenders: int, low_precision: bool
    ) -> Survivors:
        kept = before.narrowed(contenders)
        with landscape.coarse(self.size, low_precision=low_precision) as view:
            if self.keep < len(kept.values):
                kept = self._best(view, kept)
            if not self.steps:
                return kept
            climbed = climb(view, kept.points, steps=self.steps, step_size=self.step_size, form=kept.form)
        return Survivors(climbed.parameters, climbed.values, kept.form)

    def _best(self, view: Landscape, before: Survivors) -> Survivors:
        values, index = view.values(before.points, before.form).topk(self.keep, dim=0)
        sample, column = (torch.arange(size, device=index.device) for size in index.shape[1:])
        return Survivors(take(before.points, index, sample.unsqueeze(1), column), values, before.form)


@dataclass(frozen=True)
class CompareStage(Stage):
    """The best candidates of most classes are compared on a finer view; it chooses the finalists, so it comes last.

    That tells which classes lead, and these send more of their own there: what the coarse view has ranked tenth may be
    the best. The poses that any class likes best on the finer view are the finalists.

    Args:
        size: points or pixels of the view; inputs that are no larger go without the stage.
        contenders: classes that are compared on it.
        keep: candidates that each of them sends there.
        leaders: classes that send more, the best after that.
        deeper: candidates that each of these sends there in all.
        finalists: poses that go on to the input itself at most.
        margin: those whose best score is lower than the best of all by more than this do not; scores of classifiers are
            log-odds. None lets all go on.

    Example:
        >>> CompareStage(128).wanted
        20
    """

    size: int = 128
    _: KW_ONLY
    contenders: int = 10
    keep: int = 3
    leaders: int = 2
    deeper: int = 20
    finalists: int = 4
    margin: float | None = 1.0

    def __post_init__(self) -> None:
        set_whole_numbers(self, "size", "contenders", "keep", "deeper", "finalists", least=1)
        set_whole_numbers(self, "leaders", least=0)
        if self.margin is not None:
            set_real_numbers(self, "margin", least=0)

    @property
    def view(self) -> int:
        return self.size

    @property
    def wanted(self) -> int:
        return max(self.keep, self.deeper) if self.leaders else self.keep

    def applies(self, landscape: Landscape) -> bool:
        return landscape.share(self.size) < 1

    def survivors(
        self, landscape: Landscape, before: Survivors, pilot: Pilot | None, *, contenders: int, low_precision: bool
    ) -> Survivors:
        """The finalists (finalists, batch, 1, *point) for all forms; a place that is not needed holds the first of them
        again.
        """
        with landscape.coarse(self.size, low_precision=low_precision) as view:
            sent, scores, new, shift = self._compared(view, before, pilot)
        value = torch.where(new, (scores + shift).amax(2), -torch.inf)
        value, index = value.topk(min(self.finalists, len(value)), dim=0)
        chosen = take(sent, index, torch.arange(landscape.batch, device=index.device))
        wanted = value > -torch.inf if self.margin is None else value >= value[0] - self.margin
        points = map_tensors(lambda leaf: torch.where(expand_over(wanted, leaf), leaf, leaf[:1]).unsqueeze(2), chosen)
        return Survivors(points, value.unsqueeze(2), torch.zeros_like(index[:1].T))

    def _compared(
        self, view: Landscape, before: Survivors, pilot: Pilot | None
    ) -> tuple[Tree, Tensor, Tensor, Tensor | float]:
        """The points that are sent, their scores, which of them are not there twice, and the pilot's correction."""
        sent = before.narrowed(self.contenders).shared(self.keep)
        scores, new = scores_of_shared(view, sent)
        shift: Tensor | float = 0.0
        if pilot:
            sample = torch.arange(view.batch, device=scores.device)
            shift = pilot.on_input - view.scores(pilot.points, sample)
        if self.leaders:
            led = (scores.amax(0) + shift).gather(1, before.form)
            leading = Survivors(before.points, led.unsqueeze(0).expand_as(before.values), before.form)
            more = leading.narrowed(self.leaders).shared(self.deeper)
            sent = map_tensors(lambda few, many: torch.cat([few, many]), sent, more)
            scores, new = scores_of_shared(view, sent, scores)
        return sent, scores, new, shift
