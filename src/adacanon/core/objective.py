r"""The training module: the loss of :math:`f\circ\rho_f`, exact or by a few forms per input."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from adacanon.arguments import real_number
from adacanon.core.hardest import hardest
from adacanon.core.loss import cross_entropy, labels_of, one_vs_rest
from adacanon.core.model import CanonicalizedModel
from adacanon.core.prior import ClassScore
from adacanon.core.pytree import take
from adacanon.core.soft_answers import soft_scores_at_some_forms
from adacanon.errors import InputError


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
    With a temperature, the forms of largest weight carry gradients, and the others enter the soft maximum as constants.

    Because the loss is computed inside ``forward``, this is the module to wrap in DistributedDataParallel.

    Args:
        model: the canonicalized network.
        loss: from outputs and targets to a scalar; ``one_vs_rest`` is the paper's, and takes several labels per input.
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
        loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy,
        forms: float | None = None,
    ) -> None:
        super().__init__()
        if not hasattr(model, "prior"):
            raise InputError(
                f"An objective is made of a canonicalized network, got {type(model).__name__}. "
                "Hint: Objective(Canonicalized(network, family))"
            )
        if forms is not None:
            hint = "at least 1 for the true class, None for all"
            forms = real_number("Objective", "forms", forms, least=1, hint=hint)
            if math.isinf(forms):
                raise InputError(f"Objective expects a finite number of forms, got inf. Hint: {hint}")
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
        elif self.model.temperature is not None:
            logits = soft_scores_at_some_forms(
                self.model,
                self.model.temperature(),
                self.model.prepare(g),
                lambda scores: self._residual(scores, targets),
                self.forms,
                ids=ids,
                generator=generator,
            )
        else:
            logits = self._scores_at_some_forms(g, targets, ids, generator, self.forms)
        return LossAndLogits(self.loss(logits, targets), logits.detach())

    def _residual(self, scores: Tensor, targets: Tensor) -> Tensor:
        """The size of the gradient by each score, :math:`|p_d - y_d|`; zero where labels are missing."""
        labels, known = labels_of(scores, targets)
        p = scores.sigmoid() if self.loss is one_vs_rest else scores.softmax(1)
        return torch.where(known, (p - labels).abs(), 0.0)

    def _scores_at_some_forms(
        self, g: Any, targets: Tensor, ids: Tensor | None, generator: torch.Generator | None, forms: float
    ) -> Tensor:
        g = self.model.prepare(g)
        found, landscape = self.model.maximize(g, ids=ids, generator=generator)
        labels, known = labels_of(found.values, targets)
        size = self._residual(found.values, targets)
        chosen = hardest(size, always=known & (labels > 0.5), count=round(forms * landscape.batch))
        sample, form = chosen.nonzero().unbind(1)
        outputs = self.model.outputs_at(g, take(found.parameters, sample, form), sample, landscape)
        scores = outputs.new_full((landscape.batch, outputs.shape[1]), -torch.inf)
        return scores.scatter_reduce(0, sample.unsqueeze(1).expand_as(outputs), outputs, "amax")
