"""A stage between the coarse view and the input itself."""

from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.landscape import Landscape
from adacanon.core.pytree import Tree, expand_over, map_tensors, take
from adacanon.errors import InputError
from adacanon.maximizers.finalists import Pilot, scores_of_shared, sent_by, strongest


@dataclass(frozen=True)
class Middle:
    """A stage of :class:`CoarseToFine` between the coarse view and the input itself.

    The best ``keep`` of most classes are compared on a finer view. That tells which classes lead, and these send more
    of their own there: what the coarse view has ranked tenth may be the best. The poses that any class likes best on
    the finer view are the finalists.

    Args:
        size: points or pixels of its view; inputs that are no larger go without the stage.
        contenders: classes that are compared on it.
        keep: candidates that each of them sends there.
        leaders: classes that send more, the best after that.
        deeper: candidates that each of these sends there in all.
        finalists: poses that go on to the input itself at most.
        margin: those whose best score is lower than the best of all by more than this do not; scores of classifiers are
            log-odds. None lets all go on.
    """

    size: int = 128
    contenders: int = 10
    keep: int = 3
    leaders: int = 2
    deeper: int = 20
    finalists: int = 4
    margin: float | None = 1.0

    def __post_init__(self) -> None:
        numbers = (self.size, self.contenders, self.keep, self.deeper, self.finalists)
        if min(numbers) < 1 or self.leaders < 0 or (self.margin is not None and not self.margin >= 0):
            raise InputError(
                f"Middle needs size, contenders, keep, deeper and finalists >= 1, leaders >= 0 and a margin >= 0 or "
                f"None, got {self!r}"
            )

    @property
    def most(self) -> int:
        """Candidates that a class sends at most."""
        return max(self.keep, self.deeper) if self.leaders else self.keep

    def finalists_of(self, view: Landscape, points: Tree, values: Tensor, pilot: Pilot | None) -> Tree:
        """Points (finalists, batch, *point) for all forms, from points (most, batch, forms, *point) with values (most,
        batch, forms), the best first; a place that is not needed holds the first of them again.
        """
        sent = sent_by(strongest(values[0], self.contenders), map_tensors(lambda leaf: leaf[: self.keep], points))
        scores, new = scores_of_shared(view, sent)
        sample = torch.arange(view.batch, device=scores.device)
        shift = pilot.on_input - view.scores(pilot.points, sample) if pilot else 0.0
        if self.leaders:
            lead = strongest(scores.amax(0) + shift, self.leaders)
            more = sent_by(lead, map_tensors(lambda leaf: leaf[: self.deeper], points))
            sent = map_tensors(lambda few, many: torch.cat([few, many]), sent, more)
            scores, new = scores_of_shared(view, sent, scores)
        value = torch.where(new, (scores + shift).amax(2), -torch.inf)
        value, index = value.topk(min(self.finalists, len(value)), dim=0)
        chosen = take(sent, index, sample)
        wanted = value > -torch.inf if self.margin is None else value >= value[0] - self.margin
        return map_tensors(lambda leaf: torch.where(expand_over(wanted, leaf), leaf, leaf[:1]), chosen)
