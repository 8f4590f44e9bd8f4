"""How far off a ranker is: what its estimates leave open."""

import torch
from torch import Tensor, nn

from adacanon.errors import InputError

PRIOR_INPUTS = 20
"""The pooled variance of all classes counts in that of a class like so many inputs."""


class RankerErrors(nn.Module):
    r"""The errors of a ranker, :math:`v_d(u_i) = \hat v_d(u_i) + b_d + a_d + e_{di}`, on inputs that it has not
    learned from.

    A coarse view shifts all candidates of an input alike, each class by an amount :math:`a_d` of its own, of deviation
    :math:`\sigma_d`; :math:`e_{di}`, of deviation :math:`\varepsilon_d`, is that of one candidate. So a value of the
    network says something of the candidates that the network has not seen. After n values the estimate of the others is

    .. math:: \hat v_d(u_i) + b_d + \frac{n\,\bar r_d}{n + \varepsilon_d^2/\sigma_d^2}, \qquad
        s_d^2 = \varepsilon_d^2 + \frac{\sigma_d^2\varepsilon_d^2}{\varepsilon_d^2 + n\sigma_d^2},

    with the mean :math:`\bar r_d` of the n errors beyond :math:`b_d`, and :math:`s_d` is its deviation. A
    :class:`~adacanon.maximizers.Cascade` stops asking where no value that is within ``caution`` deviations of its
    estimate would change the answer. As long as the caution is infinite, it asks as often as it may.

    Args:
        outputs: numbers per candidate.
        device: where they are kept.

    Example:
        >>> errors = RankerErrors(2)
        >>> errors.measure(torch.tensor([[[2.0, 0.0]], [[4.0, 0.0]]]), torch.tensor([[[1.0, 0.0]], [[3.0, 0.0]]]))
        >>> errors.bias.tolist()
        [1.0, 0.0]
    """

    bias: Tensor
    common: Tensor
    own: Tensor
    caution: Tensor

    def __init__(self, outputs: int, *, device: torch.device | None = None) -> None:
        super().__init__()
        self.register_buffer("bias", torch.zeros(outputs, device=device))
        self.register_buffer("common", torch.ones(outputs, device=device))
        self.register_buffer("own", torch.ones(outputs, device=device))
        self.register_buffer("caution", torch.tensor(torch.inf, device=device))

    def extra_repr(self) -> str:
        return f"caution={float(self.caution):.3g}"

    @property
    def settles(self) -> bool:
        """Whether there is a caution with which answers can be settled."""
        return bool(self.caution.isfinite())

    @torch.no_grad()
    def measure(self, values: Tensor, estimates: Tensor) -> None:
        """Take bias and deviations from values and estimates (candidates, inputs, outputs) of the same candidates."""
        if values.shape != estimates.shape or values.dim() != 3 or not values.shape[0]:
            raise InputError(
                f"Errors are measured on values and estimates (candidates, inputs, outputs), got "
                f"{tuple(values.shape)} and {tuple(estimates.shape)}"
            )
        error = values - estimates
        bias = error.mean((0, 1))
        shift = error.mean(0) - bias
        own = _pooled((error - error.mean(0)).square().mean((0, 1)), values.shape[1])
        common = _pooled((shift.square().mean(0) - own / len(values)).clamp(min=0), values.shape[1])
        for place, found in ((self.bias, bias), (self.common, common.sqrt()), (self.own, own.sqrt())):
            place.copy_(found)

    def corrected(self, estimates: Tensor, values: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
        """What the network will say (candidates, batch, outputs) of candidates that it has not seen, and the deviation
        (batch, outputs) of that.

        Args:
            estimates: of the ranker, (candidates, batch, outputs).
            values: of the network, in the same shape, for candidates that it has seen.
            known: which ones these are, (candidates, batch).
        """
        seen = known.sum(0).unsqueeze(1)
        found = torch.where(known.unsqueeze(2), values - estimates - self.bias, 0.0).sum(0)
        own, common = self.own.square(), self.common.square()
        whole = own + seen * common
        tiny = torch.finfo(whole.dtype).tiny
        shift = found * common / whole.clamp(min=tiny)
        return estimates + self.bias + shift, (own + common * own / whole.clamp(min=tiny)).sqrt()


def _pooled(variance: Tensor, inputs: int) -> Tensor:
    """Variances of classes, drawn towards their mean where inputs are few."""
    return (inputs * variance + PRIOR_INPUTS * variance.mean()) / (inputs + PRIOR_INPUTS)
