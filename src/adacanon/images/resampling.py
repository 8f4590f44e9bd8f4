r"""Affine maps of images, one map per image, each resampled once.

Conventions, here and in all families of images:

- Images have shape (batch, channels, height, width); rows run downwards.
- A point of the plane is (x, y), to the right and downwards from the centre of the image. The unit is the shorter side,
  so that a map means the same on a smaller copy of the image, and a rotation is one also where height and width differ.
- A map (2, 3) sends x to :math:`Lx + t` and moves the content: :math:`(\kappa_A g)(x) = g(A^{-1}x)`.
- Positive angles turn anticlockwise, as one sees it.
"""

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from adacanon.errors import InputError, UnknownNameError
from adacanon.images.checks import check_images, check_pairs
from adacanon.takes import takes, text

Outside = Literal["zero", "border", "reflection", "disc"]
"""What lies outside the image: nothing, its border continued, its mirror image; or nothing outside its inscribed disc,
so that no corner tells the angle."""

PADDING = {"zero": "zeros", "border": "border", "reflection": "reflection", "disc": "zeros"}

ROUNDING = 16
"""In units of the machine precision; maps that send pixels to pixels up to this give the pixels themselves."""


@takes(outside=text)
def check_outside(outside: str) -> None:
    """Refuse a name that means nothing."""
    if outside not in get_args(Outside):
        raise UnknownNameError(f"outside must be one of {', '.join(get_args(Outside))}, got {outside!r}")


def warp(images: Tensor, maps: Tensor, *, outside: Outside = "zero") -> Tensor:
    r""":math:`(\kappa_A g)(x) = g(A^{-1}x)`, bilinear between the centres of pixels.

    Continuous in maps and images, and differentiable in both. A map that sends pixels to pixels, up to rounding, gives
    the pixels exactly. Shrinking is not smoothed: a map to half the size sees every second pixel.

    Args:
        images: one per map.
        maps: invertible; conventions as at the top of this file.
        outside: what lies outside; "disc" is for images that have been cut by :func:`cut_disc`.

    Shape:
        images (pairs, channels, height, width), maps (pairs, 2, 3) -> as images

    Example:
        >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> warp(image, torch.tensor([[[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]))
        tensor([[[[2., 1.],
                  [4., 3.]]]])
    """
    check_images("warp", images)
    check_pairs("warp", "maps", maps, (images.shape[0], 2, 3))
    check_outside(outside)
    if images.shape[0] == 0:
        return images
    precision = torch.promote_types(images.dtype, torch.float32)
    pixels, backward = images.to(precision), inverse(maps.to(precision))
    values = _sampled(pixels, backward, mode="bilinear", padding=PADDING[outside])
    if torch.compiler.is_exporting():  # no choice by the values; pixels are then exact up to rounding
        return values.to(images.dtype)
    return _exact_on_pixels(values, pixels, backward, padding=PADDING[outside]).to(images.dtype)


def inverse(maps: Tensor) -> Tensor:
    """The inverse maps (..., 2, 3)."""
    a, b, c, d = maps[..., :2].flatten(-2).unbind(-1)
    determinant = a * d - b * c
    if not torch.compiler.is_exporting() and bool((determinant == 0).any()):
        raise InputError("A map of the plane must be invertible, got one of determinant 0. Hint: a smaller reach")
    linear = torch.stack([d, -b, -c, a], dim=-1).unflatten(-1, (2, 2)) / determinant[..., None, None]
    return torch.cat([linear, -linear @ maps[..., 2:]], dim=-1)


def cut_disc(images: Tensor) -> Tensor:
    """The images with zero at all pixels whose centre is not in the inscribed disc."""
    height, width = images.shape[-2:]
    y, x = (torch.arange(n, dtype=torch.float64, device=images.device) - (n - 1) / 2 for n in (height, width))
    inside = y.square().unsqueeze(1) + x.square() <= (min(height, width) / 2) ** 2
    return images * inside


def _sampled(images: Tensor, backward: Tensor, *, mode: str, padding: str) -> Tensor:
    """The images at the points that backward maps give; torch measures points in half heights and half widths."""
    height, width = images.shape[-2:]
    unit = 2 * min(height, width) / backward.new_tensor([width, height])
    there_and_back = torch.cat([unit.unsqueeze(1) / unit, unit.unsqueeze(1)], dim=1)
    grid = affine_grid(backward * there_and_back, list(images.shape), align_corners=False)
    return grid_sample(images, grid, mode=mode, padding_mode=padding, align_corners=False)


def _exact_on_pixels(values: Tensor, images: Tensor, backward: Tensor, *, padding: str) -> Tensor:
    """Where a map sends pixels to pixels up to rounding, the pixels themselves, with the derivatives of ``values``."""
    height, width = images.shape[-2:]
    centre = backward.new_tensor([(width - 1) / 2, (height - 1) / 2])
    linear, shift = backward[..., :2].round(), backward[..., 2] * min(height, width)
    first = centre + shift - linear @ centre  # where the first pixel comes from
    slack = ROUNDING * torch.finfo(backward.dtype).eps
    aligned = (backward[..., :2] - linear).abs().amax((1, 2)) <= slack
    aligned &= (first - first.round()).abs().amax(1) <= slack * max(height, width)
    if not bool(aligned.any()):
        return values
    rows = aligned.nonzero().squeeze(1)
    exact = values.detach().clone()
    exact[rows] = _sampled(images[rows].detach(), backward[rows].detach(), mode="nearest", padding=padding)
    return exact + (values - values.detach()) if values.requires_grad else exact
