r"""Rectangles of an image resized to the whole grid, as two small matrices per image.

An image is constant on its pixels. Its average over a rectangle is separable, and so is bilinear interpolation: with
weights of rows A and of columns B the result is :math:`AgB^\top`.
"""

import math

import torch
from torch import Tensor

from adacanon.images.checks import check_images, check_pairs


def area_average(images: Tensor, rectangles: Tensor, *, size: tuple[int, int] | None = None) -> Tensor:
    r""":math:`Q((g\,1_{R(u)}) \circ \tau_u)`: the rectangle R(u) is dilated to the whole image, and every pixel of the
    result is the exact average of g over its part of R(u) (paper: appendix "Truncation Canonicalization").

    Lipschitz in the rectangles as long as their sides are bounded from below; differentiable almost everywhere.

    Args:
        rectangles: left, top, right and bottom as shares of width and height, in [0, 1].
        size: height and width of the result, those of the images if not given.

    Shape:
        images (pairs, channels, height, width), rectangles (pairs, 4) -> (pairs, channels, *size)

    Example:
        >>> area_average(torch.tensor([[[[0.0, 1.0], [2.0, 3.0]]]]), torch.tensor([[0.5, 0.0, 1.0, 1.0]]))
        tensor([[[[1., 1.],
                  [3., 3.]]]])
    """
    check_images("area_average", images)
    check_pairs("area_average", "rectangles", rectangles, (images.shape[0], 4))
    height, width = images.shape[-2:]
    rows, columns = size or (height, width)
    left, top, right, bottom = rectangles.to(torch.promote_types(images.dtype, torch.float32)).unbind(1)
    return resized(images, overlaps(top, bottom, height, rows), overlaps(left, right, width, columns))


def resized(images: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    r""":math:`AgB^\top` for every channel, at least in float32.

    Shape:
        images (pairs, channels, height, width), rows (pairs, h, height), columns (pairs, w, width) -> (..., h, w)
    """
    precision = torch.promote_types(images.dtype, torch.float32)
    rows, columns = rows.to(precision).unsqueeze(1), columns.to(precision).unsqueeze(1)
    return (rows @ images.to(precision) @ columns.mT).to(images.dtype)


def overlaps(low: Tensor, high: Tensor, pixels: int, cells: int) -> Tensor:
    r"""The share of each pixel in each of ``cells`` equal parts of the interval [low, high] of a line of pixels,
    :math:`|c_j \cap p_m| / |c_j|`; low and high are shares of the line.

    Shape:
        (pairs,), (pairs,) -> (pairs, cells, pixels)
    """
    step = torch.arange(cells + 1, dtype=low.dtype, device=low.device)
    edges = (low * pixels).unsqueeze(1) + ((high - low) * pixels).unsqueeze(1) * step / cells
    begin, end = edges[:, :-1, None], edges[:, 1:, None]
    pixel = torch.arange(pixels, dtype=low.dtype, device=low.device)
    common = torch.minimum(end, pixel + 1) - torch.maximum(begin, pixel)
    return common.clamp(min=0) / (end - begin)


def interpolations(first: Tensor, count: Tensor, pixels: int) -> Tensor:
    r"""Bilinear weights that resize ``count`` pixels from ``first`` on to the whole line of ``pixels`` places:
    :math:`\max(0, 1 - |s_j - m|)` at the points :math:`s_j`, which stay within the window.

    Shape:
        whole numbers (pairs,), (pairs,) -> (pairs, pixels, pixels)
    """
    place = torch.arange(pixels, dtype=torch.float64, device=first.device)
    begin, length = first.double().unsqueeze(1), count.double().unsqueeze(1)
    within = (place + 0.5) * length / pixels - 0.5
    points = begin + torch.minimum(within.clamp(min=0), length - 1)
    return (1 - (points.unsqueeze(2) - place).abs()).clamp(min=0)


def smaller(images: Tensor, pixels: int) -> Tensor:
    """Averages on a grid of about ``pixels`` pixels and of the same proportions, for coarse views; never a finer grid.

    Shape:
        (batch, channels, height, width) -> (batch, channels, h, w) with h * w about ``pixels``
    """
    height, width = images.shape[-2:]
    scale = math.sqrt(pixels / (height * width))
    if scale >= 1:
        return images
    whole = images.new_tensor([0.0, 0.0, 1.0, 1.0]).expand(images.shape[0], 4)
    return area_average(images, whole, size=(max(1, round(scale * height)), max(1, round(scale * width))))
