r"""Soft prior maximization: one dial from averaging to maximizing.

For candidates :math:`u_1, \dots, u_K` of an input, a probability :math:`\mu_i` of each, and a temperature
:math:`\tau`, the score of a class is

.. math:: S_\tau = \tau \log \sum_i \mu_i \exp(v_i / \tau), \qquad v_i = f_d(\kappa_{u_i}(g)).

:math:`S_0` is the maximum, the paper's rule; :math:`S_\infty` is the mean. Its gradient reaches every form by its
weight :math:`w_i = \mu_i \exp(v_i/\tau) / \sum_j \mu_j \exp(v_j/\tau)`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.arguments import flag
from adacanon.errors import InputError, ScoreError, ShapeError
from adacanon.takes import takes

TEMPERATURE_IS = "A temperature must be a number or one per class, and not negative"


def soft_maximum(values: Tensor, temperature: Tensor | float, *, counts: Tensor | None = None) -> Tensor:
    r""":math:`S_\tau` over the first axis, with equal weights for the candidates that count.

    With c the largest value it is computed as :math:`c + \tau\log\big(1 + \sum_i\mu_i(e^{(v_i - c)/\tau} - 1)\big)`,
    which loses no digits at small or at large temperatures.

    Args:
        values: (candidates, ..., forms).
        temperature: a number, or one per form.
        counts: which candidates count, of a shape that broadcasts over the leading axes of values, (candidates, ...);
            all if not given. Numbers in place of booleans are weights :math:`\mu_i`, up to a common factor.

    Example:
        >>> v = torch.tensor([[0.0], [1.0]])
        >>> [round(float(soft_maximum(v, t)), 3) for t in (0.0, 0.1, 1.0, float("inf"))]
        [1.0, 0.931, 0.62, 0.5]
    """
    tau = _temperature_of(values, temperature)
    measure = _measure(values, counts)
    counted = values.masked_fill(measure == 0, -math.inf)
    largest = counted.amax(0)
    centre = torch.where(largest.isfinite(), largest, 0.0).detach()
    between = torch.where((tau > 0) & tau.isfinite(), tau, 1.0)
    excess = torch.where(measure > 0, torch.expm1((counted - centre) / between), 0.0)
    soft = centre + between * torch.log1p((measure * excess).sum(0))
    mean = (measure * torch.where(measure > 0, values, 0.0)).sum(0)
    return torch.where(tau == 0, largest, torch.where(tau.isinf(), mean, soft))


def soft_weights(values: Tensor, temperature: Tensor | float, *, counts: Tensor | None = None) -> Tensor:
    r"""The weights :math:`w_i` of the candidates, in the shape of ``values``; arguments as in :func:`soft_maximum`.

    Example:
        >>> soft_weights(torch.tensor([[0.0], [0.0], [9.0]]), float("inf"), counts=torch.tensor([True, False, True])).T
        tensor([[0.5000, 0.0000, 0.5000]])
    """
    tau = _temperature_of(values, temperature)
    measure = _measure(values, counts)
    counted = values.masked_fill(measure == 0, -math.inf)
    between = torch.where((tau > 0) & tau.isfinite(), tau, 1.0)
    exponents = counted / between
    if counts is not None and counts.is_floating_point():
        exponents = exponents + measure.log()
    soft = exponents.softmax(0)
    winner = torch.zeros_like(values).scatter_(0, counted.argmax(0, keepdim=True), 1.0)
    return torch.where(tau == 0, winner, torch.where(tau.isinf(), measure, soft))


def weighted_sum(weights: Tensor, answers: Tensor) -> Tensor:
    r"""The sum :math:`\sum_i w_i y_i` over the first axis; an answer of weight zero adds nothing, not even if infinite.

    Example:
        >>> weighted_sum(torch.tensor([[0.0], [1.0]]), torch.tensor([[-torch.inf], [2.0]]))
        tensor([2.])
    """
    spread = _spread(weights, answers)
    total = (spread * answers).sum(0)
    if bool(total.isnan().any()):
        total = (spread * answers.masked_fill(spread == 0, 0.0)).sum(0)
    return total


def numbers(blend: Tensor) -> Tensor:
    """Refuse a weighted mean that does not exist."""
    if bool(blend.isnan().any()):
        raise ScoreError(
            "The weighted mean of the answers is NaN: confidences or answers of the network are infinite. "
            "Hint: look for an overflow in the network, or take one form with temperature=0"
        )
    return blend


def effective_number(weights: Tensor) -> Tensor:
    r"""The effective number of forms :math:`\exp(-\sum_i w_i \log w_i)` over the first axis: 1 where one form decides,
    K where all count the same.

    Example:
        >>> effective_number(torch.tensor([[0.5, 1.0], [0.5, 0.0]]))
        tensor([2., 1.])
    """
    return torch.special.entr(weights).sum(0).exp()


class RunningSoftMaximum:
    """:func:`soft_maximum` of candidates that come in blocks: memory does not grow with their number.

    Sums are kept in float64, with which temperatures up to a million times the spread of the values lose no digits of
    float32.

    Example:
        >>> running = RunningSoftMaximum(1.0)
        >>> for block in torch.tensor([[0.0], [1.0]]).split(1):
        ...     running.add(block)
        >>> running.result()
        tensor([0.6201])
    """

    def __init__(self, temperature: Tensor | float) -> None:
        self.temperature = torch.as_tensor(temperature, dtype=torch.float64)
        self.centre: Tensor | None = None

    def add(self, values: Tensor, counts: Tensor | None = None) -> None:
        """Values (count, ..., forms) of some more candidates, and which of them count."""
        real = torch.ones_like(values) if counts is None else _like(counts, values)
        v = values.double().masked_fill(real == 0, -math.inf)
        tau = _temperature_of(v, self.temperature)
        between = torch.where((tau > 0) & tau.isfinite(), tau, 1.0)
        largest = v.amax(0)
        if self.centre is None:
            self.dtype, self.centre = values.dtype, largest
            self.sum, self.total, self.number = (torch.zeros_like(largest) for _ in range(3))
        centre = torch.maximum(self.centre, largest)
        safe = torch.where(centre.isfinite(), centre, 0.0)
        old = torch.where(self.centre.isfinite(), ((self.centre - safe) / between).exp(), 0.0)
        self.sum = self.sum * old + (real * ((v - safe) / between).exp()).sum(0)
        self.total = self.total + (real * torch.where(real > 0, values.double(), 0.0)).sum(0)
        self.number = self.number + real.double().sum(0)
        self.centre = centre

    def result(self) -> Tensor:
        """The soft maximum of all candidates so far, in the precision in which they came."""
        if self.centre is None or not bool((self.number > 0).all()):
            raise InputError("Every input needs a candidate that counts, got one without any")
        tau = self.temperature.to(self.sum.device)
        between = torch.where((tau > 0) & tau.isfinite(), tau, 1.0)
        soft = self.centre + between * (self.sum / self.number).log()
        mean = self.total / self.number
        return torch.where(tau == 0, self.centre, torch.where(tau.isinf(), mean, soft)).to(self.dtype)


class RunningBlend:
    r"""The blended answer :math:`\sum_i w_i y_i` of candidates that come in blocks, with the weights of
    :func:`soft_weights` for their confidences. Memory does not grow with their number.

    Of answers that are known in part, such as maps that were warped back, the known shares are blended alike.

    Example:
        >>> running = RunningBlend(float("inf"))
        >>> for confidence, answer in ((3.0, 1.0), (5.0, 2.0)):
        ...     running.add(torch.tensor([[[confidence]]]), torch.tensor([[[answer]]]))
        >>> running.result()[0]
        tensor([[1.5000]])
    """

    def __init__(self, temperature: Tensor | float) -> None:
        self.temperature = float(temperature)
        self.centre: Tensor | None = None

    def add(
        self, confidence: Tensor, answers: Tensor, counts: Tensor | None = None, known: Tensor | None = None
    ) -> None:
        """Confidences (count, batch, 1), answers and perhaps their known shares (count, batch, ...) of some more
        candidates.
        """
        real = torch.ones_like(confidence) if counts is None else _like(counts, confidence)
        c = confidence.double() if self.temperature < math.inf else torch.zeros_like(confidence).double()
        c = c.masked_fill(real == 0, -math.inf).squeeze(2)
        centre = c.amax(0) if self.centre is None else torch.maximum(self.centre, c.amax(0))
        weights = _powers(c - centre, self.temperature) * real.squeeze(2)
        parts = [answers] if known is None else [answers, known]
        new = [weights.sum(0), *(weighted_sum(weights, part.double()) for part in parts)]
        if self.centre is None:
            self.dtype, self.sums = answers.dtype, new
        else:
            old = _powers(self.centre - centre, self.temperature)
            kept = [weighted_sum(old.unsqueeze(0), part.unsqueeze(0)) for part in self.sums]
            self.sums = [a + b for a, b in zip(kept, new, strict=True)]
        self.centre = centre

    def result(self) -> tuple[Tensor, Tensor | None]:
        """The blended answers (batch, ...), and the blended known shares if there are any."""
        if self.centre is None:
            raise InputError("A blend needs at least one candidate, got none")
        total, *parts = self.sums
        means = [(part / _spread(total, part)).to(self.dtype) for part in parts]
        return numbers(means[0]), means[1] if len(means) == 2 else None


class Temperature(nn.Module):
    r"""The temperature :math:`\tau` of a model: a number, one for each class, or learned.

    A learned temperature is the exponential of a parameter. It needs a learning rate of its own, larger than that of
    the network, and a start that was chosen on a grid: what it learns stays near where it began.

    Args:
        value: not negative; infinity stands for the mean.
        learned: whether it is a parameter; then it must be positive and finite.

    Example:
        >>> from adacanon import Canonicalized
        >>> from adacanon.points import PointNet, Rotations
        >>> model = Canonicalized(PointNet(4), Rotations(), temperature=Temperature(1.0, learned=True))
        >>> optimizer = torch.optim.Adam([
        ...     {"params": model.network.parameters(), "lr": 1e-3},
        ...     {"params": model.temperature.parameters(), "lr": 1e-1},
        ... ])
    """

    @takes(learned=flag)
    def __init__(self, value: float | Sequence[float] | Tensor, *, learned: bool = False) -> None:
        super().__init__()
        start = _numbers(value)
        if start.dim() > 1 or start.numel() == 0 or bool(start.isnan().any()) or bool((start < 0).any()):
            raise InputError(f"{TEMPERATURE_IS}, got {value!r}")
        if learned and not bool((start.isfinite() & (start > 0)).all()):
            raise InputError(f"A temperature that is learned must start positive and finite, got {value!r}. Hint: 1.0")
        self.learned = learned
        if learned:
            self.logarithm = nn.Parameter(start.log())
        else:
            self.register_buffer("fixed", start)

    def extra_repr(self) -> str:
        return f"{self().tolist()}, learned={self.learned}"

    def forward(self) -> Tensor:
        """The temperature, a scalar or (classes,)."""
        return self.logarithm.exp() if self.learned else self.fixed  # type: ignore[return-value]


def _numbers(value: Any) -> Tensor:
    """A tensor of what may be a number, a sequence, an array or a tensor."""
    try:
        numbers = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{TEMPERATURE_IS}, got {value!r}") from error
    if numbers.dtype == torch.bool or numbers.is_complex():
        raise InputError(f"{TEMPERATURE_IS}, got {value!r}")
    return numbers.to(torch.get_default_dtype()).detach().clone()


def as_temperature(value: Any) -> Temperature | None:
    """What a model is given as a temperature; None for the number zero, the maximum itself."""
    if isinstance(value, Temperature):
        return value
    fixed = Temperature(value)
    return None if fixed().dim() == 0 and float(fixed()) == 0 else fixed


def _temperature_of(values: Tensor, temperature: Tensor | float) -> Tensor:
    """A scalar, or one number for each of the forms on the last axis of values."""
    tau = torch.as_tensor(temperature, dtype=values.dtype, device=values.device)
    if tau.dim() and tau.shape[-1] != values.shape[-1]:
        raise ShapeError(
            f"A temperature for every class needs {values.shape[-1]} numbers, one for each class of the network, got "
            f"{tau.shape[-1]}. Hint: a single number for all classes"
        )
    return tau


def compare_temperatures(state: Mapping[str, Tensor], prefix: str, own: Temperature | None) -> None:
    """Refuse the checkpoint of a maximum for a model with a temperature, and the other way round."""
    saved = [key for key in state if key.startswith(prefix)]
    if saved and own is None:
        value = state[saved[0]].exp() if saved[0].endswith("logarithm") else state[saved[0]]
        raise InputError(
            f"The checkpoint has the temperature {value.tolist()}, the model takes the maximum. "
            f"Hint: Canonicalized(..., temperature={value.tolist()})"
        )
    if own is not None and not saved:
        raise InputError(
            f"The checkpoint is that of a maximum, without a temperature; the model has {own().tolist()}. "
            "Hint: Canonicalized(..., temperature=0)"
        )


def _measure(values: Tensor, counts: Tensor | None) -> Tensor:
    """Equal weights of the candidates that count, in the shape of values."""
    if counts is None:
        return torch.full_like(values, 1 / len(values), requires_grad=False)
    real = _like(counts, values)
    if not bool((real.sum(0) > 0).all()):
        raise InputError("Every input needs a candidate that counts, got one without any")
    return (real / real.sum(0)).expand_as(values)


def _powers(differences: Tensor, temperature: float) -> Tensor:
    """:math:`e^{x/\\tau}` of differences that are not positive; at zero, one where there is none."""
    if temperature == 0:
        return (differences == 0).double()
    return (differences / min(temperature, 1e300)).exp().nan_to_num(0.0)


def _spread(weights: Tensor, answers: Tensor) -> Tensor:
    return weights.reshape(weights.shape + (1,) * (answers.dim() - weights.dim()))


def _like(counts: Tensor, values: Tensor) -> Tensor:
    return counts.reshape(counts.shape + (1,) * (values.dim() - counts.dim())).to(values.dtype).expand_as(values)
