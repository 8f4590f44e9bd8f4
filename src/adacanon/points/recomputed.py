"""Tensors that are computed again for their gradient where keeping them would take gigabytes."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

KEPT_BYTES = 2**27
"""Tensors up to this size are kept: memory is there, and computing them again would only cost time."""


def is_large(tensor: Tensor) -> bool:
    """Whether a tensor is better computed again than kept."""
    return torch.is_grad_enabled() and tensor.nbytes > KEPT_BYTES


def recomputed(tensor: Tensor, compute: Callable[[], Tensor]) -> AbstractContextManager[Any]:
    """Inside the block, operations that need ``tensor`` for their gradient call ``compute`` instead of keeping it.

    Args:
        tensor: what the operations are given.
        compute: gives the same values again, from tensors that are kept anyway.

    Example:
        >>> x = torch.ones(3, requires_grad=True)
        >>> y = x.detach() + 1
        >>> with recomputed(y, lambda: x.detach() + 1):
        ...     z = x * y
        >>> z.sum().backward()
        >>> x.grad
        tensor([2., 2., 2.])
    """
    if not is_large(tensor):
        return nullcontext()
    place, shape = tensor.data_ptr(), tensor.shape

    def pack(saved: Tensor) -> Tensor | Callable[[], Tensor]:
        return compute if saved.data_ptr() == place and saved.shape == shape else saved

    def unpack(kept: Tensor | Callable[[], Tensor]) -> Tensor:
        return kept if isinstance(kept, Tensor) else kept()

    return saved_tensors_hooks(pack, unpack)
