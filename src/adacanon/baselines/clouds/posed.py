"""What wrappers that turn clouds have in common: whatever stands beside the points is handed on."""

import torch
from torch import Tensor, nn

from adacanon.errors import InputError
from adacanon.points.checks import check_clouds, check_mask


def called(network: nn.Module, *inputs: Tensor, mask: Tensor | None) -> Tensor:
    """The network's answer; one that knows no masks is asked without."""
    return network(*inputs) if mask is None else network(*inputs, mask=mask)


def turned(points: Tensor, rotations: Tensor) -> Tensor:
    r""":math:`XR^\top`, never in reduced precision: geometry is not autocast."""
    with torch.autocast(points.device.type, enabled=False):
        return points @ rotations.to(points.dtype).mT


def check_posed(caller: str, points: Tensor, others: tuple[Tensor, ...], mask: Tensor | None) -> None:
    """Refuse inputs that a rotation cannot act on, and a mask that was not given as ``mask=``: it would be ignored."""
    check_clouds(caller, points, 3, mask=mask)
    if any(x.dtype == torch.bool and x.shape == points.shape[:2] for x in others):
        raise InputError(f"{caller} takes a mask by its name. Hint: model(points, mask=mask)")
    if mask is not None:
        check_mask(caller, mask, points)
