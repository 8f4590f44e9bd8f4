"""What a batch of clouds and its mask must look like; every function on clouds checks with these."""

import torch
from torch import Tensor

from adacanon.errors import InputError, ShapeError


def check_clouds(caller: str, points: Tensor, channels: int | None = None, *, mask: Tensor | None = None) -> None:
    """Refuse what is not a floating-point tensor (batch, points, channels) with at least one point per cloud, all real
    ones finite.
    """
    expected = f"{caller} expects points of shape (batch, points, {channels or 'channels'})"
    if not isinstance(points, Tensor):
        raise ShapeError(f"{expected}, got {type(points).__name__}. Hint: {_hint_without_tensor(points)}")
    if points.dim() != 3 or (channels is not None and points.shape[-1] != channels):
        raise ShapeError(f"{expected}, got {tuple(points.shape)}. Hint: {_hint(points, channels)}")
    if points.shape[1] == 0:
        raise ShapeError(f"{expected}, got clouds without points. Hint: drop them from the data set")
    if not points.is_floating_point():
        raise InputError(f"{caller} expects floating-point coordinates, got {points.dtype}. Hint: points.float()")
    if not torch.compiler.is_compiling():
        check_finite(caller, points, mask)


def check_finite(caller: str, points: Tensor, mask: Tensor | None) -> None:
    """Refuse clouds (batch, points, channels) whose real points are not all finite."""
    if bool(points.detach().sum().isfinite()):  # a sum that is finite has finite terms
        return
    bad = ~points.isfinite().all(2)
    bad = bad if mask is None or mask.shape != bad.shape or mask.dtype != torch.bool else bad & mask
    if bool(bad.any()):
        raise InputError(
            f"{caller} expects finite coordinates, {int(bad.sum())} points have NaN or infinite ones, the first in "
            f"cloud {int(bad.any(1).int().argmax())}. Hint: repair the data, or lower the learning rate if a network "
            "computed them"
        )


def check_mask(caller: str, mask: Tensor, points: Tensor, *, least: int = 1) -> None:
    """Refuse a mask that does not fit, or that leaves some cloud fewer than ``least`` points."""
    expected = f"{caller} expects a mask of shape {tuple(points.shape[:2])}, True for real points"
    if not isinstance(mask, Tensor):
        raise ShapeError(f"{expected}, got {type(mask).__name__}. Hint: torch.as_tensor(mask)")
    if mask.shape != points.shape[:2] or mask.dtype != torch.bool:
        hint = "mask.bool(), one per point"
        if mask.dtype == torch.bool:
            hint = "one per point; give categories as numbers"
        raise ShapeError(f"{expected}, got {tuple(mask.shape)} of {mask.dtype}. Hint: {hint}")
    real = mask.sum(1)
    if len(real) and int(real.min()) < least:
        cloud = int(real.argmin())
        raise InputError(
            f"{caller} needs at least {least} real point{'s' * (least > 1)} in every cloud, "
            f"cloud {cloud} has {int(real[cloud])}. Hint: ask for fewer, or drop the cloud"
        )


def check_enough(caller: str, points: Tensor, least: int) -> None:
    """Refuse clouds of fewer than ``least`` places."""
    if points.shape[1] < least:
        raise InputError(
            f"{caller} needs at least {least} points in every cloud, got {points.shape[1]}. "
            "Hint: sample more points, or ask for fewer neighbours or centres"
        )


def _hint_without_tensor(points: object) -> str:
    if isinstance(points, tuple | list) and any(isinstance(x, Tensor) for x in points):
        return "a network takes a mask or a category beside the points as further arguments: Unpacked(network)"
    return "torch.as_tensor(points)"


def _hint(points: Tensor, channels: int | None) -> str:
    if points.dim() == 2:
        return "add the batch, points[None]"
    if points.dim() == 3 and channels in points.shape[1:2]:
        return "move the coordinates last, points.mT"
    return "the last axis holds the coordinates of a point" + (f", channels={points.shape[-1]}" if points.dim() else "")
