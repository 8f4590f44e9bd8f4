"""Labelled images or clouds that a user brings: a folder with one folder per class, or a file of arrays."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from adacanon.data.array_rows import MOST_SAMPLES
from adacanon.data.arrays import Arrays, check_points, normalised, opened
from adacanon.data.class_order import check_names, places
from adacanon.data.cloud_files import CloudOptions, described_points, some_points
from adacanon.data.labelled_folder import read_folder
from adacanon.data.pictures import WHITE, PictureOptions, with_channels
from adacanon.data.samples import GIVEN, Labelled, drawn_note, drawn_rows
from adacanon.errors import DataError, InputError

PARTS = ("", "test_", "validation_", "val_", "train_")
"""Prefixes of the arrays in a file; the first part that is there is taken."""


def load_labelled(
    path: Path,
    *,
    classes: Sequence[str] = (),
    limit: int | None = None,
    size: int | None = None,
    channels: int | None = None,
    points: int | None = None,
    faces: bool = False,
    normalise: bool = False,
    seed: int = 0,
) -> Labelled:
    """Read a folder or an ``.npz`` file.

    Args:
        path: a folder ``CLASS/FILE`` of pictures, or of clouds ``.ply``, ``.off`` or ``.pcd``, classes in the natural
            order of their names, 2 before 10; or a file with the arrays ``images`` (samples, height, width[, channels])
            or ``points`` (samples, points, 3), and ``labels``, all of them also with the prefix of a part such as
            ``test_``, and perhaps ``class_names``. Whole numbers of 8 and 16 bits are divided by 255 and 65535; floats
            must lie in [0, 1].
        classes: the names of all classes in the order of the network's outputs. Labels then count in this order.
            Every class of the data must be named; names without data are allowed. Where a file has no
            ``class_names``, its labels stay as they are.
        limit: the largest number of samples; if there are more, they are drawn at random.
        size: resize images to this side.
        channels: 3 gives grey images three equal channels, 1 makes colour images grey.
        points: draw this many points of every cloud.
        faces: draw them from the faces of meshes, uniformly by area, instead of from the vertices.
        normalise: centre every cloud and scale it to radius 1.
        seed: of all draws.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     np.savez(f"{folder}/digits.npz", images=np.zeros((4, 8, 8), np.uint8), labels=np.array([0, 1, 2, 1]))
        ...     load_labelled(Path(folder) / "digits.npz", channels=3).inputs.shape
        torch.Size([4, 3, 8, 8])
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit must be a positive number of samples, got {limit}")
    pictures, clouds = PictureOptions(size, channels), CloudOptions(points, faces, normalise)
    pictures.check()
    clouds.check()
    check_names(classes)
    if path.is_dir():
        return read_folder(path, tuple(classes), pictures, clouds, limit=limit, seed=seed)
    if path.is_file() and path.suffix == ".npz":
        found = _from_arrays(path, pictures, clouds, limit, seed)
        return _in_order(path, found, tuple(classes)) if classes else found
    what = "is missing" if not path.exists() else "is neither a folder nor an .npz file"
    raise DataError(
        f"{path} {what}. Hint: a folder CLASS/IMAGE.png or CLASS/CLOUD.ply, or a file with the arrays images (or "
        "points) and labels"
    )


def _in_order(path: Path, found: Labelled, classes: tuple[str, ...]) -> Labelled:
    """The labels of a file that names its classes, in another order."""
    if found.class_names is None:
        return replace(found, class_names=classes, class_source=f"{found.class_source}; only the names were given")
    low, high = int(found.labels.min()), int(found.labels.max())
    if low < 0 or high >= len(found.class_names):
        raise DataError(
            f"{path}: labels must lie in 0..{len(found.class_names) - 1}, one for each of class_names, "
            f"got {low}..{high}. Hint: name every class in class_names"
        )
    order = torch.tensor(places(path, found.class_names, classes))
    return replace(found, labels=order[found.labels], class_names=classes, class_source=GIVEN)


def _from_arrays(path: Path, pictures: PictureOptions, clouds: CloudOptions, limit: int | None, seed: int) -> Labelled:
    with opened(path, ()) as source:
        key, prefix = _arrays_of(source)
        count = _count(source, f"{prefix}labels")
        rows = drawn_rows(count, limit, seed)
        labels = _whole(path, source.some_rows(f"{prefix}labels", "iu", (count,), rows.numpy()))
        chosen = source.some_rows(key, "uf", _shape_of(source, key, count), rows.numpy())
        names = tuple(source.array("class_names", "U", (None,)).tolist()) if "class_names" in source else None
    if key.endswith("points"):
        check_points(path, key, chosen, rows.numpy())
        inputs, notes = _as_clouds(path, chosen, clouds, seed)
    else:
        inputs, notes = _as_images(path, chosen, pictures)
    part = [f"arrays {key} and {prefix}labels"] if prefix else []
    order = f"class_names in {path.name}" if names else f"the labels in {path.name}, label k for output k"
    preparation = (*part, *drawn_note(count, len(rows)), *notes)
    return Labelled(inputs, torch.from_numpy(labels), names, order, preparation)


def _whole(path: Path, labels: np.ndarray) -> np.ndarray:
    """Labels of 64 bits with a sign; larger ones would become negative."""
    if labels.dtype.kind == "u" and int(labels.max(initial=0)) > np.iinfo(np.int64).max:
        raise DataError(f"{path}: expected labels that number the outputs of a network, got {labels.max()}")
    return labels.astype(np.int64)


def _arrays_of(source: Arrays) -> tuple[str, str]:
    for prefix in PARTS:
        for kind in ("images", "points"):
            if f"{prefix}{kind}" in source and f"{prefix}labels" in source:
                return f"{prefix}{kind}", prefix
    raise DataError(
        f"{source.file}: expected the arrays images or points, and labels, also as test_images and test_labels; "
        f"got {', '.join(source.archive.files) or 'none'}"
    )


def _count(source: Arrays, key: str) -> int:
    """How many labels there are."""
    shape = source.shape(key)
    if len(shape) != 1 or not 0 < shape[0] <= MOST_SAMPLES:
        raise DataError(f"{source.file}: expected {key} of shape (samples,), at most {MOST_SAMPLES:,}, got {shape}")
    return shape[0]


def _shape_of(source: Arrays, key: str, count: int) -> tuple[int | None, ...]:
    if key.endswith("points"):
        return (count, None, 3)
    return (count, None, None) if len(source.shape(key)) == 3 else (count, None, None, None)


def _as_clouds(path: Path, points: np.ndarray, options: CloudOptions, seed: int) -> tuple[Tensor, list[str]]:
    if options.faces:
        raise DataError(f"{path} holds points without faces. Hint: leave out --faces")
    generator = torch.Generator().manual_seed(seed)
    clouds = some_points(str(path), torch.from_numpy(points.astype(np.float32)), options.points, generator=generator)
    return normalised(clouds) if options.normalise else clouds, described_points(options, meshes=False)


def _as_images(path: Path, pixels: np.ndarray, options: PictureOptions) -> tuple[Tensor, list[str]]:
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
    return with_channels(str(path), images.unsqueeze(1) if images.dim() == 3 else images, options)
