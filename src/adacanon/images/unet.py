"""A small U-Net, which has an answer for every pixel.

Reference: Ronneberger, Fischer & Brox, MICCAI 2015.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.errors import InputError, ShapeError
from adacanon.takes import several, takes, whole


class UNet(nn.Module):
    """Two convolutions at every resolution, downwards and, beside what was found on the way down, upwards again.

    Args:
        classes: scores of a pixel.
        channels: of the images.
        widths: channels at each resolution, each half as fine as the one before.

    Shape:
        (batch, channels, height, width) -> (batch, classes, height, width)

    Example:
        >>> UNet(6)(torch.zeros(2, 1, 40, 40)).shape
        torch.Size([2, 6, 40, 40])
    """

    @takes(classes=whole(1), channels=whole(1), widths=several(1))
    def __init__(self, classes: int, *, channels: int = 1, widths: Sequence[int] = (8, 16, 32, 64)) -> None:
        super().__init__()
        if len(widths) < 2:
            raise InputError(f"widths must name two resolutions or more, got {tuple(widths)}. Hint: (8, 16, 32, 64)")
        inputs = (channels, *widths[:-1])
        self.down = nn.ModuleList(_block(a, b) for a, b in zip(inputs, widths, strict=True))
        self.up = nn.ModuleList(_block(a + b, b) for a, b in zip(widths[:0:-1], widths[-2::-1], strict=True))
        self.scores = nn.Conv2d(widths[0], classes, 1)
        # almost twice as fast with few channels on a CPU; torch has no type for it
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, images: Tensor) -> Tensor:
        self._check(images)
        passed: list[Tensor] = []
        x = images
        for block in self.down:
            x = block(functional.max_pool2d(x, 2) if passed else x)
            passed.append(x)
        for block, finer in zip(self.up, passed[-2::-1], strict=True):
            x = block(torch.cat([functional.interpolate(x, scale_factor=2.0), finer], 1))
        return self.scores(x)

    def _check(self, images: Tensor) -> None:
        step = 2 ** (len(self.down) - 1)
        if images.dim() != 4 or images.shape[-2] % step or images.shape[-1] % step:
            raise ShapeError(
                f"UNet with {len(self.down)} resolutions expects images (batch, channels, height, width) with sides "
                f"that {step} divides, got {tuple(images.shape)}. Hint: pad the images, or give fewer widths"
            )


def _block(inputs: int, outputs: int) -> nn.Sequential:
    """Two convolutions, each with a normalization."""
    layers: list[nn.Module] = []
    for first in (inputs, outputs):
        layers += [nn.Conv2d(first, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)
