"""Mean and covariance by a function of our own: the values and derivatives of the obvious one."""

import pytest
import torch
from torch import Tensor

from adacanon.points.moments import CACHED_ROWS, moments


def obvious(rows: Tensor) -> tuple[Tensor, Tensor]:
    centred = rows - rows.mean(0)
    return rows.mean(0), centred.T @ centred / len(rows)


def rows_of(count: int, *, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(count), dtype=dtype) + 3


@pytest.mark.parametrize("count", [1, 2, 17, CACHED_ROWS, 2 * CACHED_ROWS + 3])
def test_values_and_gradients(count: int) -> None:
    rows, same = (rows_of(count).requires_grad_() for _ in range(2))
    weights = torch.randn(5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for found, expected in zip(moments(rows), obvious(same), strict=True):
        torch.testing.assert_close(found, expected)
    for points, function in ((rows, moments), (same, obvious)):
        mean, covariance = function(points)
        ((mean * weights[:, 0]).sum() + (covariance * weights[:, 1:]).sum().sin()).backward()
    torch.testing.assert_close(rows.grad, same.grad)


def test_derivatives_of_any_order() -> None:
    rows = rows_of(6).requires_grad_()
    assert torch.autograd.gradcheck(moments, (rows,))
    assert torch.autograd.gradgradcheck(moments, (rows,))


def test_rows_far_from_zero_lose_nothing() -> None:
    """The mean is taken off before squaring: in float32, squares of 10,000 would leave no digit of a variance of 1."""
    rows = rows_of(20_000, dtype=torch.float32) + 1e4
    expected = obvious(rows.double())[1]
    torch.testing.assert_close(moments(rows)[1].double(), expected, atol=2e-2, rtol=0)
