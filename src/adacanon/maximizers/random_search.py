"""Random maximization by sampling alone (paper: appendix "Random Maximization")."""

from dataclasses import dataclass

import torch

from adacanon.core.maximizer import Found, Landscape, Maximizer
from adacanon.maximizers.selection import best_of, check_samples, draws


@dataclass(frozen=True)
class RandomSearch(Maximizer):
    r"""The best of K draws, :math:`u_d = \arg\max_{u \in \{u^1,\dots,u^K\}} h_d(f_d(\kappa_u(g)))`.

    All inputs of a batch see the same draws. For a fixed set the result is continuous in the input and 1-Lipschitz in
    the network, and invariant as far as the set covers the space.

    Args:
        samples: K.
    """

    samples: int = 50

    def __post_init__(self) -> None:
        check_samples(self.samples)

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Found:
        return best_of(landscape, draws(landscape, self.samples, generator))
