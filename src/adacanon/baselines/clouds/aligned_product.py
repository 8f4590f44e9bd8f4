"""Matrix products whose results have rows that begin at multiples of 32 bytes.

Vector neurons have a third of the usual channels, odd numbers such as 341. MKL takes half as long again to write
matrices whose rows are so long; into the first columns of a slightly wider one it writes them at full speed.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from adacanon.errors import InputError

ALIGNED = 8
"""Numbers of single precision in 32 bytes."""


def product(rows: Tensor, weight: Tensor) -> Tensor:
    r""":math:`x \mapsto Wx`, the values of ``functional.linear``; the answer may be a view into a wider array.

    Shape:
        rows (..., inputs), weight (outputs, inputs) -> (..., outputs)

    Example:
        >>> product(torch.ones(2, 3), torch.ones(5, 3)).shape
        torch.Size([2, 5])
    """
    if weight.dtype in (torch.float16, torch.bfloat16):
        raise InputError(
            f"Vector neurons have weights of float32 or float64, got {weight.dtype}: lengths and angles need them. "
            "Hint: model.float(), and torch.autocast for reduced precision"
        )
    aligned = not any(size % ALIGNED for size in weight.shape)
    if aligned or rows.device.type != "cpu" or torch.is_autocast_enabled("cpu"):
        return functional.linear(rows, weight)
    return _Product.apply(rows.flatten(0, -2), weight).unflatten(0, rows.shape[:-1])


def _into_wider(x: Tensor, y: Tensor) -> Tensor:
    outputs = y.shape[1]
    wider = x.new_empty(len(x), -(-outputs // ALIGNED) * ALIGNED)
    return torch.mm(x, y, out=wider[:, :outputs])


class _Product(torch.autograd.Function):
    """Its derivatives are products again, and so on."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(rows, weight)
        return _into_wider(rows, weight.T)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        rows, weight = ctx.saved_tensors
        by_rows = _Product.apply(gradient, weight.T) if ctx.needs_input_grad[0] else None
        return by_rows, gradient.T @ rows if ctx.needs_input_grad[1] else None
