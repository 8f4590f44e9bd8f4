"""The metric on multisets (paper: appendix "Universal Approximation of Multi-Sets Functions")."""

import torch
from torch import Tensor

from adacanon.errors import ShapeError
from adacanon.extras import optional


def multiset_distance(x: Tensor, y: Tensor) -> Tensor:
    r""":math:`d([X],[Y]) = \min_{s \in S_N} \|X - \rho(s)Y\|`, an optimal assignment of the rows.

    Shape:
        two arrays (points, channels) -> a scalar

    Example:
        >>> x = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
        >>> float(multiset_distance(x, x.flip(0)))
        0.0
    """
    with optional("multiset_distance"):
        from scipy.optimize import linear_sum_assignment

    if x.dim() != 2 or x.shape != y.shape:
        raise ShapeError(
            f"multiset_distance expects two arrays (points, channels), got {tuple(x.shape)} and {tuple(y.shape)}"
        )
    squared = torch.cdist(x.double(), y.double(), compute_mode="donot_use_mm_for_euclid_dist").square()
    rows, columns = linear_sum_assignment(squared.detach().cpu().numpy())
    matched = (torch.as_tensor(index, device=squared.device) for index in (rows, columns))
    return squared[tuple(matched)].sum().sqrt()
