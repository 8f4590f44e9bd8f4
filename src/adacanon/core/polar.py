"""The nearest rotation to a matrix, with a derivative that exists at rotations."""

from typing import Any

import torch
from torch import Tensor


def proper_rotations(matrices: Tensor) -> Tensor:
    r"""The rotation :math:`R = U\,\mathrm{diag}(1, \dots, 1, \det UV^\top)\,V^\top` nearest to
    :math:`A = U\Sigma V^\top`.

    It is not continuous: where the two smallest singular values cancel (a mean of poses that are half a turn apart) the
    nearest rotation is not unique, and it jumps.

    Shape:
        (..., n, n) -> (..., n, n)

    Example:
        >>> proper_rotations(torch.diag(torch.tensor([3.0, 2.0, -1.0]))).abs().round().int().tolist()
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    return _Nearest.apply(matrices)  # type: ignore[no-any-return]


class _Nearest(torch.autograd.Function):
    r"""With :math:`s = (\sigma_1, \dots, \pm\sigma_n)` and :math:`W = UD`,

    .. math:: dR = W\,\Big[\frac{W^\top dA\,V - V^\top dA^\top W}{s_i + s_j}\Big]_{ij}\,V^\top .

    The derivative of the factors themselves does not exist where singular values are equal, as they are at a rotation.
    """

    @staticmethod
    def forward(ctx: Any, matrices: Tensor) -> Tensor:
        with torch.autocast(matrices.device.type, enabled=False):
            u, s, vh = torch.linalg.svd(matrices)
            last = torch.ones_like(s)
            last[..., -1] = torch.det(u @ vh).sign()
            turned = u * last.unsqueeze(-2)
            ctx.save_for_backward(turned, s * last, vh)
            return turned @ vh

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        turned, s, vh = ctx.saved_tensors
        sums = s.unsqueeze(-1) + s.unsqueeze(-2)
        unique = sums > torch.finfo(s.dtype).eps * s[..., :1, None]
        with torch.autocast(s.device.type, enabled=False):
            inner = turned.mT @ gradients[0] @ vh.mT
            skew = torch.where(unique, (inner - inner.mT) / torch.where(unique, sums, 1.0), 0.0)
            return turned @ skew @ vh
