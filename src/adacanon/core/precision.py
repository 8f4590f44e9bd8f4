"""The precision in which a network runs within a search."""

from collections.abc import Callable

import torch
from torch import Tensor

from adacanon.core.family import Fused
from adacanon.core.pytree import Tree

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
