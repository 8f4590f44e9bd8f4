r"""The training module: the loss of :math:`f\\circ\\rho_f`, exact or by a few forms per input."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.loss import labels_of, one_vs_rest
from adacanon.core.prior import ClassScore
from adacanon.core.pytree import take
from adacanon.errors import InputError

FEW = 1.5
"""Forms per input in the pass with gradients, unless another number is asked for."""

UNIFORM_SHARE = 0.1
"""Of the draws of negatives, so that no weight exceeds ten times that of an even draw."""


class Objective(nn.Module):
    r"""The training module: inputs and labels go in, the loss of :math:`f\circ\rho_f` comes out.

    The pass with gradients is over ``forms`` forms per input on average. The forms of true classes are always among
    them. Of the other pairs (input, class) pair p is drawn with probability :math:`\pi_p` in proportion to the size
    :math:`|\sigma(s_p) - y_p|` of its gradient, and weighs :math:`1/\pi_p`: the expected loss and gradient are those
    of the exact pass at the same winners. With BatchNorm this holds up to its statistics, which are those of the
    forms drawn. With ``forms=None`` every class takes part and every distinct pair carries its gradient, up to D forms
    per input; so it is in evaluation mode too, where the loss is a figure and not a direction. What the draws cost in
    accuracy is measured in ``docs/speed.md``.

    Because the loss is computed inside ``forward``, this is the module to wrap in DistributedDataParallel.

    Args:
        model: the canonicalized network.
        loss: from outputs and targets to a scalar.
        forms: forms per input in the pass with gradients, on average. A number needs the loss ``one_vs_rest`` and the
            prior ``ClassScore``; "few" is 1.5 with these two, and all forms otherwise. None takes all.

    Example:
        >>> from adacanon.points import Rotations
        >>> from adacanon.maximizers import RandomSearch
        >>> network = nn.Sequential(nn.Flatten(), nn.Linear(12, 2))
        >>> objective = Objective(Canonicalized(network, Rotations(), RandomSearch(samples=8)))
        >>> objective(torch.randn(5, 4, 3), torch.tensor([0, 1, 1, 0, 1])).backward()
    """

    def __init__(
        self,
        model: Canonicalized,
        *,
        loss: Callable[[Tensor, Tensor], Tensor] = one_vs_rest,
        forms: float | Literal["few"] | None = "few",
    ) -> None:
        super().__init__()
        separable = loss is one_vs_rest and isinstance(model.prior, ClassScore)
        if forms == "few":
            forms = FEW if separable else None
        if forms is not None and (isinstance(forms, str) or not forms >= 1):
            raise InputError(f"forms must be at least 1, for the true class, 'few', or None for all, got {forms!r}")
        if forms is not None and not separable:
            raise InputError(
                "A pass over some forms needs the loss one_vs_rest, a sum over classes, and the prior ClassScore. "
                "Hint: forms=None takes all forms, for any loss and prior"
            )
        self.model = model
        self.loss = loss
        self.forms = forms

    def forward(
        self, g: Any, targets: Tensor, ids: Tensor | None = None, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """The loss; ``ids`` name the samples for searches that remember them from epoch to epoch."""
        if self.forms is None or not self.model.training:
            return self.loss(self.model(g, ids=ids, generator=generator), targets)
        return self._of_some_forms(g, targets, ids, generator, self.forms)

    def _of_some_forms(
        self, g: Any, targets: Tensor, ids: Tensor | None, generator: torch.Generator | None, forms: float
    ) -> Tensor:
        g = self.model.prepare(g)
        found, landscape = self.model.search(g, ids=ids, generator=generator)
        labels, known = labels_of(found.values, targets)
        size = torch.where(known, (found.values.sigmoid() - labels).abs(), 0.0)
        probability = inclusion(size, known, always=known & (labels > 0.5), count=forms * landscape.batch)
        sample, form = systematic_draw(probability, generator).unbind(1)
        outputs = self.model.outputs_at(g, take(found.parameters, sample, form), sample, landscape)
        logits = outputs.gather(1, form.unsqueeze(1)).squeeze(1)
        losses = functional.binary_cross_entropy_with_logits(logits, labels[sample, form].to(logits), reduction="none")
        return (losses / probability[sample, form].to(logits)).sum() / landscape.batch


def inclusion(size: Tensor, known: Tensor, *, always: Tensor, count: float) -> Tensor:
    r"""Probabilities :math:`\pi = \min(1, c\,q)` that sum to ``count``, with q mostly in proportion to ``size``.

    Pairs that are ``always`` taken have probability 1 and count; unknown ones have probability 0.

    Shape:
        (batch, classes) each -> (batch, classes)

    Example:
        >>> size, known = torch.tensor([[0.9, 0.6, 0.2]]), torch.ones(1, 3, dtype=torch.bool)
        >>> inclusion(size, known, always=size > 0.8, count=2.0)
        tensor([[1.0000, 0.7250, 0.2750]])
    """
    free = known & ~always
    rest = float(count - always.sum())
    if rest <= 0 or not bool(free.any()):
        return always.to(size.dtype)
    draw = torch.where(free, size, 0.0).double()
    even = free / free.sum()
    draw = (1 - UNIFORM_SHARE) * draw / draw.sum() + UNIFORM_SHARE * even if bool(draw.any()) else even.double()
    probability = (rest * draw).clamp(max=1)
    while bool((missing := rest - probability.sum()) > 1e-6) and bool((open_ := free & (probability < 1)).any()):
        probability = torch.where(open_, probability * (1 + missing / probability[open_].sum()), probability).clamp(
            max=1
        )
    return torch.where(always, 1.0, probability).to(size.dtype)


def systematic_draw(probability: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""Entries (n, 2) of a matrix, entry p with probability :math:`\pi_p \le 1`, at most once; n is the rounded sum.

    One uniform number shifts a comb of unit spacing over the running sum, so rows get their share evenly.
    """
    running = probability.double().flatten().cumsum(0)
    shift = torch.rand((), generator=generator, dtype=torch.float64).to(running.device)
    teeth = (running + shift).floor()
    certain = probability.flatten() >= 1
    hit = (teeth > functional.pad(teeth[:-1], (1, 0), value=float(shift.floor()))) | certain
    return torch.stack(torch.unravel_index(hit.nonzero().squeeze(1), probability.shape), dim=1)
