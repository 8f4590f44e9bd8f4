"""A linear layer and its batch normalization as one linear map."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.errors import InputError
from adacanon.points.moments import moments
from adacanon.points.recomputed import is_large


class NormalizedLinear(nn.Module):
    r"""Batch normalization of :math:`z = Wx`, folded into the layer: :math:`x \mapsto W'x + b'` with

    .. math:: W' = \mathrm{diag}(s)\,W, \quad b' = \beta - s\mu, \quad s = \gamma / \sqrt{v + \epsilon}.

    In evaluation :math:`\mu, v` are the running statistics. In training they follow from the layer's input,
    :math:`\mu = W\bar x` and :math:`v = \mathrm{diag}(W\,\mathrm{Cov}(x)\,W^\top)`. So the products z are never
    normalised one by one in either mode, and a caller that needs only some of them (a maximum over many rows) takes
    :meth:`folded` and leaves the others out. Values, gradients and running statistics are those of ``nn.Linear``
    and ``nn.BatchNorm1d`` up to rounding; hooks of the two modules are not called, and statistics are per process.

    It pays where rows are many and inputs are narrow: Cov(x) costs rows x inputs². Where products are wanted one by
    one and inputs are wide, ``fold_batches=False`` normalises a batch in training as the two modules do, unless it is
    so large that memory is worth more than time.

    Args:
        inputs: columns of a row.
        outputs: columns of the answer.
        batch_norm: without it, an ordinary linear layer with a bias.
        fold_batches: fold in training too, not only in evaluation and for large batches.

    Shape:
        (rows, inputs) -> (rows, outputs)
    """

    def __init__(self, inputs: int, outputs: int, *, batch_norm: bool = True, fold_batches: bool = True) -> None:
        super().__init__()
        self.fold_batches = fold_batches
        self.linear = nn.Linear(inputs, outputs, bias=not batch_norm)
        self.norm = nn.BatchNorm1d(outputs) if batch_norm else None

    def forward(self, rows: Tensor) -> Tensor:
        if self.norm is not None and self.norm.training and not (self.fold_batches or is_large(rows)):
            return self.norm(self.linear(rows))
        return functional.linear(rows, *self.folded(rows))

    def of_parts(self, parts: Sequence[Tensor]) -> list[Tensor]:
        """The same of rows that are kept in several parts, with common statistics."""
        weight, bias = self.folded(*parts)
        return [functional.linear(rows, weight, bias) for rows in parts]

    def folded(self, *parts: Tensor) -> tuple[Tensor, Tensor]:
        """:math:`W'` (outputs, inputs) and :math:`b'` (outputs,) for rows in one part or several; in training, updates
        the running statistics.
        """
        weight, norm = self.linear.weight, self.norm
        if norm is None:
            return weight, self.linear.bias
        if not isinstance(norm, nn.BatchNorm1d):
            raise InputError(
                f"NormalizedLinear folds BatchNorm1d, got {type(norm).__name__}. "
                "Hint: its statistics are per process, do not convert it to SyncBatchNorm"
            )
        with torch.autocast(weight.device.type, enabled=False):
            mean, variance = self._of_batch(parts, norm) if norm.training else running_statistics(norm)
            scale = norm.weight * (variance + norm.eps).rsqrt()
            return weight * scale[:, None], norm.bias - mean * scale

    def _of_batch(self, parts: Sequence[Tensor], norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
        """Mean and variance of the products over the rows of a batch."""
        weight = self.linear.weight
        centre, covariance = moments(*(rows.to(weight.dtype) for rows in parts))
        mean, variance = weight @ centre, ((weight @ covariance) * weight).sum(1).clamp(min=0)
        track(norm, mean.detach(), variance.detach(), sum(len(rows) for rows in parts))
        return mean, variance


def running_statistics(norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """Mean and variance that evaluation takes."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    return norm.running_mean, norm.running_var


def track(norm: nn.BatchNorm1d, mean: Tensor, variance: Tensor, rows: int) -> None:
    """What a training call of ``BatchNorm1d`` does to its buffers; a batch of no rows leaves them as they are."""
    if rows == 0:
        return
    assert norm.num_batches_tracked is not None
    running_mean, running_variance = running_statistics(norm)
    norm.num_batches_tracked += 1
    share = 1 / int(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
    running_mean.lerp_(mean, share)
    running_variance.lerp_(variance * (rows / max(rows - 1, 1)), share)
