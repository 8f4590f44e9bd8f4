"""The best of a stream of candidates."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Self

import torch
from torch import Tensor

from adacanon.arguments import MOST, set_whole_numbers
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, Support
from adacanon.core.pytree import Tree, batch_size, slice_rows, take, where
from adacanon.core.space import candidates
from adacanon.errors import InputError

BLOCK = 256
"""Candidates drawn at a time; memory depends on this and on the chunk, never on the number of candidates."""


class CandidateSearch(Maximizer):
    """The best of a set of candidates."""

    @abstractmethod
    def propose(self, landscape: Landscape, generator: torch.Generator) -> Iterator[Tree]:
        """The candidates in blocks (count, batch, *point)."""

    @abstractmethod
    def limited(self, count: int) -> Self:
        """The same search with at most ``count`` candidates."""

    def support(self, landscape: Landscape, *, generator: torch.Generator) -> Iterator[Support]:
        for block in self.propose(landscape, generator):
            yield Support(block)

    def with_budget(self, budget: float, landscape: Landscape) -> Self:
        return self.limited(max(1, int(budget)))

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        return best_of(landscape, self.propose(landscape, generator))


def check_candidates(owner: Maximizer, search: object) -> CandidateSearch:
    """The search; one without a set of candidates is refused."""
    if not isinstance(search, CandidateSearch):
        raise InputError(
            f"{type(owner).__name__} needs a search over a set of candidates, got {search!r}. "
            "Hint: RandomSearch, GridSearch or AnchoredSearch"
        )
    return search


def check_count(search: Maximizer) -> None:
    """Refuse a number of candidates that is none."""
    set_whole_numbers(search, "candidates", least=1, most=MOST, hint="candidates=50")


def draws(landscape: Landscape, count: int, generator: torch.Generator) -> Iterator[Tree]:
    """``count`` draws from the space in blocks (block, batch, *point)."""
    for start in range(0, count, BLOCK):
        points = landscape.space.sample(min(BLOCK, count - start), generator=generator)
        yield candidates(landscape.space, landscape.place(points), landscape.batch)


def best_of(landscape: Landscape, blocks: Iterable[Tree]) -> SearchResult:
    """Score every candidate and keep the best for each input and form; the first of equals wins."""
    return reduce(better, (best_in_block(block, landscape(block)) for block in blocks))


def best_in_block(block: Tree, values: Tensor) -> SearchResult:
    """The winners of candidates (count, batch, *point) with values (count, batch, forms)."""
    value, index = values.max(dim=0)
    sample = torch.arange(value.shape[0], device=value.device).unsqueeze(1)
    return SearchResult(take(block, index, sample), value, exact=True)


def better(old: SearchResult, new: SearchResult) -> SearchResult:
    """The better of two outcomes, per input and form."""
    improved = new.values > old.values
    parameters = where(improved, new.parameters, old.parameters)
    return SearchResult(parameters, torch.maximum(old.values, new.values), exact=old.exact and new.exact)


def split_blocks(points: Tree) -> Iterator[Tree]:
    """Cut a set of candidates into blocks."""
    for start in range(0, batch_size(points), BLOCK):
        yield slice_rows(points, start, start + BLOCK)
