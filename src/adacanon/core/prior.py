"""Priors :math:`h_d` on the output of the network (paper: section "Prior Maximization Adaptive Canonicalization")."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.errors import InputError, ShapeError

TURN_MAPS_BACK = (
    "An answer for every pixel belongs to the transformed image and has to be turned back. "
    'Hint: answers="maps", prior=NegativeEntropy(axis=1) for class scores (pairs, classes, height, width); '
    "or a network with one answer per image, such as the mean of a map"
)


class Prior(ABC):
    r"""What the search maximizes: :math:`h_d(f_d(x))`, one value per form.

    A prior with ``shared = False`` has one form per class, and :math:`h_d` then acts on the score of class d alone;
    otherwise one form serves all outputs.

    Example:
        >>> class Margin(Prior):  # one shared form, on which the two best classes differ most
        ...     shared = True
        ...     def __call__(self, outputs):
        ...         best = outputs.topk(2, dim=1).values
        ...         return best[:, :1] - best[:, 1:]
        >>> Margin()(torch.tensor([[1.0, 5.0, 2.0]]))
        tensor([[3.]])
    """

    @property
    @abstractmethod
    def shared(self) -> bool:
        """Whether one canonical form serves all classes."""

    @abstractmethod
    def __call__(self, outputs: Tensor) -> Tensor:
        """Prior values (pairs, forms) of network outputs (pairs, ...)."""

    def rank(self, outputs: Tensor) -> Tensor:
        """Values with the same maximizers as the prior, on which the search runs."""
        return self(outputs)

    def rank_among(self, outputs: Tensor, real: Tensor | None) -> Tensor:
        """The same of outputs for padded inputs; ``real`` (pairs, points) says which points count, None if all do."""
        return self.rank(outputs)

    def confidence(self, outputs: Tensor, real: Tensor | None) -> Tensor:
        """What a temperature weighs forms by, with the maximizers of ``rank_among``."""
        return self.rank_among(outputs, real)

    def answers_of(self, outputs: Tensor) -> Tensor:
        """The answers (pairs, ...) in the outputs of the network, without what only the prior reads."""
        return outputs

    def scores_of(self, ranks: Tensor) -> Tensor:
        """Class scores (..., classes) from ranked values; a soft maximum of ranks becomes one of scores."""
        raise InputError(f"{self!r} has no soft maximum. Hint: temperature=0, or the priors ClassScore or Monotone")


@dataclass(frozen=True)
class ClassScore(Prior):
    r"""The score itself, :math:`h_d(x) = x`: each class looks for the form on which it is most confident.

    Example:
        >>> ClassScore()(torch.tensor([[1.0, -2.0]]))
        tensor([[ 1., -2.]])
    """

    @property
    def shared(self) -> bool:
        return False

    def __call__(self, outputs: Tensor) -> Tensor:
        return _class_scores(outputs)

    def scores_of(self, ranks: Tensor) -> Tensor:
        return ranks


class Monotone(Prior):
    r"""Any continuous monotonic :math:`h_d`, increasing or decreasing, one for all classes or one for each.

    A monotone prior has the maximizers of :math:`\pm f_d`. The search ranks by that signed score, because a
    saturating prior such as the sigmoid ties its candidates and loses their gradients.

    Args:
        functions: one function on tensors, or a sequence with one per class.

    Example:
        >>> Monotone(torch.sigmoid)(torch.zeros(1, 2))
        tensor([[0.5000, 0.5000]])
        >>> Monotone([torch.exp, torch.neg]).rank(torch.ones(1, 2))
        tensor([[ 1., -1.]])
    """

    def __init__(self, functions: Callable[[Tensor], Tensor] | Sequence[Callable[[Tensor], Tensor]]) -> None:
        self.functions = tuple(functions) if isinstance(functions, Sequence) else functions
        each = self.functions if isinstance(self.functions, tuple) else (self.functions,)
        self.signs = tuple(_direction(function) for function in each)

    def __repr__(self) -> str:
        return f"Monotone(signs={self.signs})"

    @property
    def shared(self) -> bool:
        return False

    def __call__(self, outputs: Tensor) -> Tensor:
        scores = self._checked(outputs)
        if not isinstance(self.functions, tuple):
            return self.functions(scores)
        return torch.stack([h(scores[:, d]) for d, h in enumerate(self.functions)], dim=1)

    def rank(self, outputs: Tensor) -> Tensor:
        scores = self._checked(outputs)
        return self.scores_of(scores)

    def scores_of(self, ranks: Tensor) -> Tensor:
        """The score is the rank or its negative: the soft maximum of a decreasing prior is a soft minimum."""
        return ranks * torch.tensor(self.signs, dtype=ranks.dtype, device=ranks.device)

    def _checked(self, outputs: Tensor) -> Tensor:
        scores = _class_scores(outputs)
        if isinstance(self.functions, tuple) and scores.shape[1] != len(self.functions):
            raise ShapeError(
                f"Monotone got {len(self.functions)} functions, but the network has {scores.shape[1]} classes. "
                "Hint: give one function for all classes, or exactly one per class"
            )
        return scores


def _class_scores(outputs: Tensor) -> Tensor:
    if outputs.dim() != 2:
        hints = {
            1: "Hint: for a single score, outputs.unsqueeze(-1)",
            3: "Hint: for an answer per point of a cloud, with classes last, prior=NegativeEntropy()",
        }
        raise ShapeError(
            f"A form per class needs network outputs of shape (pairs, classes), got {tuple(outputs.shape)}. "
            + hints.get(outputs.dim(), TURN_MAPS_BACK)
        )
    return outputs


def _direction(function: Callable[[Tensor], Tensor]) -> int:
    """+1 for an increasing function, -1 for a decreasing one."""
    values = function(torch.linspace(-4.0, 4.0, 33, dtype=torch.float64))
    steps = values.diff()
    if bool((steps >= 0).all()) and bool((steps > 0).any()):
        return 1
    if bool((steps <= 0).all()) and bool((steps < 0).any()):
        return -1
    raise InputError(
        f"A prior must be monotonic, but {function!r} is not on [-4, 4]. "
        "Hint: give a function such as torch.sigmoid, torch.tanh or torch.neg, or your own Prior"
    )
