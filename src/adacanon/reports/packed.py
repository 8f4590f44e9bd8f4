"""Points and colours as text that scripts of pages unpack: base64 of little-endian numbers."""

import base64

import torch
from torch import Tensor

WHOLE = 2**15 - 1
"""Coordinates are stored in 16 bits."""


def packed_coordinates(points: Tensor) -> str:
    """Coordinates between -1 and 1, in 16 bits each.

    Example:
        >>> packed_coordinates(torch.tensor([[1.0, 0.0]]))
        '/38AAA=='
    """
    whole = (points.detach().cpu().clamp(-1, 1) * WHOLE).round().to(torch.int16)
    return base64.b64encode(whole.numpy().astype("<i2").tobytes()).decode()


def packed_bytes(values: Tensor) -> str:
    """Whole numbers from 0 to 255.

    Example:
        >>> packed_bytes(torch.tensor([0, 255]))
        'AP8='
    """
    return base64.b64encode(values.detach().cpu().to(torch.uint8).numpy().tobytes()).decode()
