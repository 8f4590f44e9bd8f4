"""From an official folder or archive to the one file that a loader reads."""

from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import IO

import numpy as np

from adacanon.data.file_parts import InOrder, Reading
from adacanon.data.official import OnProgress, silent
from adacanon.data.releases import RELEASES, Arrays, Counts, Release
from adacanon.errors import DataError, InputError
from adacanon.files import write_whole


@dataclass(frozen=True)
class Imported:
    """What was written, and the samples in every part beside those of the official release.

    Example:
        >>> written = Imported("modelnet40_ply_hdf5_2048", Path("data/modelnet40.npz"), {"test": 2468}, {"test": 2468})
        >>> written.counts == written.official
        True
    """

    release: str
    file: Path
    counts: Counts
    official: Counts
    unit: str = "shapes"
    remark: str = ""


def import_folder(
    source: Path,
    output: Path,
    *,
    points: int = 1024,
    on_progress: OnProgress = silent,
    in_order: InOrder = starmap,
) -> Imported:
    """Turn an official folder or archive into the file that a loader reads, in a folder of data sets.

    Args:
        source: the official folder, known by what it holds, or an archive of CIFAR.
        output: the folder of data sets, to which ``ADACANON_DATA`` may point from then on.
        points: of every shape, for point clouds.
        on_progress: called with the files that are read and with all of them.
        in_order: calls a function with several arguments, elsewhere, and gives the answers in their order; for
            releases of many files. Stopped in the middle, the same import goes on with the files that are missing.

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
    reading = Reading(in_order, on_progress).of(source, release.name, points)
    arrays = release.read(source, points, reading)
    _write(file, arrays)
    reading.forget()
    try:
        release.check(output)
    except DataError:
        file.unlink()
        raise
    counts = release.counted(arrays)
    official = next((official for official in release.counts if official == counts), release.counts[0])
    return Imported(release.name, file, counts, official, release.unit, release.remark(source))


def _release(source: Path) -> Release:
    found = [release for release in RELEASES if release.holds(source)]
    if len(found) != 1:
        known = "; ".join(f"{release.name} (with {' or '.join(release.known_by)})" for release in RELEASES)
        came = f"holds {len(found) or 'none'} of them" if source.is_dir() else "is no folder and no such archive"
        raise DataError(f"{source}: expected one of the official folders {known}; it {came}{_hint(source, found)}")
    return found[0]


def _hint(source: Path, found: list[Release]) -> str:
    """Which of several archives to name, or what lies just above or below."""
    if found:
        archives = [name for release in found for name in release.known_by if (source / name).is_file()]
        return f". Hint: name one of them, {' or '.join(str(source / name) for name in archives)}"
    if source.name.endswith((".bz2", ".zip", ".tar", ".tgz")):
        return ". Hint: unpack it and name the folder"
    nearby = [*sorted(source.iterdir()), source.parent] if source.is_dir() else []
    place = next((place for place in nearby if any(release.holds(place) for release in RELEASES)), None)
    return "" if place is None else f". Hint: {place} is one"


def _write(file: Path, arrays: Arrays) -> None:

    def save(stream: IO[bytes]) -> None:
        np.savez_compressed(stream, allow_pickle=False, **arrays)  # type: ignore[arg-type]

    try:
        write_whole(file, save)
    except OSError as error:
        raise DataError(
            f"{file} could not be written ({error}). Hint: --output names a folder; make room on the disk"
        ) from error
