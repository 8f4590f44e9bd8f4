"""Labelled images or clouds that a user brings: a folder with one folder of images per class, or a file of arrays."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from adacanon.data.arrays import Arrays, check_points, opened
from adacanon.data.pictures import SUFFIXES, WHITE, read_picture
from adacanon.errors import DataError, InputError

PARTS = ("", "test_", "validation_", "val_", "train_")
"""Prefixes of the arrays in a file; the first part that is there is taken."""


@dataclass(frozen=True)
class Labelled:
    """Samples with their classes.

    Attributes:
        inputs: images (samples, channels, height, width) with values in [0, 1], or clouds (samples, points, 3).
        labels: (samples,).
        class_names: in the order of the labels, or None if they are not known.

    Example:
        >>> Labelled(torch.rand(3, 1, 28, 28), torch.tensor([0, 1, 0]), ("cat", "dog")).inputs.shape
        torch.Size([3, 1, 28, 28])
    """

    inputs: Tensor
    labels: Tensor
    class_names: tuple[str, ...] | None


def load_labelled(
    path: Path,
    *,
    classes: Sequence[str] = (),
    limit: int | None = None,
    size: int | None = None,
    channels: int | None = None,
    seed: int = 0,
) -> Labelled:
    """Read a folder or an ``.npz`` file.

    Args:
        path: a folder ``CLASS/IMAGE.png``, classes in the natural order of their names, 2 before 10; or a file with
            the arrays ``images`` (samples, height, width[, channels]) or ``points`` (samples, points, 3), and
            ``labels``, all of them also with the prefix of a part such as ``test_``, and perhaps ``class_names``.
            Whole numbers of 8 and 16 bits are divided by 255 and 65535; floats must lie in [0, 1].
        classes: the names of all classes in the order of the network's outputs. Labels then count in this order.
            Every class of the data must be named; names without data are allowed. Where a file has no
            ``class_names``, its labels stay as they are.
        limit: the largest number of samples; if there are more, they are drawn at random.
        size: resize images to this side.
        channels: 3 gives grey images three equal channels, 1 averages those of colour images.
        seed: of the draw.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/digits.npz", images=np.zeros((4, 8, 8), np.uint8), labels=np.array([0, 1, 2, 1]))
        ...     load_labelled(Path(folder) / "digits.npz", channels=3).inputs.shape
        torch.Size([4, 3, 8, 8])
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit must be a positive number of samples, got {limit}")
    if channels not in (None, 1, 3):
        raise InputError(f"channels must be 1 or 3, got {channels}")
    _check_names(classes)
    if path.is_dir():
        return _from_folder(path, tuple(classes), limit, size, channels, seed)
    if path.is_file() and path.suffix == ".npz":
        found = _from_arrays(path, limit, size, channels, seed)
        return _in_order(path, found, tuple(classes)) if classes else found
    what = "is missing" if not path.exists() else "is neither a folder nor an .npz file"
    raise DataError(f"{path} {what}. Hint: a folder CLASS/IMAGE.png, or a file with the arrays images and labels")


def natural_order(name: str) -> tuple[list[str | int], str]:
    """A key for sorting: digits count as numbers, everything else as text.

    Example:
        >>> sorted(["class_10", "class_2", "b", "a"], key=natural_order)
        ['a', 'b', 'class_2', 'class_10']
    """
    parts = re.split(r"(\d+)", name)  # text and numbers in turn, so that like is compared with like
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], name


def _check_names(classes: Sequence[str]) -> None:
    if isinstance(classes, str):
        raise InputError(f"classes must be a sequence of names, got the text {classes!r}. Hint: classes=('a', 'b')")
    twice = [name for i, name in enumerate(classes) if name in classes[:i]]
    if twice or "" in classes:
        came = f"{', '.join(dict.fromkeys(twice))} more than once" if twice else "an empty one"
        raise InputError(f"Names of classes must differ and not be empty, got {came}. Hint: one name for each output")


def _places(path: Path, names: Sequence[str], classes: Sequence[str]) -> list[int]:
    """Where the classes of some data stand among those of the network."""
    strangers = [name for name in names if name not in classes]
    if strangers:
        unused = [name for name in classes if name not in names]
        raise DataError(
            f"{path}: expected only classes that were named ({_some(classes)}), got also {_some(strangers)}; named "
            f"without data: {_some(unused) or 'none'}. Hint: --classes takes the names of all classes of the network, "
            "spelled as in the data; move folders away that are no classes"
        )
    return [list(classes).index(name) for name in names]


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:12], *["..."] * (len(names) > 12)])


def _in_order(path: Path, found: Labelled, classes: tuple[str, ...]) -> Labelled:
    """The labels of a file that names its classes, in another order."""
    if found.class_names is None:
        return replace(found, class_names=classes)
    low, high = int(found.labels.min()), int(found.labels.max())
    if low < 0 or high >= len(found.class_names):
        raise DataError(
            f"{path}: labels must lie in 0..{len(found.class_names) - 1}, one for each of class_names, "
            f"got {low}..{high}. Hint: name every class in class_names"
        )
    places = torch.tensor(_places(path, found.class_names, classes))
    return replace(found, labels=places[found.labels], class_names=classes)


def _from_folder(
    folder: Path, classes: tuple[str, ...], limit: int | None, size: int | None, channels: int | None, seed: int
) -> Labelled:
    names = sorted((place.name for place in folder.iterdir() if place.is_dir()), key=natural_order)
    classes = classes or tuple(names)
    folders = sorted(zip(_places(folder, names, classes), names, strict=True))
    found = [(file, label) for label, name in folders for file in _images_in(folder / name)]
    if not found:
        raise DataError(f"{folder} holds no images. Hint: one folder per class with images {', '.join(SUFFIXES[:3])}")
    chosen = [found[i] for i in _drawn(len(found), limit, seed).tolist()]
    images = [resized(read_picture(file, channels).unsqueeze(0), size)[0] for file, _ in chosen]
    _check_same_shape([file for file, _ in chosen], images)
    labels = torch.tensor([label for _, label in chosen])
    return Labelled(torch.stack(images), labels, classes)


def _images_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES)


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
    if key.endswith("images"):
        inputs = resized(_as_images(path, chosen, channels), size)
    else:
        inputs = torch.from_numpy(chosen.astype(np.float32))
    return Labelled(inputs, torch.from_numpy(labels)[rows], names)


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


def _as_images(path: Path, pixels: np.ndarray, channels: int | None) -> Tensor:
    """Channels second, values in [0, 1]."""
    white = WHITE.get(pixels.dtype.itemsize) if pixels.dtype.kind == "u" else 1.0
    low, high = float(pixels.min()), float(pixels.max())
    if white is None or not (low >= 0 and high <= white):
        raise DataError(
            f"{path}: images must be whole numbers of 8 or 16 bits, or numbers in [0, 1], got {low:g} to {high:g} of "
            f"{pixels.dtype}. Hint: divide by the value of white; mean and standard deviation that a network expects "
            "belong to the network"
        )
    images = torch.from_numpy(pixels.astype(np.float32) / np.float32(white))
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
