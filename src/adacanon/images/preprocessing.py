"""What a pretrained network expects of its images, as a layer in front of it."""

from collections.abc import Sequence
from math import inf

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from adacanon.errors import InputError, ShapeError
from adacanon.images.checks import check_images
from adacanon.takes import in_order, number, whole

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Preprocessing(nn.Module):
    r""":math:`x \mapsto (\mathrm{resize}(x) - \mu) / \sigma` for images with values in [0, 1].

    It belongs to the network, not to the data: families then see images whose background is zero, and transformations
    act before any resizing.

    Args:
        size: side at which the network sees the images, bilinear, smoothed where they shrink; None leaves them as they
            are. Networks that were trained on large pictures see small ones better enlarged, and slower.
        mean: of each channel, those of ImageNet if not given.
        std: of each channel.

    Shape:
        (batch, channels, height, width) -> (batch, channels, size, size)

    Example:
        >>> Preprocessing(64)(torch.rand(2, 3, 32, 32)).shape
        torch.Size([2, 3, 64, 64])
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self, size: int | None = None, *, mean: Sequence[float] = IMAGENET_MEAN, std: Sequence[float] = IMAGENET_STD
    ) -> None:
        super().__init__()
        if size is not None and whole()("Preprocessing", "size", size) < 1:
            raise InputError(f"Preprocessing needs a size of at least one pixel, or None, got size={size}")
        mean, std = (
            tuple(
                number(-inf)("Preprocessing", name, x) for x in in_order("Preprocessing", name, values, what="numbers")
            )
            for name, values in (("mean", mean), ("std", std))
        )
        if len(mean) != len(std) or not all(value > 0 for value in std):
            raise InputError(f"Preprocessing needs a mean and a positive std per channel, got mean={mean}, std={std}")
        self.size = size
        self.register_buffer("mean", torch.tensor(mean).reshape(-1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).reshape(-1, 1, 1), persistent=False)

    def extra_repr(self) -> str:
        return f"size={self.size}, mean={self.mean.flatten().tolist()}, std={self.std.flatten().tolist()}"

    def forward(self, images: Tensor) -> Tensor:
        check_images("Preprocessing", images)
        if images.shape[1] != len(self.mean):
            raise ShapeError(
                f"Preprocessing is for {len(self.mean)} channels, got images of shape {tuple(images.shape)}. "
                "Hint: grey images become colour images by images.expand(-1, 3, -1, -1)"
            )
        if self.size is not None and images.shape[-2:] != (self.size, self.size):
            shrinks = self.size < max(images.shape[-2:])
            images = interpolate(images, (self.size, self.size), mode="bilinear", antialias=shrinks)
        return (images - self.mean.to(images.dtype)) / self.std.to(images.dtype)
