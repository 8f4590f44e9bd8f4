"""Picture files as tensors with values in [0, 1], scaled by the type of their pixels."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from adacanon.errors import DataError, InputError

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

MOST_PIXELS = 2**26
"""Of one picture, 8192 × 8192. A file of some kilobytes may say that it has more, and fill the memory."""

ORIENTATION = 0x0112
"""The number of a camera's mark that a picture lies on its side."""

GREY = ("1", "L", "LA")
OPAQUE, TRANSPARENT = (1, 3), (2, 4)
"""Channels of grey and colour images, without and with one of transparency."""

LUMA = (0.299, 0.587, 0.114)
"""How bright red, green and blue look: the usual weights of grey."""


@dataclass(frozen=True)
class PictureOptions:
    """The side to which images are resized, and the number of their channels; as they come if None."""

    size: int | None = None
    channels: int | None = None

    def check(self) -> None:
        """Refuse sizes and channels that mean nothing."""
        if self.channels not in (None, 1, 3):
            raise InputError(f"channels must be 1 or 3, got {self.channels}")
        if self.size is not None and self.size < 1:
            raise InputError(f"size must be at least one pixel, got {self.size}")


class Picture(NamedTuple):
    """What a file shows.

    Attributes:
        pixels: (channels, height, width) in [0, 1].
        sides: height and width in the file.
        remarks: what the file says beyond that, and was left out.
    """

    pixels: Tensor
    sides: tuple[int, int]
    remarks: tuple[str, ...] = ()


def read_picture(file: Path, options: PictureOptions = PictureOptions()) -> Picture:  # noqa: B008
    """A picture; grey ones have one channel, others three, or as many as are asked for.

    Bytes are divided by 255 and numbers of 16 bits by 65535; floats must lie in [0, 1]. Transparency is left out.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise DataError('Image files need Pillow. Hint: pip install "adacanon[experiments]", or use .npz') from error
    try:
        with Image.open(file, formats=tuple(FORMATS)) as image:
            _check_pixels(*image.size)
            pixels, white = _decoded(image, options.channels)
            remarks = tuple(_remarks(image))
    except (
        UnidentifiedImageError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
        OSError,
        ValueError,
        TypeError,
        SyntaxError,
    ) as error:
        raise DataError(
            f"{file} cannot be read as an image of the formats {', '.join(FORMATS)}: {error}. "
            "Hint: repair, convert or remove it"
        ) from error
    _check_range(file, pixels, white)
    tensor = torch.from_numpy(pixels.astype(np.float32) / np.float32(white))
    tensor = tensor.unsqueeze(0) if tensor.dim() == 2 else tensor.permute(2, 0, 1)
    tensor = tensor.expand(options.channels or len(tensor), -1, -1)
    height, width = tensor.shape[1:]
    return Picture(resized(tensor.unsqueeze(0), options.size)[0], (height, width), remarks)


def described_pictures(pictures: Sequence[Picture], options: PictureOptions) -> list[str]:
    """What was done to pictures, in words for a page."""
    notes = []
    if options.channels is not None:
        notes.append(f"{options.channels} channel{'s' * (options.channels > 1)}, whatever the files have")
    counts = Counter(remark for picture in pictures for remark in picture.remarks)
    notes += [f"{count} pictures {remark}" for remark, count in counts.items()]
    return notes + described_size([picture.sides for picture in pictures], options)


def described_size(sides: Sequence[tuple[int, int]], options: PictureOptions) -> list[str]:
    """Whether images were resized, and whether that changed their proportions."""
    if options.size is None or all(side == (options.size, options.size) for side in sides):
        return []
    stretched = sum(height != width for height, width in sides)
    note = f"resized to {options.size} × {options.size} pixels"
    return [f"{note}; {stretched} images are not square and were stretched" if stretched else note]


def with_channels(name: str, images: Tensor, options: PictureOptions) -> tuple[Tensor, list[str]]:
    """Arrays of images (samples, channels, height, width) or with channels last, as asked for, and what was done."""
    notes, channels = list[str](), options.channels
    if _channels_last(images.shape[1], images.shape[3]):
        images = images.permute(0, 3, 1, 2)
    if images.shape[1] in TRANSPARENT and channels is not None:
        images = images[:, :-1]
        notes.append("the last channel, transparency, was dropped")
    if channels is not None and images.shape[1] not in OPAQUE:
        raise DataError(
            f"{name}: expected images with 1 to 4 channels, first or last, got {tuple(images.shape[1:])}. "
            "Hint: 1 for grey, 3 for colour; --channels drops a last one of transparency"
        )
    if channels == 3 and images.shape[1] == 1:
        images, notes = images.expand(-1, 3, -1, -1), [*notes, "grey images have three equal channels"]
    if channels == 1 and images.shape[1] == 3:
        images = torch.einsum("nchw,c->nhw", images, torch.tensor(LUMA)).unsqueeze(1)
        notes.append("colour images were made grey")
    sides = (images.shape[2], images.shape[3])
    return resized(images, options.size).contiguous(), notes + described_size([sides] * len(images), options)


def _channels_last(first: int, last: int) -> bool:
    """Whether the last axis is that of channels; one or three are more usual than two or four."""
    if first in OPAQUE or last in OPAQUE:
        return first not in OPAQUE
    return first not in TRANSPARENT and last in TRANSPARENT


def resized(images: Tensor, size: int | None) -> Tensor:
    """Images with this side, smoothed where they shrink."""
    if size is None or images.shape[-2:] == (size, size):
        return images
    shrinks = size < max(images.shape[-2:])
    return interpolate(images, (size, size), mode="bilinear", antialias=shrinks).clamp(0, 1)


def _remarks(image: "Image") -> Iterator[str]:
    """What a picture has that the network does not see."""
    layered = image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info
    if layered and int(np.asarray(image.convert("RGBA"))[..., 3].min()) < 255:  # a full channel hides nothing
        yield "are transparent in places; the colours below were taken, without mixing"
    if getattr(image, "n_frames", 1) > 1:
        yield "have several frames, of which the first was taken"
    if image.getexif().get(ORIENTATION, 1) != 1:
        yield "say that they are to be turned (EXIF), which was not done, as in most trainings"


def _decoded(image: "Image", channels: int | None) -> tuple[np.ndarray, float]:
    """Pixels (height, width[, 3]), and the value of white among them."""
    if image.mode == "F":
        return np.array(image), 1.0
    if image.mode == "I" and image.format == "TIFF":
        raise ValueError("its whole numbers have 32 bits or a sign, and nobody can tell which value is white")
    if image.mode.startswith("I"):  # 16 bits
        return np.array(image), WHITE[2]
    grey = image.mode in GREY if channels is None else channels == 1
    plain = image.convert("RGBA") if image.mode == "P" else image  # a palette may be transparent
    return np.array(plain.convert("L" if grey else "RGB")), WHITE[1]


def _check_pixels(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise ValueError(f"it has {width} × {height} pixels, expected at most {MOST_PIXELS:,}")


def _check_range(file: Path, pixels: np.ndarray, white: float) -> None:
    low, high = float(pixels.min()), float(pixels.max())
    if not (low >= 0 and high <= white):
        kind = "floats in [0, 1]" if white == 1 else f"whole numbers in 0..{white:.0f}"
        raise DataError(
            f"{file}: expected {kind} in a picture of type {pixels.dtype}, got {low:g} to {high:g}. "
            "Hint: nobody can tell which value is white; save it with 8 or 16 bits, or as floats in [0, 1]"
        )
