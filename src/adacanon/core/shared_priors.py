"""Priors with one shared form for the whole answer: one search instead of one per class."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.arguments import set_whole_numbers
from adacanon.core.prior import TURN_MAPS_BACK, Prior
from adacanon.errors import InputError, ShapeError


@dataclass(frozen=True, repr=False)
class PlacePrior(Prior):
    """A prior that looks at every point or pixel of the answer, and at its channels there.

    The search ranks by the sum over points or pixels; a temperature weighs forms by the mean over the real ones, so
    that it means the same for inputs of all sizes.

    Args:
        axis: of the channels; -1 for (pairs, channels) and (pairs, points, channels), 1 for maps of pixels (pairs,
            channels, height, width).

    Example:
        >>> from adacanon.core import LargestScore
        >>> isinstance(LargestScore(), PlacePrior), LargestScore(axis=1)
        (True, LargestScore(axis=1))
    """

    axis: int = -1

    def __post_init__(self) -> None:
        if not isinstance(self.axis, bool) and hasattr(self.axis, "__index__"):
            set_whole_numbers(self, "axis")
        if type(self.axis) is not int or self.axis == 0:
            raise InputError(
                f"{type(self).__name__} needs the axis of the channels, a whole number that is not that of the pairs, "
                f"got {self.axis!r}. Hint: -1 for channels last, 1 for maps of pixels"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.axis == -1 else f'axis={self.axis}'})"

    @property
    def shared(self) -> bool:
        return True

    @abstractmethod
    def of_places(self, outputs: Tensor) -> Tensor:
        """Values (pairs, points or pixels) of outputs whose channels are last, (pairs, points or pixels, channels)."""

    def ranks_of_places(self, outputs: Tensor) -> Tensor:
        """The same, up to a constant; zero where the network answers padding with zeros."""
        return self.of_places(outputs)

    def __call__(self, outputs: Tensor) -> Tensor:
        return self.of_places(self._channels_last(outputs)).sum(1, keepdim=True)

    def rank(self, outputs: Tensor) -> Tensor:
        return self.rank_among(outputs, None)

    def rank_among(self, outputs: Tensor, real: Tensor | None) -> Tensor:
        ranks, _ = self._of_real_places(outputs, real)
        return ranks.sum(1, keepdim=True)

    def confidence(self, outputs: Tensor, real: Tensor | None) -> Tensor:
        ranks, number = self._of_real_places(outputs, real)
        return ranks.sum(1, keepdim=True) / number

    def _of_real_places(self, outputs: Tensor, real: Tensor | None) -> tuple[Tensor, Tensor | int]:
        """Ranks (pairs, places), zero where nothing real is, and how many real ones there are."""
        ranks = self.ranks_of_places(self._channels_last(outputs))
        if real is None or outputs.dim() < 3:
            return ranks, ranks.shape[1]
        if real.shape != ranks.shape:
            self._check_axis(outputs, real.shape[1])
            return ranks, ranks.shape[1]
        return torch.where(real | ranks.isnan(), ranks, 0.0), real.sum(1, keepdim=True)

    def _check_axis(self, outputs: Tensor, points: int) -> None:
        """Where the points of a cloud stand on the axis of the channels, that axis is the wrong one."""
        if outputs.shape[self.axis] == points:
            raise ShapeError(
                f"{self!r} takes axis {self.axis} for the channels, but in outputs {tuple(outputs.shape)} it holds the "
                f"{points} points. Hint: {type(self).__name__}(axis={-1 if self.axis == 1 else 1})"
            )

    def _channels_last(self, outputs: Tensor) -> Tensor:
        """(pairs, places, channels)"""
        axis = self.axis if self.axis > 0 else outputs.dim() + self.axis
        most = 3 if self.axis == -1 else 4
        if not 2 <= outputs.dim() <= most or not 0 < axis < outputs.dim():
            hint = TURN_MAPS_BACK if outputs.dim() > 3 else "Hint: outputs.unsqueeze(-1) for a single score"
            raise ShapeError(
                f"{self!r} expects outputs of shape (pairs, classes) or (pairs, points, classes), with axis=1 also "
                f"(pairs, classes, height, width), got {tuple(outputs.shape)}. {hint}"
            )
        channels = outputs.shape[axis]
        return outputs.movedim(axis, -1).reshape(outputs.shape[0], -1, channels)


@dataclass(frozen=True, repr=False)
class NegativeEntropy(PlacePrior):
    r"""One shared form for all outputs, the one of least entropy:
    :math:`h(x) = \sum_n \sum_d p_{nd} \log p_{nd}` with :math:`p_n` the softmax over classes of point or pixel n.

    The search ranks by :math:`h + N\log D` for N points and D classes: what is certain of nothing, such as padding that
    a network answers with zeros, adds nothing to it, and rounds nothing away.

    Args:
        axis: of the classes; -1 for (pairs, classes) and (pairs, points, classes), 1 for maps (pairs, classes, height,
            width).

    Example:
        >>> NegativeEntropy()(torch.tensor([[[0.0, 0.0], [99.0, 0.0]]]))
        tensor([[-0.6931]])
    """

    def of_places(self, outputs: Tensor) -> Tensor:
        log_p = outputs.log_softmax(-1)
        plogp = torch.where(log_p == -torch.inf, 0.0, log_p.exp() * log_p)  # NaN stays NaN, which searches refuse
        return plogp.sum(-1)

    def ranks_of_places(self, outputs: Tensor) -> Tensor:
        certain_of_nothing = torch.tensor(outputs.shape[-1], dtype=torch.float64).log()
        return self.of_places(outputs) + float(certain_of_nothing)


@dataclass(frozen=True, repr=False)
class LargestScore(PlacePrior):
    r"""One shared form for all classes, the one with the largest score: :math:`h(x) = \max_d x_d`, for answers per
    point or pixel their sum.

    The class that it names is the one that :class:`~adacanon.core.prior.ClassScore` names, after one search instead of
    one per class; the scores of the other classes are those on its form.

    Example:
        >>> LargestScore()(torch.tensor([[1.0, 3.0, 2.0]]))
        tensor([[3.]])
    """

    def of_places(self, outputs: Tensor) -> Tensor:
        return outputs.amax(-1)


@dataclass(frozen=True, repr=False)
class LogSumExp(PlacePrior):
    r"""One shared form for all classes, that of the largest :math:`h(x) = \log\sum_d e^{x_d}`: the smooth version of
    :class:`LargestScore`, whose gradient reaches every class; for answers per point or pixel their sum.

    Example:
        >>> LogSumExp()(torch.tensor([[0.0, 0.0]]))
        tensor([[0.6931]])
    """

    def of_places(self, outputs: Tensor) -> Tensor:
        return outputs.logsumexp(-1)


@dataclass(frozen=True, repr=False)
class Confidence(PlacePrior):
    r"""The network itself says how sure it is: the last channel of its output is the confidence c, and the answer is
    the rest. Answers per point or pixel have a confidence each, and the form has their mean.

    Confidences are trained through the blend of a temperature, :math:`w_i \propto e^{c_i/\tau}`. With temperature 0
    nothing tells them what to be, unless the loss does.

    Args:
        axis: of the channels, as in :class:`NegativeEntropy`.

    Example:
        >>> outputs = torch.tensor([[1.0, 2.0, 0.5]])
        >>> Confidence()(outputs), Confidence().answers_of(outputs)
        (tensor([[0.5000]]), tensor([[1., 2.]]))
    """

    def of_places(self, outputs: Tensor) -> Tensor:
        return outputs[..., -1].masked_fill(outputs.isnan().any(-1), torch.nan)

    def __call__(self, outputs: Tensor) -> Tensor:
        return self.of_places(self._channels_last(outputs)).mean(1, keepdim=True)

    def answers_of(self, outputs: Tensor) -> Tensor:
        channels = outputs.shape[self.axis] if outputs.dim() > 1 else 0
        if channels < 2:
            raise ShapeError(
                f"{self!r} takes the last channel of the outputs for the confidence and needs at least one more for "
                f"the answer, got outputs of shape {tuple(outputs.shape)}. "
                "Hint: give the network one output more, or prior=EqualWeights() with temperature=float('inf')"
            )
        return outputs.narrow(self.axis, 0, channels - 1)


@dataclass(frozen=True)
class EqualWeights(Prior):
    """All forms count the same, whatever the network says: with a temperature of infinity the mean of their answers,
    carried back. For regression without a confidence.

    Example:
        >>> EqualWeights()(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[0.],
                [0.]])
    """

    @property
    def shared(self) -> bool:
        return True

    def __call__(self, outputs: Tensor) -> Tensor:
        rows = outputs.flatten(1) if outputs.dim() > 1 else outputs.unsqueeze(1)
        return torch.where(rows.isnan().any(1, keepdim=True), torch.nan, torch.zeros_like(rows[:, :1]))


SHARED: dict[str, Prior] = {"largest score": LargestScore(), "log-sum-exp": LogSumExp()}
"""Priors with one form for all classes, by the names that settings of experiments give them."""
