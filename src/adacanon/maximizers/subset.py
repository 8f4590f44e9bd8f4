"""Some of the candidates of another search."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import nn

from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import SearchResult
from adacanon.core.pytree import Tree, batch_size, map_tensors, take
from adacanon.maximizers.selection import CandidateSearch, check_candidates, check_count, split_blocks


@dataclass(frozen=True)
class SubsetSearch(CandidateSearch):
    """The best of some candidates of another search. They are drawn anew at every call, without replacement, and are
    the same ones for all inputs of a batch.

    For training steps that cannot afford all candidates and have no view of the input on which the network ranks them:
    a subset of a finite set on whole inputs, and beside it the winners of earlier epochs (:class:`WithMemory`), comes
    close to the maximum over the set at a fraction of its passes. Some of the anchors of an input are no longer
    the same set for a transformed input, so evaluate with the whole search.

    Args:
        search: where the candidates come from; all of them are made, only the chosen ones are scored.
        candidates: how many are scored; all of them where there are no more.

    Example:
        >>> from adacanon import AnchoredSearch, WithMemory
        >>> anchors = AnchoredSearch(24)
        >>> training_search = WithMemory(SubsetSearch(anchors, 6), samples=3991, slots=4)  # 10 passes instead of 24
    """

    search: CandidateSearch
    candidates: int = 8

    def __post_init__(self) -> None:
        check_candidates(self, self.search)
        check_count(self)

    def propose(self, landscape: Landscape, generator: torch.Generator) -> Iterator[Tree]:
        first, *others = self.search.propose(landscape, generator)
        points = map_tensors(lambda *leaves: torch.cat(leaves), first, *others)
        chosen = torch.randperm(batch_size(points), generator=generator)[: self.candidates]
        yield from split_blocks(take(points, chosen.to(landscape.device)))

    def limited(self, count: int) -> "SubsetSearch":
        return replace(self, candidates=min(count, self.candidates))

    def learn(self, landscape: Landscape, found: SearchResult) -> None:
        self.search.learn(landscape, found)

    def search_state(self) -> Iterator[nn.Module]:
        return self.search.search_state()
