"""Labelled images or clouds that a user brings: a folder with one folder of images per class, or a file of arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from adacanon.data.arrays import Arrays, check_points, opened
from adacanon.errors import DataError, InputError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm")
PARTS = ("", "test_", "validation_", "val_", "train_")
"""Prefixes of the arrays in a file; the first part that is there is taken."""


@dataclass(frozen=True)
class Labelled:
    """Samples with their classes.

    Attributes:
        inputs: images (samples, channels, height, width) with values in [0, 1], or clouds (samples, points, 3).
        labels: (samples,).
        class_names: in the order of the labels, or None if they are not known.
    """

    inputs: Tensor
    labels: Tensor
    class_names: tuple[str, ...] | None


def load_labelled(
    path: Path, *, limit: int | None = None, size: int | None = None, channels: int | None = None, seed: int = 0
) -> Labelled:
    """Read a folder or an ``.npz`` file.

    Args:
        path: a folder ``CLASS/IMAGE.png``, classes in the order of their names; or a file with the arrays ``images``
            (samples, height, width[, channels]) or ``points`` (samples, points, 3), and ``labels``, all of them also
            with the prefix of a part such as ``test_``, and perhaps ``class_names``.
        limit: so many samples at most, drawn at random from all.
        size: resize images to this side.
        channels: 3 gives grey images three equal channels, 1 averages those of colour images.
        seed: of the draw.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit must be a positive number of samples, got {limit}")
    if channels not in (None, 1, 3):
        raise InputError(f"channels must be 1 or 3, got {channels}")
    if path.is_dir():
        return _from_folder(path, limit, size, channels, seed)
    if path.is_file() and path.suffix == ".npz":
        return _from_arrays(path, limit, size, channels, seed)
    what = "is missing" if not path.exists() else "is neither a folder nor an .npz file"
    raise DataError(f"{path} {what}. Hint: a folder CLASS/IMAGE.png, or a file with the arrays images and labels")


def _from_folder(folder: Path, limit: int | None, size: int | None, channels: int | None, seed: int) -> Labelled:
    classes = sorted(place for place in folder.iterdir() if place.is_dir())
    found = [(file, label) for label, place in enumerate(classes) for file in _images_in(place)]
    if not found:
        raise DataError(f"{folder} holds no images. Hint: one folder per class with images {', '.join(SUFFIXES[:3])}")
    chosen = [found[i] for i in _drawn(len(found), limit, seed).tolist()]
    images = [resized(_read(file, channels).unsqueeze(0), size)[0] for file, _ in chosen]
    _check_same_shape([file for file, _ in chosen], images)
    labels = torch.tensor([label for _, label in chosen])
    return Labelled(torch.stack(images), labels, tuple(place.name for place in classes))


def _images_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES)


def _read(file: Path, channels: int | None) -> Tensor:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise DataError('Image files need Pillow. Hint: pip install "adacanon[experiments]", or use .npz') from error
    try:
        with Image.open(file) as image:
            grey = image.mode in ("1", "L", "I;16") if channels is None else channels == 1
            pixels = np.array(image.convert("L" if grey else "RGB"))
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise DataError(f"{file} cannot be read as an image: {error}. Hint: repair or remove it") from error
    tensor = torch.from_numpy(pixels).float() / 255
    return tensor.unsqueeze(0) if tensor.dim() == 2 else tensor.permute(2, 0, 1)


def _check_same_shape(files: Sequence[Path], images: Sequence[Tensor]) -> None:
    for file, image in zip(files, images, strict=True):
        if image.shape != images[0].shape:
            raise DataError(
                f"Images must have one shape (channels, height, width), {files[0]} has {tuple(images[0].shape)} and "
                f"{file} has {tuple(image.shape)}. Hint: --size resizes them, --channels 3 makes all of them colour"
            )


def _from_arrays(path: Path, limit: int | None, size: int | None, channels: int | None, seed: int) -> Labelled:
    with opened(path, ()) as source:
        key, prefix = _arrays_of(source)
        labels = source.array(f"{prefix}labels", "iu", (None,)).astype(np.int64)
        array = source.array(key, "uf", _shape_of(source, key, len(labels)))
        names = tuple(source.array("class_names", "U", (None,)).tolist()) if "class_names" in source else None
    rows = _drawn(len(labels), limit, seed)
    chosen = array[rows.numpy()]
    if key.endswith("points"):
        check_points(path, key, chosen, rows.numpy())
    inputs = torch.from_numpy(chosen)
    if key.endswith("images"):
        inputs = _as_images(path, inputs, channels)
        inputs = resized(inputs, size)
    return Labelled(inputs.float(), torch.from_numpy(labels)[rows], names)


def _arrays_of(source: Arrays) -> tuple[str, str]:
    for prefix in PARTS:
        for kind in ("images", "points"):
            if f"{prefix}{kind}" in source and f"{prefix}labels" in source:
                return f"{prefix}{kind}", prefix
    raise DataError(
        f"{source.file}: expected the arrays images or points, and labels, also as test_images and test_labels; "
        f"got {', '.join(source.archive.files) or 'none'}"
    )


def _shape_of(source: Arrays, key: str, count: int) -> tuple[int | None, ...]:
    if key.endswith("points"):
        return (count, None, 3)
    return (count, None, None) if len(source.shape(key)) == 3 else (count, None, None, None)


def _as_images(path: Path, pixels: Tensor, channels: int | None) -> Tensor:
    """Channels second, values in [0, 1]."""
    images = pixels.float() / 255 if pixels.dtype == torch.uint8 else pixels.float()
    if not bool(images.isfinite().all()) or float(images.min()) < 0 or float(images.max()) > 1:
        raise DataError(
            f"{path}: images must be bytes, or numbers in [0, 1], got {float(images.min()):g} to "
            f"{float(images.max()):g}. Hint: mean and standard deviation that a network expects belong to the network"
        )
    images = images.unsqueeze(1) if images.dim() == 3 else images
    if images.dim() == 4 and images.shape[1] not in (1, 3) and images.shape[-1] in (1, 3):
        images = images.permute(0, 3, 1, 2)
    if channels == 3 and images.shape[1] == 1:
        images = images.expand(-1, 3, -1, -1)
    if channels == 1 and images.shape[1] == 3:
        images = images.mean(1, keepdim=True)
    return images.contiguous()


def resized(images: Tensor, size: int | None) -> Tensor:
    """Images with this side, smoothed where they shrink."""
    if size is None or images.shape[-2:] == (size, size):
        return images
    if size < 1:
        raise InputError(f"size must be at least one pixel, got {size}")
    shrinks = size < max(images.shape[-2:])
    return interpolate(images, (size, size), mode="bilinear", antialias=shrinks).clamp(0, 1)


def _drawn(count: int, limit: int | None, seed: int) -> Tensor:
    if limit is None or limit >= count:
        return torch.arange(count)
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))[:limit].sort().values
