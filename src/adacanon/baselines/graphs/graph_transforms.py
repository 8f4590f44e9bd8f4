r"""Products with one small matrix for each graph of a batch, without padding to the largest graph.

The rows of a basis (nodes, m) are the nodes of all graphs, one after the other: :math:`B_i` is the stretch of graph i.
"""

from typing import Any

import torch
from torch import Tensor

Sizes = tuple[int, ...]


def to_spectrum(basis: Tensor, x: Tensor, sizes: Sizes) -> Tensor:
    r""":math:`B_i^\top x_i` for every graph.

    Shape:
        basis (nodes, m), x (nodes, channels) -> (graphs, m, channels)

    Example:
        >>> to_spectrum(torch.ones(3, 1), torch.tensor([[1.0], [2.0], [3.0]]), (1, 2)).flatten().tolist()
        [1.0, 5.0]
    """
    return _Product.apply(basis, x, sizes, True)


def to_nodes(basis: Tensor, coefficients: Tensor, sizes: Sizes) -> Tensor:
    r""":math:`B_i c_i` for every graph.

    Shape:
        basis (nodes, m), coefficients (graphs, m, channels) -> (nodes, channels)
    """
    return _Product.apply(basis, coefficients, sizes, False)


class _Product(torch.autograd.Function):
    """Either product; the gradients of each are products of the same two kinds."""

    @staticmethod
    def forward(ctx: Any, basis: Tensor, other: Tensor, sizes: Sizes, transposed: bool) -> Tensor:
        ctx.save_for_backward(basis, other)
        ctx.sizes, ctx.transposed = sizes, transposed
        return (_spectra if transposed else _nodes)(basis, other, sizes)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        basis, other = ctx.saved_tensors
        needs_basis, needs_other = ctx.needs_input_grad[:2]
        of_basis = of_other = None
        if needs_basis:
            left, right = (other, gradient.mT) if ctx.transposed else (gradient, other.mT)
            of_basis = _Product.apply(left, right, ctx.sizes, False)
        if needs_other:
            of_other = _Product.apply(basis, gradient, ctx.sizes, not ctx.transposed)
        return of_basis, of_other, None, None


def _spectra(basis: Tensor, x: Tensor, sizes: Sizes) -> Tensor:
    if len(set(sizes)) == 1:
        return _stacked(basis, sizes).mT @ _stacked(x, sizes)
    out = x.new_empty(len(sizes), basis.shape[1], x.shape[1])
    for b, v, o in zip(basis.split(sizes), x.split(sizes), out, strict=True):
        torch.mm(b.T, v, out=o)
    return out


def _nodes(basis: Tensor, coefficients: Tensor, sizes: Sizes) -> Tensor:
    if len(set(sizes)) == 1:
        return (_stacked(basis, sizes) @ coefficients).flatten(0, 1)
    out = coefficients.new_empty(len(basis), coefficients.shape[2])
    for b, c, o in zip(basis.split(sizes), coefficients, out.split(sizes), strict=True):
        torch.mm(b, c, out=o)
    return out


def _stacked(rows: Tensor, sizes: Sizes) -> Tensor:
    return rows.unflatten(0, (len(sizes), -1))
