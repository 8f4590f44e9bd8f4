r"""The training module: the loss of :math:`f\\circ\\rho_f`, exact or by a few forms per input."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from adacanon.core.landscape import Landscape
from adacanon.core.loss import labels_of, one_vs_rest
from adacanon.core.maximizer import SearchResult
from adacanon.core.prior import ClassScore, Prior
from adacanon.core.pytree import Tree, take
from adacanon.errors import InputError


class CanonicalizedModel(Protocol):
    """What an objective needs of a model: that of :class:`Canonicalized`, and of what wraps one."""

    training: bool

    @property
    def prior(self) -> Prior: ...

    def __call__(self, g: Any, *, ids: Tensor | None = None, generator: torch.Generator | None = None) -> Tensor: ...

    def prepare(self, g: Any) -> Tree: ...

    def maximize(
        self, g: Tree, *, ids: Tensor | None = None, generator: torch.Generator | None = None
    ) -> tuple[SearchResult, Landscape]: ...

    def outputs_at(self, g: Tree, u: Tree, owner: Tensor, landscape: Landscape) -> Tensor: ...


class LossAndLogits(NamedTuple):
    """What a training step needs, and what it can log.

    Attributes:
        loss: a scalar from which gradients flow.
        logits: the outputs (batch, classes) that the loss was computed from, without gradients: training accuracy needs
            no second search.

    Example:
        >>> LossAndLogits(torch.tensor(0.7), torch.tensor([[0.2, 0.1]])).logits.argmax(1)
        tensor([0])
    """

    loss: Tensor
    logits: Tensor


class Objective(nn.Module):
    r"""The training module: inputs and labels go in, the loss of :math:`f\circ\rho_f` and the logits come out.

    Exact by default: every class takes part and every distinct pair carries its gradient, up to D forms per input.

    With ``forms`` the pass with gradients is over that many forms per input on average: those of the true classes, and
    of the other classes those with the largest gradient :math:`|\sigma(s_d) - y_d|`, the hardest of every input first.
    Every class is then scored at the best of the forms that its input has, which is the loss of a search over these
    forms: the score of a class whose own form is not among them is a lower bound. In evaluation mode all take part.

    Because the loss is computed inside ``forward``, this is the module to wrap in DistributedDataParallel.

    Args:
        model: the canonicalized network.
        loss: from outputs and targets to a scalar.
        forms: forms per input in the pass with gradients, on average; None takes all. Needs class labels as targets
            and the prior ``ClassScore``.

    Example:
        >>> from adacanon import Canonicalized, RandomSearch
        >>> from adacanon.points import Rotations
        >>> network = nn.Sequential(nn.Flatten(), nn.Linear(12, 2))
        >>> objective = Objective(Canonicalized(network, Rotations(), RandomSearch(candidates=8)))
        >>> loss, logits = objective(torch.randn(5, 4, 3), torch.tensor([0, 1, 1, 0, 1]))
        >>> loss.backward()
        >>> logits.shape
        torch.Size([5, 2])
    """

    def __init__(
        self,
        model: CanonicalizedModel,
        *,
        loss: Callable[[Tensor, Tensor], Tensor] = one_vs_rest,
        forms: float | None = None,
    ) -> None:
        super().__init__()
        if not hasattr(model, "prior"):
            raise InputError(
                f"An objective is made of a canonicalized network, got {type(model).__name__}. "
                "Hint: Objective(Canonicalized(network, family))"
            )
        if forms is not None and not (isinstance(forms, int | float) and forms >= 1):
            raise InputError(f"forms must be a number, at least 1 for the true class, or None for all, got {forms!r}")
        if forms is not None and not isinstance(model.prior, ClassScore):
            raise InputError(
                f"A pass over some forms needs the prior ClassScore, got {model.prior!r}. "
                "Hint: forms=None takes all forms, for any prior"
            )
        self.model = model
        self.loss = loss
        self.forms = forms

    def forward(
        self, g: Any, targets: Tensor, ids: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> LossAndLogits:
        """The loss, and the logits that it was computed from.

        Args:
            g: the inputs, as the model takes them.
            targets: what the loss takes, by default class indices (batch,) or labels (batch, classes).
            ids: sample indices, for searches that remember samples from epoch to epoch.
            generator: source of the candidates, in place of the model's own.
        """
        if self.forms is None or not self.model.training:
            logits = self.model(g, ids=ids, generator=generator)
        else:
            logits = self._scores_at_some_forms(g, targets, ids, generator, self.forms)
        return LossAndLogits(self.loss(logits, targets), logits.detach())

    def _scores_at_some_forms(
        self, g: Any, targets: Tensor, ids: Tensor | None, generator: torch.Generator | None, forms: float
    ) -> Tensor:
        g = self.model.prepare(g)
        found, landscape = self.model.maximize(g, ids=ids, generator=generator)
        labels, known = labels_of(found.values, targets)
        size = torch.where(known, (found.values.sigmoid() - labels).abs(), 0.0)
        chosen = hardest(size, always=known & (labels > 0.5), count=round(forms * landscape.batch))
        sample, form = chosen.nonzero().unbind(1)
        outputs = self.model.outputs_at(g, take(found.parameters, sample, form), sample, landscape)
        scores = outputs.new_full((landscape.batch, outputs.shape[1]), -torch.inf)
        return scores.scatter_reduce(0, sample.unsqueeze(1).expand_as(outputs), outputs, "amax")


def hardest(size: Tensor, *, always: Tensor, count: int) -> Tensor:
    """Which pairs (input, class) take part: those that ``always`` do, and then the largest of every input, the second
    largest, and so on, until there are ``count``; of the last round the largest. Every input has one at least.

    Shape:
        (batch, classes) each, sizes in [0, 1] -> (batch, classes)

    Example:
        >>> size = torch.tensor([[0.9, 0.6, 0.2], [0.1, 0.8, 0.7]])
        >>> hardest(size, always=torch.tensor([[True, False, False], [True, False, False]]), count=3).int()
        tensor([[1, 0, 0],
                [1, 1, 0]], dtype=torch.int32)
    """
    rank = torch.where(always, -1.0, size).argsort(dim=1, descending=True).argsort(dim=1)
    chosen = always | (~always.any(dim=1, keepdim=True) & (rank == 0))
    rest = min(count - int(chosen.sum()), int((~chosen).sum()))
    if rest > 0:
        order = torch.where(chosen, torch.inf, rank - size).flatten()
        chosen = chosen.flatten().index_fill(0, order.topk(rest, largest=False).indices, True).view_as(chosen)
    return chosen
