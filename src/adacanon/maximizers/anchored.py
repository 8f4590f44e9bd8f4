"""Candidates that move with the input."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace

import torch

from adacanon.arguments import set_flags
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, Support
from adacanon.core.pytree import Tree, map_tensors, tensors
from adacanon.core.space import Space
from adacanon.errors import SpaceError
from adacanon.maximizers.ascent import Method, check_ascent
from adacanon.maximizers.sample_and_refine import refine
from adacanon.maximizers.selection import CandidateSearch, check_count, draws


@dataclass(frozen=True)
class AnchoredSearch(CandidateSearch):
    r"""The best of :math:`\{u^k \circ a_j(g)\}`: frames :math:`a_j` of the input itself, and draws composed with them.

    The first of the draws is the identity, so that the frames are candidates themselves.

    Exactly invariant wherever the anchors are well defined as a set, because the candidates of a transformed input are
    the transformed candidates; continuous where this set is, discontinuous where it jumps.

    Args:
        candidates: number of candidates in all, rounded up to a multiple of the number of anchors.
        steps: gradient steps from the best candidate.
        whole: take all anchors. If not, ``candidates`` is rounded down, and where it is smaller than the number of
            anchors only the first ones are taken: a budget is kept, and invariance is lost.

    Example:
        >>> from adacanon import Canonicalized
        >>> from adacanon.points import PointNet, Rotations
        >>> model = Canonicalized(PointNet(4), Rotations(), AnchoredSearch(24)).eval()
        >>> model.canonicalize(torch.randn(2, 9, 3)).evaluations
        24.0
    """

    candidates: int = 48
    steps: int = 0
    _: KW_ONLY
    step_size: float = 0.1
    method: Method = "riemannian"
    whole: bool = field(default=True, repr=False)

    def __post_init__(self) -> None:
        check_count(self)
        check_ascent(self, self.method)
        set_flags(self, "whole")

    def propose(self, landscape: Landscape, generator: torch.Generator) -> Iterator[Tree]:
        anchors = landscape.anchors()
        if anchors is None:
            raise SpaceError(f"{landscape.family!r} has no anchors. Hint: use RandomSearch or SampleAndRefine")
        anchors, count = self.shared_out(anchors)
        yield map_tensors(lambda leaf: leaf.transpose(0, 1), anchors)
        for block in draws(landscape, count - 1, generator):
            yield composed(landscape.space, block, anchors)

    def support(self, landscape: Landscape, *, generator: torch.Generator) -> Iterator[Support]:
        own = Maximizer if self.steps else CandidateSearch  # what climbs is no finite set
        return own.support(self, landscape, generator=generator)

    def limited(self, count: int) -> "AnchoredSearch":
        return replace(self, candidates=min(count, self.candidates), steps=0, whole=False)

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        found = super().maximize(landscape, generator=generator)
        return refine(landscape, found, self.steps, self.step_size, self.method)

    def shared_out(self, anchors: Tree) -> tuple[Tree, int]:
        """The anchors (batch, anchors, *point) that are taken, and how many candidates each of them gives."""
        per_input = tensors(anchors)[0].shape[1]
        if self.whole:
            return anchors, -(-self.candidates // per_input)
        return map_tensors(lambda leaf: leaf[:, : self.candidates], anchors), max(1, self.candidates // per_input)


def composed(space: Space, block: Tree, anchors: Tree) -> Tree:
    """Every draw (count, batch, *point) after every anchor (batch, anchors, *point)."""
    before = map_tensors(lambda leaf: leaf.transpose(0, 1), anchors)
    both = space.compose(map_tensors(lambda leaf: leaf.unsqueeze(1), block), before)
    return map_tensors(lambda leaf: leaf.flatten(0, 1), both)
