"""The official part benchmark of ShapeNet (``shapenetcore_partanno_segmentation_benchmark_v0_normal``), turned into the
arrays of :mod:`adacanon.data.shapenet`.

A text file for every shape holds points, normals and the part of every point; lists in JSON name the three parts.
"""

import zlib
from pathlib import Path

import numpy as np

from adacanon.data.file_parts import HERE, Reading, read_in_parts
from adacanon.data.official import check_disjoint, half_precision, json_list, lines_of, table_of
from adacanon.data.shapenet import CATEGORIES, MOST_PARTS, PADDING, SPLITS
from adacanon.errors import DataError

KNOWN_BY = "synsetoffset2category.txt"
"""The file by which the release is known."""

PARTS_OF = {
    "Airplane": 4,
    "Bag": 2,
    "Cap": 2,
    "Car": 4,
    "Chair": 4,
    "Earphone": 3,
    "Guitar": 3,
    "Knife": 2,
    "Lamp": 4,
    "Laptop": 2,
    "Motorbike": 6,
    "Mug": 2,
    "Pistol": 3,
    "Rocket": 3,
    "Skateboard": 3,
    "Table": 3,
}
"""How many parts a category has; their numbers follow one another in this order."""

PART = 128
"""Files that a process reads at a time."""

COLUMNS = "x y z nx ny nz part"
Arrays = dict[str, np.ndarray]


def shapenet_parts(folder: Path, points: int, reading: Reading = HERE) -> Arrays:
    """The arrays of the benchmark: ``points`` of every shape, drawn by its name; smaller shapes repeat theirs."""
    numbers = _folders(folder / KNOWN_BY)
    lists = {split: folder / "train_test_split" / f"shuffled_{split}_file_list.json" for split in SPLITS}
    listed = {split: [_name(file, entry, numbers) for entry in json_list(file)] for split, file in lists.items()}
    check_disjoint(folder, listed)
    content: Arrays = {"category_names": np.array(list(PARTS_OF)), "category_parts": _parts()}
    done, total = 0, sum(map(len, listed.values()))
    for split, names in listed.items():
        categories = [numbers[name.partition("/")[0]] for name in names]
        shapes = read_in_parts(
            _shapes,
            [folder / f"{name}.txt" for name in names],
            names,
            categories,
            [points] * len(names),
            size=PART,
            part=split,
            before=done,
            total=total,
            reading=reading,
        )
        done += len(names)
        content |= {
            f"{split}_points": shapes["points"],
            f"{split}_part_labels": shapes["part_labels"],
            f"{split}_category": np.array(categories, dtype=np.uint8),
            f"{split}_ids": np.array(names),
        }
    return content


def _folders(file: Path) -> dict[str, int]:
    """The number of the category that each folder holds."""
    pairs = [line.split() for line in lines_of(file)]
    if sorted(pair[0] for pair in pairs) != list(PARTS_OF) or any(len(pair) != 2 for pair in pairs):
        raise DataError(
            f"{file}: expected {CATEGORIES} lines, each a category and its folder, such as 'Airplane 02691156', for "
            f"{', '.join(PARTS_OF)}; got {len(pairs)} lines"
        )
    return {folder: list(PARTS_OF).index(name) for name, folder in pairs}


def _name(file: Path, entry: object, numbers: dict[str, int]) -> str:
    """``category/shape`` from ``shape_data/category/shape``."""
    words = str(entry).split("/")
    if len(words) != 3 or words[1] not in numbers:
        raise DataError(f"{file}: expected entries such as shape_data/02691156/NAME of known categories, got {entry!r}")
    return f"{words[1]}/{words[2]}"


def _shapes(files: list[Path], names: list[str], categories: list[int], points: list[int]) -> Arrays:
    shapes = [_shape(*one) for one in zip(files, names, categories, points, strict=True)]
    return {"points": np.stack([cloud for cloud, _ in shapes]), "part_labels": np.stack([part for _, part in shapes])}


def _shape(file: Path, name: str, category: int, points: int) -> tuple[np.ndarray, np.ndarray]:
    if (file.parent / "points").is_dir():
        raise DataError(
            f"{file.parent}: expected a text file for every shape, got the layout of the release without normals. "
            "Hint: take shapenetcore_partanno_segmentation_benchmark_v0_normal"
        )
    table = table_of(file, COLUMNS)
    rows = _drawn(name, len(table), points)
    parts = table[:, 6]
    first, count = _first_parts()[category], list(PARTS_OF.values())[category]
    own = (parts >= first) & (parts < first + count) & (parts == np.floor(parts))
    if not own.all():
        row = int((~own).argmax())
        raise DataError(
            f"{file}: expected parts {first}..{first + count - 1} of {list(PARTS_OF)[category]}, "
            f"row {row + 1} has {parts[row]:g}"
        )
    return half_precision(file, table[:, :3])[rows], parts[rows].astype(np.uint8)


def _drawn(name: str, size: int, points: int) -> np.ndarray:
    """Rows of a shape in an order that its name determines, from the start again if they are not enough."""
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(size)
    return np.resize(order, points)


def _first_parts() -> list[int]:
    counts = list(PARTS_OF.values())
    return [sum(counts[:i]) for i in range(len(counts))]


def _parts() -> np.ndarray:
    """The parts of every category, padded with 255."""
    listed = np.full((CATEGORIES, MOST_PARTS), PADDING, dtype=np.uint8)
    for category, (first, count) in enumerate(zip(_first_parts(), PARTS_OF.values(), strict=True)):
        listed[category, :count] = range(first, first + count)
    return listed
