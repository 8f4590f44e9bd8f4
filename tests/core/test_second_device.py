"""Models follow their inputs to another device: nothing of the CPU is mixed in, and answers stay the same."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    GridSearch,
    Maximizer,
    Objective,
    RandomSearch,
    SampleAndRefine,
)
from adacanon.points import DeepSet, PointNet, Rotations
from cases.virtual_device import MixedDevicesError, VirtualTensor, moved, virtual_device

SEARCHES: dict[str, Callable[[], Maximizer | None]] = {
    "default": lambda: None,
    "random": lambda: RandomSearch(6),
    "grid": lambda: GridSearch(8),
    "anchored": AnchoredSearch,
    "refined": lambda: SampleAndRefine(4, 2),
}


def network() -> nn.Module:
    torch.manual_seed(0)
    return PointNet(3).eval()


def clouds() -> Tensor:
    return torch.randn(3, 12, 3, generator=torch.Generator().manual_seed(1))


def on_cpu(values: Tensor) -> Tensor:
    assert isinstance(values, VirtualTensor)
    return values.detach().held


def test_the_virtual_device_refuses_to_mix() -> None:
    with virtual_device() as device:
        x = torch.randn(3).to(device)
        assert x.device.type == device.type
        assert torch.equal(on_cpu(x + x), 2 * on_cpu(x))
        with pytest.raises(MixedDevicesError, match="one device"):
            x + torch.randn(3)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("name", SEARCHES)
def test_answers_are_those_of_the_cpu(name: str, temperature: float) -> None:
    if temperature and name == "refined":
        pytest.skip("a refined search has no finite set of candidates")
    search = SEARCHES[name]()
    model = Canonicalized(network(), Rotations(), search, temperature=temperature).eval()
    expected = model(clouds())
    with virtual_device() as device:
        found = moved(model)(clouds().to(device))
        torch.testing.assert_close(on_cpu(found), expected)


def test_gradients_are_those_of_the_cpu() -> None:
    labels = torch.tensor([0, 2, 1])
    model = Canonicalized(DeepSet(3), Rotations()).eval()  # no dropout, whose draws would differ
    objective = Objective(model)
    objective(clouds(), labels).loss.backward()
    expected = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    with virtual_device() as device:
        moved(model)
        objective(clouds().to(device), labels.to(device)).loss.backward()
        found = [on_cpu(parameter.grad) for parameter in model.parameters() if parameter.grad is not None]
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
