"""What the processes of a training have learned one by one becomes the same in all of them."""

from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, distributed, nn


@runtime_checkable
class LearnsByItself(Protocol):
    """A module that learns in forward passes, beside its parameters and buffers."""

    def learned(self) -> Any:
        """What this process has learned, in a form that can be sent to others."""

    def merge(self, learned: list[Any]) -> None:
        """Take over what all processes have learned, given in the order of their ranks."""


def synchronize(module: nn.Module, *, group: "distributed.ProcessGroup | None" = None) -> None:
    r"""Make a model the same in all processes of a data-parallel training, after each has learned from its own samples.

    Call it in all processes, after an epoch and before an evaluation. DistributedDataParallel keeps parameters alike;
    this is for the rest:

    - the winners that :class:`~adacanon.WithMemory` remembers: every process gets those of all samples;
    - calibrations: their moments become the mean over processes;
    - buffers: the mean over processes, such as running statistics of BatchNorm; whole numbers are those of the first.

    Without a process group, nothing has to be done, and nothing is.

    Args:
        module: a model, or an objective with a model in it.
        group: the processes that train it; all, if it is left out.

    Example:
        >>> from adacanon import Canonicalized
        >>> from adacanon.points import DeepSet, Rotations
        >>> synchronize(Canonicalized(DeepSet(3), Rotations()))  # one process
    """
    if not in_several_processes(group):
        return
    for part in module.modules():
        if isinstance(part, LearnsByItself):
            part.merge(_gathered(part.learned(), group))
    _average_buffers(module, group)


def in_several_processes(group: "distributed.ProcessGroup | None" = None) -> bool:
    """Whether this process is one of several of a group.

    Example:
        >>> in_several_processes()
        False
    """
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size(group) > 1


def _gathered(value: Any, group: "distributed.ProcessGroup | None") -> list[Any]:
    found: list[Any] = [None] * distributed.get_world_size(group)
    distributed.all_gather_object(found, value, group=group)
    return found


@torch.no_grad()
def _average_buffers(module: nn.Module, group: "distributed.ProcessGroup | None") -> None:
    """In float64, in which the mean of equal values is that value."""
    buffers = list(module.buffers())
    means = [buffer for buffer in buffers if buffer.is_floating_point()]
    if means:
        flat = torch.cat([buffer.flatten().double() for buffer in means])
        distributed.all_reduce(flat, group=group)
        flat /= distributed.get_world_size(group)
        for buffer, mean in zip(means, flat.split([buffer.numel() for buffer in means]), strict=True):
            buffer.copy_(mean.view_as(buffer))
    for buffer in buffers:
        if not buffer.is_floating_point():
            _take_from_first(buffer, group)


def _take_from_first(buffer: Tensor, group: "distributed.ProcessGroup | None") -> None:
    value = buffer.contiguous()
    distributed.broadcast(value, group=group, group_src=0)
    buffer.copy_(value)
