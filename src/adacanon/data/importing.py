"""From an official folder to the one file that a loader reads."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from adacanon.data import modelnet, official_modelnet, official_shapenet, shapenet
from adacanon.errors import DataError, InputError
from adacanon.files import write_whole


@dataclass(frozen=True)
class Release:
    """An official release.

    Attributes:
        known_by: a file that only this release has.
        read: from the folder and the number of points to the arrays.
        file: which the loader reads.
        check: reads it from the folder given; what it refuses is not kept.
        counts: shapes in every part of the official release.
    """

    name: str
    known_by: str
    read: Callable[[Path, int], dict[str, np.ndarray]]
    file: Path
    check: Callable[[Path], object]
    counts: dict[str, int]


@dataclass(frozen=True)
class Imported:
    """What was written, and the shapes in every part beside those of the official release.

    Example:
        >>> written = Imported("modelnet40_ply_hdf5_2048", Path("data/modelnet40.npz"), {"test": 2468}, {"test": 2468})
        >>> written.counts == written.official
        True
    """

    release: str
    file: Path
    counts: dict[str, int]
    official: dict[str, int]


def _check_modelnet(folder: Path) -> None:
    for classes in (40, 10):
        modelnet.load_modelnet(classes, 1, folder=folder)  # type: ignore[arg-type]


RELEASES = (
    Release(
        "modelnet40_normal_resampled",
        official_modelnet.RESAMPLED,
        official_modelnet.resampled_modelnet,
        modelnet.FILE,
        _check_modelnet,
        {"train": 9843, "test": 2468},
    ),
    Release(
        "modelnet40_ply_hdf5_2048",
        official_modelnet.HDF5,
        official_modelnet.hdf5_modelnet,
        modelnet.FILE,
        _check_modelnet,
        {"train": 9840, "test": 2468},
    ),
    Release(
        "shapenetcore_partanno_segmentation_benchmark_v0_normal",
        official_shapenet.KNOWN_BY,
        official_shapenet.shapenet_parts,
        shapenet.FILE,
        lambda folder: shapenet.load_shapenet(points=1, folder=folder),
        {"train": 12137, "val": 1870, "test": 2874},
    ),
)


def import_folder(source: Path, output: Path, *, points: int = 1024) -> Imported:
    """Turn an official folder into the file that a loader reads, in a folder of data sets.

    Args:
        source: the unpacked official folder, known by what it holds.
        output: the folder of data sets, to which ``ADACANON_DATA`` may point from then on.
        points: of every shape.

    Example:
        >>> import_folder(Path("modelnet40_normal_resampled"), Path("data")).counts  # doctest: +SKIP
        {'train': 9843, 'test': 2468}
        >>> import_folder(Path("modelnet40_normal_resampled"), Path("data"), points=0)
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: A cloud needs at least one point, got points=0
    """
    if points < 1:
        raise InputError(f"A cloud needs at least one point, got points={points}")
    release = _release(source)
    file = output / release.file
    if file.exists():
        raise DataError(f"{file} exists already. Hint: remove it first, or give another folder")
    arrays = release.read(source, points)
    _write(file, arrays)
    try:
        release.check(output)
    except DataError:
        file.unlink()
        raise
    counts = {part: len(arrays[f"{part}_ids"]) for part in release.counts}
    return Imported(release.name, file, counts, release.counts)


def _release(source: Path) -> Release:
    found = [release for release in RELEASES if (source / release.known_by).is_file()]
    if len(found) != 1:
        known = "; ".join(f"{release.name} (with {release.known_by})" for release in RELEASES)
        came = "is no folder" if not source.is_dir() else f"holds {len(found) or 'none'} of them"
        raise DataError(f"{source}: expected one of the official folders {known}; it {came}{_hint(source)}")
    return found[0]


def _hint(source: Path) -> str:
    """A folder just above or below that is an official one."""
    nearby = [*sorted(source.iterdir()), source.parent] if source.is_dir() else []
    fitting = (folder for folder in nearby for release in RELEASES if (folder / release.known_by).is_file())
    folder = next(fitting, None)
    return "" if folder is None else f". Hint: {folder} is one"


def _write(file: Path, arrays: dict[str, np.ndarray]) -> None:

    def save(stream: IO[bytes]) -> None:
        np.savez_compressed(stream, allow_pickle=False, **arrays)  # type: ignore[arg-type]

    try:
        write_whole(file, save)
    except OSError as error:
        raise DataError(
            f"{file} could not be written ({error}). Hint: --output names a folder; make room on the disk"
        ) from error
