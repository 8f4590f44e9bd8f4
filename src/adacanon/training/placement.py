"""Samples on a device: moved once where they fit, batch by batch where they do not."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import torch
from torch import Tensor

from adacanon.training.learner import Inputs, LookedUp

SHARE = 0.5
"""Of the free memory of a device that the samples of a table may take."""


def on_device(value: Any, device: torch.device) -> Any:
    """A value with all its tensors on a device: tensors, containers and records of them, and what has its own ``to``.

    Example:
        >>> on_device((torch.zeros(2), {"a": [torch.ones(1)], "b": 3}), torch.device("meta"))
        (tensor(..., device='meta', size=(2,)), {'a': [tensor(..., device='meta', size=(1,))], 'b': 3})
    """
    if isinstance(value, dict):
        return {name: on_device(one, device) for name, one in value.items()}
    if isinstance(value, list | tuple):
        moved = [on_device(one, device) for one in value]
        return type(value)(*moved) if hasattr(value, "_fields") else type(value)(moved)
    if hasattr(value, "to"):
        return value.to(device)
    if is_dataclass(value) and not isinstance(value, type):
        moved_fields = {one.name: on_device(getattr(value, one.name), device) for one in fields(value) if one.init}
        return replace(value, **moved_fields)
    return value


def inputs_on(inputs: Inputs, device: torch.device) -> Inputs:
    """The same inputs on a device. Rows of one object are moved with it, now; others when they are asked for.

    Example:
        >>> from adacanon.training.learner import looked_up
        >>> inputs_on(looked_up(torch.zeros(5, 2)), torch.device("meta"))(torch.tensor([0, 1]))[0].shape
        torch.Size([2, 2])
    """
    if isinstance(inputs, LookedUp) and bytes_of(inputs.samples) <= room_on(device):
        samples = on_device(inputs.samples, device)
        return lambda index: (samples[index.to(device)],)
    return lambda index: on_device(inputs(index), device)


def bytes_of(value: Any) -> int:
    """Of all tensors in a value, as far as they can be seen.

    Example:
        >>> bytes_of([torch.zeros(3), {"a": torch.zeros(2, dtype=torch.float64)}])
        28
    """
    if isinstance(value, Tensor):
        return value.numel() * value.element_size()
    if isinstance(value, dict):
        return sum(map(bytes_of, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(bytes_of, value))
    if is_dataclass(value):
        return sum(bytes_of(getattr(value, one.name)) for one in fields(value))
    return 0


def room_on(device: torch.device) -> float:
    """Bytes that samples may take; of devices that do not tell, the memory is that of the processor."""
    if device.type != "cuda":
        return float("inf")
    free, _ = torch.cuda.mem_get_info(device)
    return SHARE * free
