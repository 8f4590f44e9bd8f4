"""The two official releases of ModelNet40 as point clouds, turned into the arrays of :mod:`adacanon.data.modelnet`.

- ``modelnet40_normal_resampled``: a text file of 10,000 points with normals for every shape, and lists of names.
- ``modelnet40_ply_hdf5_2048``: 2,048 points of many shapes in each of a few HDF5 files.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from adacanon.data.file_parts import HERE, Reading, read_in_parts
from adacanon.data.modelnet import CLASSES, PARTS, SUBSET
from adacanon.data.official import (
    OnProgress,
    check_disjoint,
    counted,
    half_precision,
    json_list,
    lines_of,
    silent,
    table_of,
)
from adacanon.errors import DataError

RESAMPLED, HDF5 = "modelnet40_shape_names.txt", "shape_names.txt"
"""The file by which a release is known."""

MODELNET10 = ("bathtub", "bed", "chair", "desk", "dresser", "monitor", "night_stand", "sofa", "table", "toilet")
PART = 128
"""Text files that a process reads at a time."""

Arrays = dict[str, np.ndarray]


def resampled_modelnet(folder: Path, points: int, reading: Reading = HERE) -> Arrays:
    """The arrays of ``modelnet40_normal_resampled``: the first points of every shape."""
    names = _class_names(folder / RESAMPLED)
    listed = {part: lines_of(folder / f"modelnet40_{part}.txt") for part in PARTS}
    check_disjoint(folder, listed)
    subset = {name for part in PARTS for name in _some_lines(folder / f"modelnet10_{part}.txt", "shapes")}
    content: Arrays = {"class_names": np.array(names)}
    done, total = 0, sum(map(len, listed.values()))
    for part, ids in listed.items():
        classes = [name.rpartition("_")[0] for name in ids]
        files = [folder / kind / f"{name}.txt" for kind, name in zip(classes, ids, strict=True)]
        labels = _numbered(folder / f"modelnet40_{part}.txt", classes, names)
        clouds = read_in_parts(
            _text_clouds, files, [points] * len(files), size=PART, part=part, before=done, total=total, reading=reading
        )
        content |= {
            f"{part}_labels": labels,
            f"{part}_points": clouds["points"],
            f"{part}_ids": np.array(ids),
            f"{part}_in_modelnet10": np.array([name in subset for name in ids]),
        }
        done += len(ids)
    return content


def hdf5_modelnet(folder: Path, points: int, on_progress: OnProgress = silent) -> Arrays:
    """The arrays of ``modelnet40_ply_hdf5_2048``; shapes of the ten classes of ModelNet10 are those of ModelNet10."""
    names = _class_names(folder / HDF5)
    ten = [names.index(name) for name in MODELNET10 if name in names]
    if len(ten) != SUBSET:
        raise DataError(f"{folder / HDF5}: expected the classes {', '.join(MODELNET10)} among the names")
    content: Arrays = {"class_names": np.array(names)}
    listed: dict[str, list[str]] = {}
    for part in PARTS:
        files = [folder / Path(line).name for line in _some_lines(folder / f"{part}_files.txt", "HDF5 files")]
        clouds, labels, ids = zip(*(_hdf5_file(file, points) for file in counted(files, on_progress)), strict=True)
        numbers = np.concatenate(labels)
        listed[part] = [name for names in ids for name in names]
        content |= {
            f"{part}_points": np.concatenate(clouds),
            f"{part}_labels": numbers,
            f"{part}_ids": np.array(listed[part]),
            f"{part}_in_modelnet10": np.isin(numbers, ten),
        }
    check_disjoint(folder, listed)
    return content


def _class_names(file: Path) -> list[str]:
    names = lines_of(file)
    if len(set(names)) != CLASSES or len(names) != CLASSES:
        raise DataError(f"{file}: expected the names of {CLASSES} classes, one in a line, got {len(names)} lines")
    return names


def _some_lines(file: Path, of: str) -> list[str]:
    lines = lines_of(file)
    if not lines:
        raise DataError(f"{file}: expected the names of {of}, got none")
    return lines


def _numbered(file: Path, classes: list[str], names: list[str]) -> np.ndarray:
    strange = [kind for kind in classes if kind not in names]
    if strange:
        raise DataError(f"{file}: expected names such as {names[0]}_0001, of known classes, got {strange[0]!r}")
    return np.array([names.index(kind) for kind in classes], dtype=np.uint8)


def _text_clouds(files: list[Path], points: list[int]) -> Arrays:
    return {"points": np.stack([_text_cloud(*one) for one in zip(files, points, strict=True)])}


def _text_cloud(file: Path, points: int) -> np.ndarray:
    table = table_of(file, "x y z nx ny nz", delimiter=",", rows=points)
    return half_precision(file, table[:, :3])


def _hdf5_file(file: Path, points: int) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Clouds, labels and names of one file."""
    with _opened(file) as content:
        missing = [key for key in ("data", "label") if key not in content]
        if missing:
            raise DataError(f"{file}: expected the data sets data and label; missing {', '.join(missing)}")
        clouds, labels = np.asarray(content["data"]), np.asarray(content["label"])
    fits = clouds.ndim == 3 and len(clouds) > 0 and clouds.shape[1] >= points and clouds.shape[2] == 3
    if not fits or clouds.dtype.kind != "f":
        raise DataError(
            f"{file}: expected data of shape (shapes, at least {points}, 3), got {clouds.shape} of {clouds.dtype}"
        )
    if labels.size != len(clouds) or labels.dtype.kind not in "iu":
        raise DataError(f"{file}: expected {len(clouds)} whole numbers as label, got {labels.shape} of {labels.dtype}")
    numbers = labels.reshape(-1).astype(np.int64)
    if numbers.min() < 0 or numbers.max() >= CLASSES:
        raise DataError(f"{file}: label must lie in 0..{CLASSES - 1}, got {numbers.min()}..{numbers.max()}")
    return half_precision(file, clouds[:, :points]), numbers.astype(np.uint8), _hdf5_names(file, len(clouds))


def _hdf5_names(file: Path, count: int) -> list[str]:
    """From the list beside the file; without it, the name of the file and a number."""
    stem = file.stem.rstrip("0123456789")
    beside = file.with_name(f"{stem}_{file.stem.removeprefix(stem)}_id2file.json")
    if not beside.exists():
        return [f"{file.stem}_{i:04d}" for i in range(count)]
    names = [Path(str(name)).stem for name in json_list(beside)]
    if len(names) != count:
        raise DataError(f"{beside}: expected the names of the {count} shapes in {file.name}, got {len(names)}")
    return names


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    try:
        import h5py
    except ModuleNotFoundError as error:
        raise DataError(f"{file} can only be read with h5py, which is not installed. Hint: pip install h5py") from error
    if not file.is_file():
        raise DataError(f"{file} is missing. Hint: unpack the official archive again")
    try:
        with h5py.File(file, "r") as content:
            yield content
    except DataError:
        raise
    except (OSError, KeyError, RuntimeError) as error:
        raise DataError(f"{file} is damaged or no HDF5 file: {error}. Hint: unpack the archive again") from error
