"""Some of the candidates of another search."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import nn

from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Found
from adacanon.core.pytree import Tree, batch_size, map_tensors, take
from adacanon.maximizers.selection import CandidateSearch, check_candidates, check_samples, split_blocks


@dataclass(frozen=True)
class SubsetSearch(CandidateSearch):
    """The best of ``count`` candidates of another search, which are drawn anew at every call, without replacement, and
    are the same ones for all inputs of a batch.

    For training steps that cannot afford all candidates and have no view of the input on which the network ranks them:
    a subset of a finite set on whole inputs, and beside it the winners of earlier epochs (:class:`Remembered`), comes
    close to the maximum over the set at a fraction of its passes. Some of the anchors of an input are no longer
    the same set for a transformed input, so evaluate with the whole search.

    Args:
        search: where the candidates come from; all of them are made, only the chosen ones are scored.
        count: how many are scored; all of them where there are no more.

    Example:
        >>> from adacanon import AnchoredSearch, Remembered
        >>> anchors = AnchoredSearch(24)
        >>> in_training = Remembered(SubsetSearch(anchors, 6), samples=3991, slots=4)  # 10 passes instead of 24
    """

    search: CandidateSearch
    count: int = 8

    def __post_init__(self) -> None:
        check_candidates(self, self.search)
        check_samples(self.count)

    def candidates(self, landscape: Landscape, generator: torch.Generator) -> Iterator[Tree]:
        first, *others = self.search.candidates(landscape, generator)
        points = map_tensors(lambda *leaves: torch.cat(leaves), first, *others)
        chosen = torch.randperm(batch_size(points), generator=generator)[: self.count]
        yield from split_blocks(take(points, chosen.to(landscape.device)))

    def limited(self, count: int) -> "SubsetSearch":
        return replace(self, count=min(count, self.count))

    def learn(self, landscape: Landscape, found: Found) -> None:
        self.search.learn(landscape, found)

    def saved(self) -> Iterator[nn.Module]:
        return self.search.saved()
