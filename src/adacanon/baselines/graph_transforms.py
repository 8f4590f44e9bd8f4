r"""Products with one small matrix for each graph of a batch, without padding to the largest graph.

The rows of a basis (nodes, m) are the nodes of all graphs, one after the other: :math:`B_i` is the stretch of graph i.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Sizes = tuple[int, ...]


def to_spectrum(basis: Tensor, x: Tensor, sizes: Sizes) -> Tensor:
    r""":math:`B_i^\top x_i` for every graph.

    Shape:
        basis (nodes, m), x (nodes, channels) -> (graphs, m, channels)

    Example:
        >>> to_spectrum(torch.ones(3, 1), torch.tensor([[1.0], [2.0], [3.0]]), (1, 2)).flatten().tolist()
        [1.0, 5.0]
    """
    return _ToSpectrum.apply(basis, x, sizes)


def to_nodes(basis: Tensor, coefficients: Tensor, sizes: Sizes) -> Tensor:
    r""":math:`B_i c_i` for every graph.

    Shape:
        basis (nodes, m), coefficients (graphs, m, channels) -> (nodes, channels)
    """
    return _ToNodes.apply(basis, coefficients, sizes)


class _ToSpectrum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, basis: Tensor, x: Tensor, sizes: Sizes) -> Tensor:
        ctx.save_for_backward(basis, x)
        ctx.sizes = sizes
        return _spectra(basis, x, sizes)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        basis, x = ctx.saved_tensors
        for_basis, for_x, _ = ctx.needs_input_grad
        return (
            _nodes(x, gradient.mT, ctx.sizes) if for_basis else None,
            _nodes(basis, gradient, ctx.sizes) if for_x else None,
            None,
        )


class _ToNodes(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, basis: Tensor, coefficients: Tensor, sizes: Sizes) -> Tensor:
        ctx.save_for_backward(basis, coefficients)
        ctx.sizes = sizes
        return _nodes(basis, coefficients, sizes)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        basis, coefficients = ctx.saved_tensors
        for_basis, for_coefficients, _ = ctx.needs_input_grad
        return (
            _nodes(gradient, coefficients.mT, ctx.sizes) if for_basis else None,
            _spectra(basis, gradient, ctx.sizes) if for_coefficients else None,
            None,
        )


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
