"""CIFAR-10, CIFAR-100 (Krizhevsky, 2009) and MNIST (LeCun et al., 1998), each read from one file of arrays.

The file holds ``{train, test}_images`` in bytes, (samples, height, width) or with channels last,
``{train, test}_labels`` and, where it is a subset, ``{train, test}_index``, the places in the official order.
:func:`adacanon.data.official_images.import_images` makes it from the official archives.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from adacanon.data.arrays import Arrays, imported_file, opened
from adacanon.errors import DataError, UnknownNameError

PARTS = ("train", "test")
KEYS = tuple(f"{part}_{key}" for part in PARTS for key in ("images", "labels"))


@dataclass(frozen=True)
class Layout:
    """What a data set is made of: shape (height, width[, channels]) of an image, classes, official counts."""

    shape: tuple[int, ...]
    classes: int
    train: int
    test: int


LAYOUTS = {
    "cifar10": Layout((32, 32, 3), 10, 50_000, 10_000),
    "cifar100": Layout((32, 32, 3), 100, 50_000, 10_000),
    "mnist": Layout((28, 28), 10, 60_000, 10_000),
}


@dataclass(frozen=True)
class Images:
    """One part of a data set.

    Attributes:
        pixels: (samples, channels, height, width) in bytes.
        labels: (samples,) in 0 .. classes - 1.
        index: (samples,), places in the official order.

    Example:
        >>> part = Images(torch.full((2, 1, 28, 28), 255, dtype=torch.uint8), torch.tensor([3, 7]), torch.arange(2))
        >>> part.scaled(slice(1)).shape, float(part.scaled().max())
        (torch.Size([1, 1, 28, 28]), 1.0)
    """

    pixels: Tensor
    labels: Tensor
    index: Tensor

    def scaled(self, rows: Tensor | slice = slice(None)) -> Tensor:
        """Images in float32 with values in [0, 1], all or some of them."""
        return self.pixels[rows].float() / 255

    def where(self, rows: Tensor) -> "Images":
        """Some of the images."""
        return Images(self.pixels[rows], self.labels[rows], self.index[rows])


@dataclass(frozen=True)
class ImageDataset:
    """Training and test part, and the names of the classes in the order of their labels.

    Attributes:
        subset: whether some of the official images are left out; then say so wherever a result is shown.

    Example:
        >>> part = Images(torch.zeros(2, 1, 28, 28, dtype=torch.uint8), torch.tensor([0, 1]), torch.arange(2))
        >>> ImageDataset("mnist", part, part, tuple("0123456789"), subset=True).train.labels
        tensor([0, 1])
    """

    name: str
    train: Images
    test: Images
    class_names: tuple[str, ...]
    subset: bool

    def held_out(self, train: Tensor, held_out: Tensor) -> "ImageDataset":
        """Some of the training images, and others of them in the place of the test images."""
        return replace(self, train=self.train.where(train), test=self.train.where(held_out), subset=True)


def load_images(name: str, *, folder: Path | None = None) -> ImageDataset:
    """A data set from ``images/NAME.npz`` in a folder of data sets.

    Args:
        name: cifar10, cifar100 or mnist.
        folder: of data sets; ``ADACANON_DATA`` or, for imported ones, the cache folder, if not given.

    Example:
        >>> load_images("mnist").train.pixels.shape  # doctest: +SKIP
        torch.Size([60000, 1, 28, 28])
        >>> load_images("imagenet")
        Traceback (most recent call last):
            ...
        adacanon.errors.UnknownNameError: Data sets of images are cifar10, cifar100, mnist, got 'imagenet'
    """
    layout = layout_of(name)
    keys = KEYS if name == "mnist" else (*KEYS, "class_names")
    with opened(_file(name, folder), keys) as source:
        names = source.array("class_names", "U", (layout.classes,)).tolist() if "class_names" in source else None
        train, test = (_part(source, part, layout) for part in PARTS)
    subset = len(train.labels) < layout.train or len(test.labels) < layout.test
    return ImageDataset(name, train, test, tuple(names or map(str, range(layout.classes))), subset)


def layout_of(name: str) -> Layout:
    """Of a data set; a name that is not known is refused."""
    if name not in LAYOUTS:
        raise UnknownNameError(f"Data sets of images are {', '.join(LAYOUTS)}, got {name!r}")
    return LAYOUTS[name]


def file_of(name: str) -> Path:
    """Where a data set lies in a folder of data sets."""
    return Path("images") / f"{name}.npz"


def _file(name: str, folder: Path | None) -> Path:
    return imported_file(file_of(name), folder, make="adacanon data import FOLDER --output DATA")


def _part(source: Arrays, part: str, layout: Layout) -> Images:
    labels = source.labels(f"{part}_labels", layout.classes)
    pixels = source.array(f"{part}_images", "u", (len(labels), *layout.shape))
    if pixels.dtype != np.uint8:
        raise DataError(f"{source.file}: expected {part}_images in bytes (uint8), got {pixels.dtype}")
    key, count = f"{part}_index", len(labels)
    index = source.array(key, "iu", (count,)).astype(np.int64) if key in source else np.arange(count)
    images = torch.from_numpy(pixels)
    images = images.unsqueeze(1) if images.dim() == 3 else images.permute(0, 3, 1, 2).contiguous()
    return Images(images, torch.from_numpy(labels), torch.from_numpy(index))
