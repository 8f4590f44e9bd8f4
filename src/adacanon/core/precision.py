"""The precision in which a network runs within a search."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.family import Fused
from adacanon.core.pytree import Tree, map_tensors

Network = Callable[[Tree], Tensor]


def in_precision(network: Network, device: str, dtype: torch.dtype | None) -> Network:
    """The network under autocast to ``dtype``, or as it is; what surrounds it keeps its own precision."""
    if dtype is None:
        return network

    def evaluate_under_autocast(forms: Tree) -> Tensor:
        with torch.autocast(device, dtype=dtype):
            return network(forms)

    return evaluate_under_autocast


class _UnderAutocast(Fused):
    def __init__(self, fused: Fused, device: str, dtype: torch.dtype) -> None:
        self.outputs = in_precision(fused, device, dtype)

    def __call__(self, u: Tree) -> Tensor:
        return self.outputs(u)


def fused_in_precision(fused: Fused, device: str, dtype: torch.dtype) -> Fused:
    """The same under autocast, for ranking candidates alone."""
    return _UnderAutocast(fused, device, dtype)


def callers_precision(device: str) -> torch.dtype | None:
    """That of the autocast around, or None."""
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def reduced_precision(device: str) -> torch.dtype | None:
    """bfloat16 where the hardware multiplies matrices in it, or None: elsewhere it is emulated, and slower."""
    if device == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else None
    found = torch.cpu.get_capabilities() if device == "cpu" else {}
    return torch.bfloat16 if found.get("amx_bf16") or found.get("avx512_bf16") else None


def in_precision_of(network: Any, g: Tree) -> Tree:
    """Floating numbers in the one precision that the parameters of a network have; as they are if it has none or
    several.

    Example:
        >>> in_precision_of(nn.Linear(1, 1).double(), (torch.ones(2), torch.arange(2)))
        (tensor([1., 1.], dtype=torch.float64), tensor([0, 1]))
    """
    own = {p.dtype for p in network.parameters() if p.is_floating_point()} if isinstance(network, nn.Module) else set()
    if len(own) != 1:
        return g
    (dtype,) = own
    return map_tensors(lambda leaf: leaf.to(dtype) if leaf.is_floating_point() else leaf, g)
