"""What wrappers that turn clouds have in common: whatever stands beside the points is handed on."""

from typing import Literal

import torch
from torch import Tensor, nn

from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.points.checks import check_clouds, check_mask

Answers = Literal["invariant", "vectors"]
"""How an answer moves with the cloud: not at all, or as a vector turns."""


def called(network: nn.Module, *inputs: Tensor, mask: Tensor | None) -> Tensor:
    """The network's answer; one that knows no masks is asked without."""
    return network(*inputs) if mask is None else network(*inputs, mask=mask)


def turned(points: Tensor, rotations: Tensor) -> Tensor:
    r""":math:`XR^\top`, never in reduced precision: geometry is not autocast."""
    with torch.autocast(points.device.type, enabled=False):
        return points @ rotations.to(points.dtype).mT


def turned_back(vectors: Tensor, rotations: Tensor) -> Tensor:
    r""":math:`R^\top v`, for vectors (batch, 3) that a network has found in turned clouds."""
    if vectors.shape != rotations.shape[:2]:
        raise ShapeError(
            f'Answers of the kind "vectors" have shape {tuple(rotations.shape[:2])}, got {tuple(vectors.shape)}. '
            'Hint: answers="invariant" for scalars'
        )
    return turned(vectors.unsqueeze(1), rotations.mT).squeeze(1)


def check_answers(caller: str, answers: str) -> None:
    """Refuse kinds of answers that do not exist."""
    if answers not in ("invariant", "vectors"):
        raise UnknownNameError(f'{caller} has the answers "invariant" and "vectors", got {answers!r}')


def check_posed(caller: str, points: Tensor, others: tuple[Tensor, ...], mask: Tensor | None) -> None:
    """Refuse inputs that a rotation cannot act on, and a mask that was not given as ``mask=``: it would be ignored."""
    check_clouds(caller, points, 3, mask=mask)
    if any(x.dtype == torch.bool and x.shape == points.shape[:2] for x in others):
        raise InputError(f"{caller} takes a mask by its name. Hint: model(points, mask=mask)")
    if mask is not None:
        check_mask(caller, mask, points)
