"""What searches a landscape, and what it returns (paper: appendix "Random Maximization")."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from adacanon.core.pytree import Tree
from adacanon.errors import InputError

if TYPE_CHECKING:
    from adacanon.core.landscape import Landscape


@dataclass(frozen=True)
class SearchResult:
    """What a maximizer returns: the best transformation found for every input and form, and its ranked value.

    Attributes:
        parameters: (batch, forms, *point).
        values: (batch, forms).
        exact: whether the values are those of the landscape at the parameters, to rounding. Then nobody needs to
            evaluate them again; an estimate says False.

    Example:
        >>> SearchResult(parameters=torch.eye(3).expand(2, 5, 3, 3), values=torch.zeros(2, 5)).exact
        False
    """

    parameters: Tree
    values: Tensor
    exact: bool = False


@dataclass(frozen=True)
class Support:
    """Some of the candidates over which a soft maximum is taken.

    Attributes:
        points: (count, batch, *point).
        counts: which of them count, (count, batch); None if all do. A candidate that is there twice counts once.
            Floating numbers are weights :math:`\\mu_i`; candidates of weight zero are not evaluated.
        values: estimates (count, batch, forms) in place of the network's values, for candidates about which the network
            is not asked; None if it is. They are constants: no gradient flows through them.
        found: values (count, batch, forms) of the network, where the search has asked for them already. Without
            gradients nobody asks again.
    """

    points: Tree
    counts: Tensor | None = None
    values: Tensor | None = None
    found: Tensor | None = None


class Maximizer(ABC):
    """A search strategy. To plug in your own, derive from this class, or give an object with its method ``maximize``.

    Example:
        >>> class Identity(Maximizer):
        ...     def maximize(self, landscape, *, generator):
        ...         points = landscape.place(landscape.space.identity()).expand(1, landscape.batch, 3, 3)
        ...         values = landscape(points)
        ...         return SearchResult(points[0].unsqueeze(1).expand(-1, values.shape[2], 3, 3), values[0], exact=True)
        >>> from adacanon.core import Canonicalized
        >>> from adacanon.points import PointNet, Rotations
        >>> Canonicalized(PointNet(4), Rotations(), Identity()).eval()(torch.randn(2, 9, 3)).shape
        torch.Size([2, 4])
    """

    @abstractmethod
    def maximize(self, landscape: "Landscape", *, generator: torch.Generator) -> SearchResult:
        """Search the transformation of largest value for every input and form."""

    def support(self, landscape: "Landscape", *, generator: torch.Generator) -> Iterator[Support]:
        """The candidates over which a model with a temperature takes the soft maximum, in blocks."""
        raise InputError(
            f"A temperature needs a search over a finite set of candidates, got {self!r}. "
            "Hint: RandomSearch, GridSearch, AnchoredSearch or CoarseToFine, without refinement steps"
        )

    def learn(self, landscape: "Landscape", found: SearchResult) -> None:
        """Take note of an outcome, for the next call; most searches remember nothing."""
        return

    def search_state(self) -> Iterator[nn.Module]:
        """What the search learns, to be saved with the model."""
        yield from ()

    def with_budget(self, budget: float, landscape: "Landscape") -> "Maximizer":
        """The same search for at most ``budget`` evaluations of the network per input."""
        raise InputError(
            f"{self!r} cannot keep a budget. Hint: RandomSearch, GridSearch, AnchoredSearch, SampleAndRefine and "
            "CoarseToFine can"
        )


class Adapted(Maximizer):
    """A search that is not derived from :class:`Maximizer`, so that it serves wherever one does.

    Example:
        >>> class Mine:
        ...     def maximize(self, landscape, *, generator): ...
        >>> list(as_maximizer(Mine()).search_state())
        []
    """

    def __init__(self, search: Any) -> None:
        self.search = search

    def __repr__(self) -> str:
        return repr(self.search)

    def maximize(self, landscape: "Landscape", *, generator: torch.Generator) -> SearchResult:
        return self.search.maximize(landscape, generator=generator)

    def with_budget(self, budget: float, landscape: "Landscape") -> Maximizer:
        if not hasattr(self.search, "with_budget"):
            raise InputError(f"{self!r} cannot keep a budget. Hint: give it a method with_budget(budget, landscape)")
        return as_maximizer(self.search.with_budget(budget, landscape))


def as_maximizer(search: Any) -> Maximizer:
    """A search as it is, or one's own object with a method ``maximize`` as a :class:`Maximizer`; else it is refused."""
    if isinstance(search, Maximizer):
        return search
    if isinstance(search, type) or not callable(getattr(search, "maximize", None)):
        raise InputError(
            f"The search must be an object with a method maximize, got {search!r}. "
            "Hint: an instance such as SampleAndRefine(50, steps=3)"
        )
    return Adapted(search)
