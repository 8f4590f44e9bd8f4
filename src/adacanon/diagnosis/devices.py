"""A network that is computed on another device than its inputs."""

import torch
from torch import Tensor, nn

from adacanon.diagnosis.models import Network
from adacanon.errors import InputError


class OnDevice(nn.Module):
    """A network on a device, whose inputs come from the processor and whose scores go back there.

    Example:
        >>> network = on_device(nn.Linear(3, 2), "cpu")
        >>> network(torch.zeros(5, 3)).shape
        torch.Size([5, 2])
    """

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        super().__init__()
        self.module, self.device = module.to(device), device

    def forward(self, inputs: Tensor) -> Tensor:
        return self.module(inputs.to(self.device)).to(inputs.device)


def on_device(network: Network, kind: str) -> Network:
    """The network on a device; a function, which cannot be moved, is refused anywhere but on the processor."""
    if kind == "cpu":
        return network
    if not isinstance(network, nn.Module):
        raise InputError(
            f"{type(network).__name__} cannot be moved to {kind}: it is no torch.nn.Module. Hint: --device cpu"
        )
    return OnDevice(network, torch.device(kind))
