"""Algorithm 1 of the paper: sample, keep the best, refine it by a few gradient steps."""

from dataclasses import KW_ONLY, dataclass
from functools import reduce

import torch

from adacanon.arguments import set_flags
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult
from adacanon.core.pytree import Tree, map_tensors
from adacanon.maximizers.ascent import Method, check_ascent, climb
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.selection import best_of, better, check_count, draws


@dataclass(frozen=True)
class SampleAndRefine(Maximizer):
    """The best of K draws, then ``steps`` steps of gradient ascent that never end below where they started.

    Args:
        candidates: K.
        steps: gradient steps.
        step_size: length of the first step, as a share of the diameter of the space.
        method: "riemannian" walks on the space; "projected" steps in the ambient space and projects back.
        every: refine every draw instead of the best one only. This is about K times as expensive, and does not jump
            where the best draw changes.
        low_precision: find the best draw in bfloat16 where the hardware has it; its value, and all after it, is in full
            precision. Meant for training: rounding decides between draws that are nearly equal.

    Example:
        >>> from adacanon import Canonicalized
        >>> from adacanon.points import PointNet, Rotations
        >>> model = Canonicalized(PointNet(4), Rotations(), SampleAndRefine(50, steps=3)).eval()
        >>> model(torch.randn(2, 9, 3)).shape
        torch.Size([2, 4])
    """

    candidates: int = 50
    steps: int = 3
    _: KW_ONLY
    step_size: float = 0.1
    method: Method = "riemannian"
    every: bool = False
    low_precision: bool = False

    def __post_init__(self) -> None:
        check_count(self)
        check_ascent(self, self.method)
        set_flags(self, "every", "low_precision")

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        blocks = draws(landscape, self.candidates, generator)
        if self.every:
            return reduce(better, (self._all_refined(landscape, block) for block in blocks))
        if self.low_precision:
            with landscape.low_precision() as rough:
                start = best_of(rough, blocks).parameters
            return refined_from(landscape, start, self.steps, self.step_size, self.method)
        return refine(landscape, best_of(landscape, blocks), self.steps, self.step_size, self.method)

    def with_budget(self, budget: float, landscape: Landscape) -> Maximizer:
        """The draws alone, at most as many: a step costs two evaluations for every class."""
        return RandomSearch(min(self.candidates, max(1, int(budget))))

    def _all_refined(self, landscape: Landscape, block: Tree) -> SearchResult:
        """The best after refining every candidate of a block for every form."""
        forms = landscape(map_tensors(lambda leaf: leaf[:1], block)).shape[2]
        start = map_tensors(lambda leaf: leaf.unsqueeze(2).expand(-1, -1, forms, *leaf.shape[2:]), block)
        return highest(climb(landscape, start, steps=self.steps, step_size=self.step_size, method=self.method))


def refine(
    landscape: Landscape, found: SearchResult, steps: int, step_size: float, method: Method = "riemannian"
) -> SearchResult:
    """Climb from an outcome; where climbing does not help, the outcome stays."""
    if steps == 0:
        return found
    return better(found, refined_from(landscape, found.parameters, steps, step_size, method))


def refined_from(
    landscape: Landscape, points: Tree, steps: int, step_size: float, method: Method = "riemannian"
) -> SearchResult:
    """The best on the way from points (batch, forms, *point), with exact values."""
    start = map_tensors(lambda leaf: leaf.unsqueeze(0), points)
    if steps == 0:
        return SearchResult(points, landscape.values(start)[0], exact=True)
    return highest(climb(landscape, start, steps=steps, step_size=step_size, method=method))


def highest(climbed: SearchResult) -> SearchResult:
    """The best over the leading axis of points (count, batch, forms, *point)."""
    value, index = climbed.values.max(dim=0)
    sample = torch.arange(value.shape[0], device=value.device).unsqueeze(1)
    form = torch.arange(value.shape[1], device=value.device)
    return SearchResult(map_tensors(lambda leaf: leaf[index, sample, form], climbed.parameters), value, climbed.exact)
