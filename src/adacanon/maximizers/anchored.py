"""Candidates that move with the input."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from adacanon.core.maximizer import Found, Landscape
from adacanon.core.pytree import Tree, map_tensors, tensors
from adacanon.core.space import Space
from adacanon.errors import SpaceError
from adacanon.maximizers.ascent import Method, check_ascent
from adacanon.maximizers.sample_and_refine import refine
from adacanon.maximizers.selection import CandidateSearch, check_samples, draws


@dataclass(frozen=True)
class AnchoredSearch(CandidateSearch):
    r"""The best of :math:`\{u^k \circ a_j(g)\}`: fixed draws composed with frames of the input itself.

    Exactly invariant wherever the anchors are well defined, because the candidates of a transformed input are the
    transformed candidates; discontinuous where the anchors jump.

    Args:
        samples: number of candidates in all, rounded up to a multiple of the number of anchors.
        steps: gradient steps from the best candidate.
    """

    samples: int = 48
    steps: int = 0
    step_size: float = 0.1
    method: Method = "riemannian"

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_ascent(self.steps, self.step_size, self.method)

    def candidates(self, landscape: Landscape, generator: torch.Generator) -> Iterator[Tree]:
        anchors = landscape.family.anchor(landscape.g)
        if anchors is None:
            raise SpaceError(f"{landscape.family!r} has no anchors. Hint: use RandomSearch or SampleAndRefine")
        per_input = tensors(anchors)[0].shape[1]
        for block in draws(landscape, -(-self.samples // per_input), generator):
            yield _composed(landscape.space, block, anchors)

    def limited(self, count: int) -> "AnchoredSearch":
        return replace(self, samples=min(count, self.samples), steps=0)

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Found:
        found = super().maximize(landscape, generator=generator)
        return refine(landscape, found, self.steps, self.step_size, self.method)


def _composed(space: Space, block: Tree, anchors: Tree) -> Tree:
    """Every draw (count, batch, *point) after every anchor (batch, anchors, *point)."""
    before = map_tensors(lambda leaf: leaf.transpose(0, 1), anchors)
    composed = space.compose(map_tensors(lambda leaf: leaf.unsqueeze(1), block), before)
    return map_tensors(lambda leaf: leaf.flatten(0, 1), composed)
