"""Transformation families :math:`\\kappa_u` (paper: section "Prior Maximization Adaptive Canonicalization")."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from adacanon.core.answers import Carried, Kind
from adacanon.core.pictures import Picture
from adacanon.core.pytree import Tree
from adacanon.core.space import Space
from adacanon.errors import SpaceError

if TYPE_CHECKING:
    from adacanon.core.maximizer import Maximizer

Searches = tuple["Maximizer", "Maximizer | None"]
"""A search, and another one for training if that differs."""

Pullback = Callable[[Tensor], Tree]
"""From cotangents of outputs to those of the points that they come from."""


class Fused(ABC):
    """A faster way from the transformations of a batch to a network's outputs, see :meth:`Family.fused`.

    Example:
        >>> import torch
        >>> class Product(Fused):  # a linear network on scaled inputs: w (u g) = (w g) u
        ...     def __init__(self, weight, g):
        ...         self.product = g @ weight.T
        ...     def __call__(self, u):
        ...         return u[..., None] * self.product
        >>> Product(torch.ones(2, 3), torch.ones(4, 3))(torch.ones(5, 4)).shape
        torch.Size([5, 4, 2])
    """

    @abstractmethod
    def __call__(self, u: Tree) -> Tensor:
        """Outputs (count, batch, ...) at points (count, batch, *point), without gradients to the network."""

    def pullback(self, u: Tree) -> tuple[Tensor, Pullback] | None:
        """Outputs, and the map from their cotangents to those of u; None where autograd has to find them."""
        return None

    def with_gradients(self, network: Callable[[Tree], Tensor], g: Tree, u: Tree) -> Tensor | None:
        """Outputs (batch, forms, ...) at one point for each form, (batch, forms, *point), from which gradients flow to
        the network and to g; None where the network has to be called.
        """
        return None


class Family(ABC):
    r"""A transformation family :math:`\kappa_u : \mathcal G \to \mathcal K`, continuous in :math:`u`.

    It names the space of transformations of a batch of inputs, and transforms lists of pairs.

    Example:
        >>> import torch
        >>> from adacanon.spaces import Finite
        >>> class Flips(Family):  # the signals (batch, n) as they are, or backwards
        ...     def space(self, g):
        ...         return Finite(2)
        ...     def transform(self, g, u, owner):
        ...         return torch.where(u[:, None] == 1, g[owner].flip(1), g[owner])
        >>> Flips().transform(torch.tensor([[1, 2, 3]]), torch.tensor([0, 1]), torch.tensor([0, 0]))
        tensor([[1, 2, 3],
                [3, 2, 1]])
    """

    @abstractmethod
    def space(self, g: Tree) -> Space:
        """The space :math:`\\mathcal U(g)`, one for all inputs or one per input."""

    @abstractmethod
    def transform(self, g: Tree, u: Tree, owner: Tensor) -> Tree:
        """The network inputs :math:`\\kappa_{u[p]}(g[owner[p]])`, one row per pair p."""

    @property
    def moves_pixels(self) -> bool:
        """Whether an answer for a single pixel belongs elsewhere after a transformation. The answer for a point of a
        cloud, or for a node, stays with it.
        """
        return False

    @property
    def carries(self) -> frozenset[Kind]:
        """The kinds of answers that ``act`` can carry back."""
        return frozenset({"invariant"})

    def act(self, u: Tree, answers: Tensor, kind: Kind) -> Carried:
        """Undo transformations (pairs, *point) on the answers (pairs, ...) that a network gave for the forms."""
        if kind != "invariant":
            raise SpaceError(f"{self!r} cannot carry back answers of the kind {kind!r}, only {sorted(self.carries)}")
        return Carried(answers)

    def real_points(self, g: Tree) -> Tensor | None:
        """Which points of the inputs are real, (batch, points); None where answers are not per point."""
        return None

    def prepare(self, g: Any) -> Tree:
        """Check a batch and turn it, once per call, into the pytree that ``transform`` reads."""
        return g

    def fused(self, network: Callable[[Tree], Tensor], g: Tree) -> Fused | None:
        """A faster way to the outputs of this network, or None if there is none.

        Where a transformation commutes with the first layer of a network, much of it can be computed once per batch.
        The outcome must agree with the network on what ``transform`` gives.
        """
        return None

    def chunk_size(self, g: Tree) -> int | None:
        """Forms that a network takes at a time where nothing else is set, or None to choose by their size."""
        return None

    def searches(self) -> Searches | None:
        """The searches that are used where none is named, or None if one must be."""
        return None

    def temperature(self) -> float:
        """The temperature that goes with :meth:`searches` for class scores, where neither is named; 0 is the maximum.

        A family whose default is another one has it from samples that were held out (``docs/temperature.md``).
        """
        return 0.0

    def anchor(self, g: Tree) -> Tree | None:
        """Transformations (batch, count, *point) that move with the input, or None if there are none."""
        return None

    def determined(self, g: Tree) -> Tensor | None:
        """Whether the anchors of each input follow from the input, (batch,) of booleans; None if they always do.

        A symmetric input may have none that do: then rounding, or the pose in which it comes, decides.
        """
        return None

    def determined_for_scores(self, g: Tree) -> Tensor | None:
        """The same where all that is asked for is a score for each class: there it is enough if anchors follow from the
        input but for transformations that map it to itself.
        """
        return self.determined(g)

    def weighted_anchor(self, g: Tree) -> tuple[Tree, Tensor, Tensor] | None:
        """Transformations (batch, count, *point) that move with the input, their weights (batch, count), which are not
        negative and sum to 1 over the count, and for which inputs they follow from the input, (batch,); None if there
        are none. As a measure they change continuously with the input. An anchor of weight zero fills a place.
        """
        return None

    def coarse(self, g: Tree, size: int) -> Tree | None:
        """Smaller versions of the inputs, of ``size`` points or pixels, or None if there are none.

        They must move with the input: a transformed input has the transformed coarse view.
        """
        return None

    def ranker(self, g: Tree, outputs: int, network: Callable[[Tree], Tensor] | None = None) -> nn.Module | None:
        """A :class:`~adacanon.maximizers.Ranker`, a light network that orders candidates, not yet trained; None if the
        family has none for inputs like these.

        Args:
            g: a prepared batch of inputs.
            outputs: numbers that it gives for each form of a coarse view, one per class.
            network: whose values it is to estimate; it may start from a copy of that.
        """
        return None

    def describe(self, g: Tree, u: Tree, owner: Tensor) -> list[str] | None:
        """Words for the transformations :math:`u[p]` of the inputs :math:`g[owner[p]]`, one text per pair, such as
        "turned by 37°"; None where numbers have to do. They are shown on the page of an answer.
        """
        return None

    def picture(self, form: Tree) -> Picture | None:
        """What the page of an answer shows of one form, a row of what ``transform`` gives, or of one prepared input;
        None for a table of its numbers.
        """
        return None
