"""All candidates on a coarse view of the input, the finalists on the input itself."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from adacanon.core.maximizer import Found, Landscape, Maximizer
from adacanon.core.pytree import (
    Tree,
    batch_size,
    distinct_rows,
    flatten_leading,
    map_tensors,
    owners,
    take,
)
from adacanon.errors import InputError
from adacanon.maximizers.calibration import Calibration
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.selection import CandidateSearch, check_candidates


@dataclass(frozen=True)
class Middle:
    """A stage of :class:`CoarseToFine` between the coarse view and the input itself.

    Args:
        size: points or pixels of its view; inputs that are no larger go without the stage.
        contenders: classes that are compared on it.
        keep: candidates that each of them sends there.
    """

    size: int = 128
    contenders: int = 10
    keep: int = 4

    def __post_init__(self) -> None:
        if min(self.size, self.contenders, self.keep) < 1:
            raise InputError(
                f"Middle needs size, contenders and keep >= 1, got size={self.size}, contenders={self.contenders}, "
                f"keep={self.keep}"
            )


@dataclass(frozen=True)
class CoarseToFine(Maximizer):
    r"""The best of all candidates on a coarse view goes on to the input itself.

    1. Every candidate is scored on a coarse view of ``size`` points. That ranks poses well, but not classes: the scores
       of a class are shifted on views, each class by its own amount.
    2. So the best candidate of all, the pilot, is scored on the input itself, and the difference for every class is
       added to what the view says of it.
    3. If there is a ``middle`` stage, several candidates of most classes are compared anew on its finer view.
    4. The ``contenders`` classes of largest value send their best ``keep`` to the input itself: at most
       contenders x keep finalists for each input, shared by all classes, of which each class takes its best.

    Every value returned is one of the network on the whole input. It is the full search's value for classes in
    contention if the coarse view ranks well, and a lower bound for the others: a heuristic, whose error
    ``benchmarks.evaluation_cost`` measures. :class:`SuccessiveHalving` climbs between the two, and after them.

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
        middle: a stage in between; None goes straight to the input.

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
            points, values = best_few(view, blocks, middle.keep if middle else self.keep if self.contenders else 1)
            several = values.shape[2] > 1  # one class cannot be ranked wrongly
            if self.calibration is not None and several:
                self.calibration.learn(landscape, view, map_tensors(lambda leaf: leaf[0], points), generator=generator)
                values = self.calibration(values)
            pilot = pilot_of(landscape, view, points, values, self.calibration) if self.pilot and several else None
        if pilot:
            values = values + pilot.shift
        if self.contenders:
            if middle:
                points, values = self._compared(landscape, middle, points, values, pilot)
            form = strongest(values[0], self.contenders)
            finalists = map_tensors(lambda leaf: leaf[:, *places(form)], points)
            found = best_finalist(landscape, finalists, pilot)
        else:
            found = Found(map_tensors(lambda leaf: leaf[0], points), values[0])
        self.search.learn(landscape, found)
        return found

    def _middle_of(self, landscape: Landscape) -> Middle | None:
        """The middle stage, where it is one."""
        if self.middle is None or not self.contenders or landscape.share(self.middle.size) >= 1:
            return None
        return self.middle

    def _compared(
        self, landscape: Landscape, middle: Middle, points: Tree, values: Tensor, pilot: "Pilot | None"
    ) -> tuple[Tree, Tensor]:
        """The best of points (keep, batch, forms, *point) on the middle view, whoever brought them, with values."""
        form = strongest(values[0], middle.contenders)
        shared = shared_by_forms(map_tensors(lambda leaf: leaf[:, *places(form)], points))
        with landscape.coarse(middle.size, reduced=self.reduced) as view:
            scores, new = scores_of_shared(view, shared)
            if pilot:
                sample = torch.arange(landscape.batch, device=scores.device)
                scores = scores + (pilot.on_input - view.scores(pilot.points, sample))
        scores = torch.where(new.unsqueeze(2), scores, -torch.inf)
        values, index = scores.topk(min(self.keep, len(scores)), dim=0)
        return take(shared, index, torch.arange(landscape.batch, device=index.device).unsqueeze(1)), values

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


@dataclass(frozen=True)
class Pilot:
    """One point (batch, *point) per input, with its scores (batch, forms) on the input itself, and by how much those on
    the view differ from them.
    """

    points: Tree
    on_input: Tensor
    shift: Tensor


def pilot_of(
    landscape: Landscape, view: Landscape, points: Tree, values: Tensor, calibration: Calibration | None = None
) -> Pilot:
    """The best of points (keep, batch, forms, *point) on a view, best first, whatever its form."""
    sample = torch.arange(landscape.batch, device=values.device)
    best = map_tensors(lambda leaf: leaf[0, sample, values[0].argmax(1)], points)
    on_input, on_view = landscape.scores(best, sample), view.scores(best, sample)
    return Pilot(best, on_input, on_input - (on_view if calibration is None else calibration(on_view)))


def best_few(landscape: Landscape, blocks: Iterable[Tree], keep: int) -> tuple[Tree, Tensor]:
    """The ``keep`` best candidates per input and form, best first.

    Shape:
        points (keep, batch, forms, *point), values (keep, batch, forms)
    """
    points: Tree | None = None
    values: Tensor | None = None
    for block in blocks:
        value, index = landscape(block).topk(min(keep, batch_size(block)), dim=0)
        sample = torch.arange(value.shape[1], device=value.device).unsqueeze(1)
        chosen = take(block, index, sample)
        if points is None or values is None:
            points, values = chosen, value
            continue
        both = map_tensors(lambda old, new: torch.cat([old, new]), points, chosen)
        values, order = torch.cat([values, value]).topk(min(keep, len(values) + len(value)), dim=0)
        form = torch.arange(value.shape[2], device=value.device)
        points = take(both, order, sample, form)
    if points is None or values is None:
        raise InputError("A search needs at least one candidate, got none")
    return points, values


def best_finalist(landscape: Landscape, finalists: Tree, pilot: Pilot | None = None) -> Found:
    """The best of points (keep, batch, n, *point) and the pilot for every input and form, whoever brought them; equal
    ones are evaluated once, and the pilot not again.
    """
    points = shared_by_forms(finalists)
    if pilot:
        points = map_tensors(lambda one, many: torch.cat([one.unsqueeze(0), many]), pilot.points, points)
    values, _ = scores_of_shared(landscape, points, pilot.on_input if pilot else None)
    value, index = values.max(dim=0)
    return Found(
        take(points, index, torch.arange(landscape.batch, device=index.device).unsqueeze(1)), value, exact=True
    )


def shared_by_forms(points: Tree) -> Tree:
    """Points (keep, batch, n, *point) of n forms as (keep * n, batch, *point) for all of them."""
    return map_tensors(lambda leaf: leaf.transpose(1, 2).flatten(0, 1), points)


def scores_of_shared(landscape: Landscape, points: Tree, known: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Scores (count, batch, forms) of points (count, batch, *point), equal ones evaluated once, and which of them
    (count, batch) equal none before.

    Args:
        known: scores (batch, forms) of the first point of every input, which is not evaluated again.
    """
    count, batch = batch_size(points), landscape.batch
    pairs = flatten_leading(points, 2)
    owner = owners(batch, 1, landscape.device, count=count)
    first, inverse = distinct_rows(owner, pairs)
    begin = 0 if known is None else batch
    new = first[first >= begin]
    table = [] if known is None else [known]
    if len(new):
        table.append(landscape.scores(take(pairs, new), owner[new]))
    place = torch.where(first < begin, first, begin + (first >= begin).cumsum(0) - 1)
    scores = torch.cat(table)[place[inverse]].unflatten(0, (count, batch))
    fresh = torch.zeros(count * batch, dtype=torch.bool, device=first.device).index_fill(0, first, True)
    return scores, fresh.unflatten(0, (count, batch))


def strongest(values: Tensor, count: int) -> Tensor:
    """The forms (batch, count) of largest value (batch, forms), all of them if there are fewer."""
    return values.topk(min(count, values.shape[1])).indices


def places(form: Tensor) -> tuple[Tensor, Tensor]:
    """Where the forms (batch, n) of each input stand in tensors (batch, forms, ...)."""
    return torch.arange(len(form), device=form.device).unsqueeze(1), form
