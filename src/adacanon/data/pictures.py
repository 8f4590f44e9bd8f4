"""Picture files as tensors with values in [0, 1], scaled by the type of their pixels."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from adacanon.errors import DataError

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = {
    "PNG": (".png",),
    "JPEG": (".jpg", ".jpeg"),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "WEBP": (".webp",),
    "TIFF": (".tif", ".tiff"),
    "PPM": (".ppm", ".pgm"),
}
"""What is opened, whatever a file is called: other formats of Pillow start programs, such as Ghostscript."""

SUFFIXES = tuple(suffix for suffixes in FORMATS.values() for suffix in suffixes)
WHITE = {1: 255.0, 2: 65535.0}
"""The largest value of unsigned whole numbers, by their bytes."""

GREY = ("1", "L", "LA")


def read_picture(file: Path, channels: int | None) -> Tensor:
    """A picture (channels, height, width); grey ones have one channel, others three, or as many as are asked for.

    Bytes are divided by 255 and numbers of 16 bits by 65535; floats must lie in [0, 1]. Transparency is left out.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise DataError('Image files need Pillow. Hint: pip install "adacanon[experiments]", or use .npz') from error
    try:
        with Image.open(file, formats=tuple(FORMATS)) as image:
            pixels, white = _decoded(image, channels)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise DataError(
            f"{file} cannot be read as an image of the formats {', '.join(FORMATS)}: {error}. "
            "Hint: repair, convert or remove it"
        ) from error
    _check_range(file, pixels, white)
    tensor = torch.from_numpy(pixels.astype(np.float32) / np.float32(white))
    tensor = tensor.unsqueeze(0) if tensor.dim() == 2 else tensor.permute(2, 0, 1)
    return tensor.expand(channels or len(tensor), -1, -1)


def _decoded(image: "Image", channels: int | None) -> tuple[np.ndarray, float]:
    """Pixels (height, width[, 3]), and the value of white among them."""
    if image.mode == "F":
        return np.array(image), 1.0
    if image.mode.startswith("I"):  # 16 bits; some files have room for 32, whose white nobody knows
        return np.array(image), WHITE[2]
    grey = image.mode in GREY if channels is None else channels == 1
    plain = image.convert("RGBA") if image.mode == "P" else image  # a palette may be transparent
    return np.array(plain.convert("L" if grey else "RGB")), WHITE[1]


def _check_range(file: Path, pixels: np.ndarray, white: float) -> None:
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= 0 and high <= white):
        kind = "floats in [0, 1]" if white == 1 else f"whole numbers in 0..{white:.0f}"
        raise DataError(
            f"{file}: expected {kind} in a picture of type {pixels.dtype}, got {low:g} to {high:g}. "
            "Hint: nobody can tell which value is white; save it with 8 or 16 bits, or as floats in [0, 1]"
        )
