"""Candidates that move with the input, each with a weight of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, Support
from adacanon.core.pytree import Tree, map_tensors, take
from adacanon.errors import SpaceError
from adacanon.maximizers.selection import best_in_block


@dataclass(frozen=True)
class WeightedAnchors(Maximizer):
    r"""The anchors of an input with weights :math:`\mu_i(g)` that change continuously with it
    (:meth:`~adacanon.core.family.Family.weighted_anchor`).

    Clouds with axes of their own have the 24 frames of :class:`AnchoredSearch`, with equal weights. Where two or three
    variances come close to each other, frames from points of the cloud take over, so that symmetric shapes get the
    same answer in every pose. Only such shapes cost more than 24 evaluations. With a temperature above 0 the answer
    is continuous as well; at 0 an anchor counts fully until its weight is zero, so that answers may jump there.

    Example:
        >>> from adacanon import Canonicalized
        >>> from adacanon.points import PointNet, Rotations
        >>> model = Canonicalized(PointNet(4), Rotations(), WeightedAnchors(), temperature=1.0).eval()
        >>> box = torch.cartesian_prod(torch.tensor([-1.0, 1]), torch.tensor([-2.0, 2]), torch.tensor([-4.0, 4]))
        >>> model.canonicalize(box[None]).evaluations
        24.0
    """

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        points, weights = anchors_of(landscape)
        index = weights.nonzero(as_tuple=True)
        scores = landscape.scores(take(points, *index), index[1])
        values = scores.new_full((*weights.shape, scores.shape[1]), -torch.inf).index_put(index, scores)
        return best_in_block(points, values)

    def support(self, landscape: Landscape, *, generator: torch.Generator) -> Iterator[Support]:
        yield Support(*anchors_of(landscape))


def anchors_of(landscape: Landscape) -> tuple[Tree, Tensor]:
    """Points (count, batch, *point) and weights (count, batch)."""
    found = landscape.weighted_anchors()
    if found is None:
        raise SpaceError(f"{landscape.family!r} has no weighted anchors. Hint: AnchoredSearch, or RandomSearch(50)")
    anchors, weights = found
    return map_tensors(lambda leaf: leaf.transpose(0, 1), anchors), weights.T
