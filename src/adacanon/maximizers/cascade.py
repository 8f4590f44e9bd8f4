"""A light ranker orders all candidates, and the network looks at the best few."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace

import torch
from torch import Tensor, nn

from adacanon.arguments import set_whole_numbers
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, Support
from adacanon.core.pytree import Tree, batch_size, map_tensors, take
from adacanon.errors import InputError, ShapeError
from adacanon.maximizers.anchored import AnchoredSearch
from adacanon.maximizers.asking import Answers, ask_until_settled
from adacanon.maximizers.finalists import best_shared
from adacanon.maximizers.ranker import Ranker, check_ranker
from adacanon.maximizers.selection import CandidateSearch


@dataclass(frozen=True)
class Cascade(Maximizer):
    r"""The best of the candidates that a :class:`Ranker` puts first, of as many as it takes:
    :math:`\max_{i \in F} v_d(u_i)` with finalists F.

    1. The ranker, a light network, estimates the value of every candidate and class from a coarse view.
    2. The network itself evaluates the candidate of largest estimate on the whole input.
    3. What it says corrects the estimates for the other candidates (:class:`RankerErrors`). Where another class could
       still overtake the leading one, the network evaluates the candidates on which it comes nearest, as many as it
       has seen before, and so on.

    All classes share these finalists, and each takes its best. Every value returned is one of the network on the whole
    input: the full search's value for the winning class if its best candidate is among the finalists, and a lower bound
    for classes out of contention. As long as the ranker has not measured its errors, the finalists are those that any
    class likes best, :math:`\max_d \hat v_d(u_i)`, the same number for all inputs; with as many as there are
    candidates this is the full search.

    The estimates depend on the transformed input alone, so that a cascade over candidates that move with the input
    (:class:`AnchoredSearch`) is as invariant as they are. It is not continuous: where two candidates change places in
    the ranker's order, one finalist replaces another, and the answer may jump (``docs/speed.md``).

    Under a temperature the soft maximum is over all candidates: values of the network for the finalists, estimates for
    the others; ``found.weights`` has the finalists first. With a prior that has one shared form, answers are blended
    over the finalists, the same number for all inputs.

    Args:
        search: where the candidates come from, a finite set.
        ranker: what orders them; :func:`~adacanon.distil` trains one.
        finalists: candidates that the network evaluates, at most.

    Example:
        >>> from adacanon import AnchoredSearch, Canonicalized
        >>> from adacanon.points import PointNet, Rotations
        >>> clouds = torch.randn(2, 256, 3)
        >>> cascade = Cascade(AnchoredSearch(24), Rotations().ranker(clouds, outputs=4), finalists=3)
        >>> model = Canonicalized(PointNet(4), Rotations(), cascade).eval()
        >>> model(clouds).shape
        torch.Size([2, 4])
    """

    search: CandidateSearch
    ranker: Ranker
    _: KW_ONLY
    finalists: int = 3

    def __post_init__(self) -> None:
        check_finite("Cascade", self.search)
        check_ranker("Cascade", self.ranker)
        set_whole_numbers(self, "finalists", least=1)

    def __repr__(self) -> str:
        size = "" if self.ranker.size is None else f" on {self.ranker.size}"
        return f"Cascade({self.search!r}, {type(self.ranker.network).__name__}{size}, finalists={self.finalists})"

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        points = every_candidate(self.search, landscape, generator)
        if self.ranker.errors.settles:
            found = best_known(points, self._asked(landscape, points, None))
        elif batch_size(points) <= self.finalists:
            found = best_shared(landscape, points)
        else:
            estimates = self.ranker.estimates(landscape, points)
            found = best_shared(landscape, taken(points, ordered(estimates)[: self.finalists].sort(0).values))
            self._check_outputs(estimates, landscape)
        self.learn(landscape, found)
        return found

    def support(self, landscape: Landscape, *, generator: torch.Generator) -> Iterator[Support]:
        """The finalists, and with a form per class the others by their estimates."""
        points = every_candidate(self.search, landscape, generator)
        shared = landscape.prior.shared
        if self.ranker.errors.settles and not shared and self.ranker.outputs > 1:  # else nothing could be overtaken
            yield from supports_of(points, self._asked(landscape, points, landscape.temperature))
        elif batch_size(points) <= self.finalists:
            yield Support(points)
        else:
            estimates = self.ranker.estimates(landscape, points)
            first, others = ordered(estimates).tensor_split([self.finalists])
            yield Support(taken(points, first))
            if not shared:
                self._check_outputs(estimates, landscape)
                yield Support(taken(points, others), values=taken(estimates, others))

    def _asked(self, landscape: Landscape, points: Tree, temperature: Tensor | None) -> Answers:
        """The network's values of so many candidates of every input as it takes."""
        estimates = self.ranker.estimates(landscape, points)

        def ask(candidate: Tensor, owner: Tensor) -> Tensor:
            values = landscape.scores(take(points, candidate, owner), owner)
            self._check_outputs(estimates, landscape)
            return values

        return ask_until_settled(estimates, ask, self.ranker.errors, most=self.finalists, temperature=temperature)

    def learn(self, landscape: Landscape, found: SearchResult) -> None:
        self.search.learn(landscape, found)

    def search_state(self) -> Iterator[nn.Module]:
        yield self.ranker
        yield from self.search.search_state()

    def with_budget(self, budget: float, landscape: Landscape) -> "Cascade":
        """Half of the budget for finalists, the rest for candidates that the ranker orders."""
        finalists = min(self.finalists, max(1, int(budget / 2)))
        cost = float(self.ranker.cost)
        search = self.search.limited(max(1, int((budget - finalists) / cost))) if cost else self.search
        return replace(self, search=search, finalists=finalists)

    def _check_outputs(self, estimates: Tensor, landscape: Landscape) -> None:
        """What the network has said of its forms by now must fit; before its first pass nothing is known."""
        if landscape.forms not in (None, estimates.shape[2]):
            raise ShapeError(
                f"The ranker estimates {estimates.shape[2]} values per candidate, the network gives {landscape.forms}. "
                f"Hint: a ranker with outputs={landscape.forms}"
            )


def best_known(points: Tree, answers: Answers) -> SearchResult:
    """The best of the candidates that the network has seen, for every input and form."""
    value, index = answers.values.masked_fill(~answers.known.unsqueeze(2), -torch.inf).max(0)
    sample = torch.arange(len(value), device=value.device).unsqueeze(1)
    return SearchResult(take(points, index, sample), value, exact=True)


def supports_of(points: Tree, answers: Answers) -> Iterator[Support]:
    """The candidates that the network has seen, and the others by their estimates. Inputs differ in the number of both:
    candidates in the wrong block have weight zero.
    """
    order = (~answers.known).int().argsort(dim=0, stable=True)
    seen = answers.known.sum(0)
    asked, estimated = order[: int(seen.max())], order[int(seen.min()) :]
    yield Support(taken(points, asked), _is(answers.known, asked), found=taken(answers.values, asked))
    if len(estimated):
        yield Support(taken(points, estimated), _is(~answers.known, estimated), values=taken(answers.values, estimated))


def _is(condition: Tensor, index: Tensor) -> Tensor:
    """Weights (n, batch) of rows ``index`` of a condition (candidates, batch)."""
    return taken(condition, index).to(torch.get_default_dtype())


def every_candidate(search: CandidateSearch, landscape: Landscape, generator: torch.Generator) -> Tree:
    """All candidates of a search in one block (candidates, batch, *point)."""
    first, *others = search.propose(landscape, generator)
    return map_tensors(lambda *leaves: torch.cat(leaves), first, *others) if others else first


def ordered(estimates: Tensor) -> Tensor:
    """The candidates (candidates, batch) in the order of their best estimate (candidates, batch, outputs) for any
    class; the first of equals comes first.
    """
    return estimates.amax(2).argsort(dim=0, descending=True, stable=True)


def taken(tree: Tree, index: Tensor) -> Tree:
    """Rows ``index`` (n, batch) of leaves (candidates, batch, ...)."""
    return take(tree, index, torch.arange(index.shape[1], device=index.device))


def check_finite(owner: str, search: object) -> CandidateSearch:
    """The search; one that climbs, or that has no set of candidates, is refused."""
    if isinstance(search, AnchoredSearch) and search.steps:
        raise InputError(
            f"{owner} needs a finite set of candidates, got {search!r}. Hint: the same search with steps=0"
        )
    if not isinstance(search, CandidateSearch):
        raise InputError(
            f"{owner} needs a search over a finite set of candidates, got {search!r}. "
            "Hint: AnchoredSearch(24), GridSearch(48) or RandomSearch(50)"
        )
    return search
