"""Random maximization by sampling alone (paper: appendix "Random Maximization")."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from adacanon.core.landscape import Landscape
from adacanon.core.pytree import Tree
from adacanon.maximizers.selection import CandidateSearch, check_count, draws


@dataclass(frozen=True)
class RandomSearch(CandidateSearch):
    r"""The best of K draws, :math:`u_d = \arg\max_{u \in \{u^1,\dots,u^K\}} h_d(f_d(\kappa_u(g)))`.

    All inputs of a batch see the same draws. For a fixed set the result is continuous in the input and 1-Lipschitz in
    the network, and invariant as far as the set covers the space.

    Args:
        candidates: K.

    Example:
        >>> from adacanon import Canonicalized
        >>> from adacanon.points import PointNet, Rotations
        >>> model = Canonicalized(PointNet(4), Rotations(), RandomSearch(50)).eval()
        >>> model(torch.randn(2, 9, 3)).shape
        torch.Size([2, 4])
    """

    candidates: int = 50

    def __post_init__(self) -> None:
        check_count(self)

    def propose(self, landscape: Landscape, generator: torch.Generator) -> Iterator[Tree]:
        return draws(landscape, self.candidates, generator)

    def limited(self, count: int) -> "RandomSearch":
        return replace(self, candidates=min(count, self.candidates))
