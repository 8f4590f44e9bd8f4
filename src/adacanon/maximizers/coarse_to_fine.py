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
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.selection import CandidateSearch, check_candidates


@dataclass(frozen=True)
class CoarseToFine(Maximizer):
    r"""The best of all candidates on a coarse view goes on to the input itself.

    1. Every candidate is scored on a coarse view of ``size`` points; the ``contenders`` classes of largest value keep
       their best ``keep``.
    2. These finalists, at most contenders x keep for each input and shared by all classes, are scored on the input
       itself, and each class takes its best.

    Every value returned is one of the network on the whole input. It is the full search's value for classes in
    contention if the coarse view ranks well, and a lower bound for the others: a heuristic, whose error
    ``benchmarks.evaluation_cost`` measures. :class:`SuccessiveHalving` climbs between the two, and after them.

    With ``contenders=0`` the coarse winners are returned as they are, as estimates: enough in training, where the
    gradient pass evaluates them anyway.

    Args:
        search: where the candidates come from.
        size: points or pixels of the coarse view.
        keep: finalists for each class in contention.
        contenders: classes that may still win.
        reduced: score the coarse view in bfloat16 where the hardware has it; finalists are always in full precision.

    Example:
        >>> CoarseToFine(RandomSearch(200), size=64).contenders
        3
    """

    search: CandidateSearch = field(default_factory=RandomSearch)
    size: int = 64
    keep: int = 2
    contenders: int = 3
    reduced: bool = True

    def __post_init__(self) -> None:
        check_candidates(self, self.search)
        if self.size < 1 or self.keep < 1 or self.contenders < 0:
            raise InputError(
                f"CoarseToFine needs size >= 1, keep >= 1 and contenders >= 0, got size={self.size}, "
                f"keep={self.keep}, contenders={self.contenders}"
            )

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Found:
        with landscape.coarse(self.size, reduced=self.reduced) as view:
            blocks = self.search.candidates(landscape, generator)
            points, values = best_few(view, blocks, self.keep if self.contenders else 1)
        if self.contenders:
            form = strongest(values[0], self.contenders)
            found = best_finalist(landscape, map_tensors(lambda leaf: leaf[:, *places(form)], points))
        else:
            found = Found(map_tensors(lambda leaf: leaf[0], points), values[0])
        self.search.learn(landscape, found)
        return found

    def saved(self) -> Iterator[nn.Module]:
        return self.search.saved()

    def within(self, budget: float, landscape: Landscape) -> "CoarseToFine":
        """Half of the budget for finalists, the other half for candidates on the coarse view."""
        finalists = max(1, min(int(budget / 2), self.keep * self.contenders))
        count = max(1, int((budget - finalists) / landscape.share(self.size)))
        keep = min(self.keep, finalists)
        return replace(self, search=self.search.limited(count), keep=keep, contenders=finalists // keep)


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


def best_finalist(landscape: Landscape, finalists: Tree) -> Found:
    """The best of points (keep, batch, n, *point) for every input and form, whoever brought them; equal ones are
    evaluated once.
    """
    finalists = map_tensors(lambda leaf: leaf.transpose(1, 2).flatten(0, 1), finalists)
    count, batch = batch_size(finalists), landscape.batch
    pairs = flatten_leading(finalists, 2)
    owner = owners(batch, 1, landscape.device, count=count)
    first, inverse = distinct_rows(owner, pairs)
    values = landscape.scores(take(pairs, first), owner[first])[inverse].unflatten(0, (count, batch))
    value, index = values.max(dim=0)
    return Found(take(finalists, index, torch.arange(batch, device=index.device).unsqueeze(1)), value, exact=True)


def strongest(values: Tensor, count: int) -> Tensor:
    """The forms (batch, count) of largest value (batch, forms), all of them if there are fewer."""
    return values.topk(min(count, values.shape[1])).indices


def places(form: Tensor) -> tuple[Tensor, Tensor]:
    """Where the forms (batch, n) of each input stand in tensors (batch, forms, ...)."""
    return torch.arange(len(form), device=form.device).unsqueeze(1), form
