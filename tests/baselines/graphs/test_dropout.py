"""Dropout with masks that are drawn four at a time is dropout."""

import pytest
import torch
from torch import nn

from adacanon.baselines.graphs.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9])
def test_a_unit_stays_with_probability_one_minus_p_and_is_scaled_by_its_inverse(p: float) -> None:
    torch.manual_seed(0)
    found = Dropout(p)(torch.ones(1001, 999))
    stays = found > 0
    assert abs(float(stays.float().mean()) - (1 - p)) < 0.002
    assert torch.allclose(found[stays], torch.tensor(1 / (1 - p)), rtol=1e-4)
    assert abs(float(found.mean()) - 1) < 0.01


def test_units_are_dropped_independently_of_their_neighbours() -> None:
    torch.manual_seed(0)
    kept = (Dropout(0.5)(torch.ones(10**6)) > 0).double() - 0.5
    for lag in (1, 2, 3, 4, 5, 8):
        assert abs(float((kept[lag:] * kept[:-lag]).mean())) < 0.001  # 4 standard errors


def test_gradients_pass_where_units_stay() -> None:
    x = torch.ones(7, 5, requires_grad=True)
    found = Dropout(0.5)(x)
    found.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, found.detach())


def test_a_seed_repeats_the_mask() -> None:
    layer, x = Dropout(0.3), torch.ones(50, 3)
    torch.manual_seed(5)
    first = layer(x)
    torch.manual_seed(5)
    assert torch.equal(layer(x), first)
    assert not torch.equal(layer(x), first)


@pytest.mark.parametrize("p", [0.0, 1e-9])
def test_nothing_is_dropped_with_a_probability_that_rounds_to_zero(p: float) -> None:
    x = torch.randn(4, 3)
    assert torch.equal(Dropout(p)(x), x)


def test_everything_is_dropped_with_probability_one() -> None:
    assert torch.equal(Dropout(1.0)(torch.randn(4, 3)), torch.zeros(4, 3))


def test_evaluation_leaves_values_and_no_units() -> None:
    x = torch.randn(4, 3)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert Dropout(0.5)(torch.zeros(0, 3)).shape == (0, 3)
    assert isinstance(Dropout(0.5), nn.Dropout)


def test_half_precision_and_double() -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        assert Dropout(0.5)(torch.ones(8, 8, dtype=dtype)).dtype == dtype
