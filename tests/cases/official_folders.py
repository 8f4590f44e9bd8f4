"""Tiny folders in the layouts of the official releases."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from adacanon.data.official_modelnet import MODELNET10
from adacanon.data.official_shapenet import PARTS_OF

CLASSES = sorted([*MODELNET10, *(f"thing_{i:02d}" for i in range(30))])
POINTS = 6
FOLDERS = {name: f"02{7 * i:06d}" for i, name in enumerate(PARTS_OF)}


def cloud(seed: int, points: int = POINTS) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (points, 3))


def resampled(folder: Path) -> Path:
    """One training and one test shape of every class, as lines of x,y,z,nx,ny,nz."""
    folder.mkdir()
    (folder / "modelnet40_shape_names.txt").write_text("\n".join(CLASSES) + "\n")
    for number, part in enumerate(("train", "test"), 1):
        ids = [f"{name}_{number:04d}" for name in CLASSES]
        ten = [f"{name}_{number:04d}" for name in MODELNET10]
        (folder / f"modelnet40_{part}.txt").write_text("\n".join(ids) + "\n")
        (folder / f"modelnet10_{part}.txt").write_text("\r\n".join(ten) + "\r\n")
        for label, name in enumerate(CLASSES):
            (folder / name).mkdir(exist_ok=True)
            rows = np.hstack([cloud(100 * number + label), np.zeros((POINTS, 3))])
            np.savetxt(folder / name / f"{name}_{number:04d}.txt", rows, delimiter=",", fmt="%.6f")
    return folder


def hdf5_contents() -> dict[str, dict[str, Any]]:
    """What the files of the other release hold: two for training, one for the test."""
    halves = {"ply_data_train0": range(20), "ply_data_train1": range(20, 40), "ply_data_test0": range(40)}
    return {
        name: {
            "data": np.stack([cloud(label + 50 * number) for label in labels]).astype(np.float32),
            "label": np.array(labels, dtype=np.uint8)[:, None],
        }
        for number, (name, labels) in enumerate(halves.items())
    }


def hdf5(folder: Path) -> Path:
    """Everything but the HDF5 files themselves."""
    folder.mkdir()
    (folder / "shape_names.txt").write_text("\n".join(CLASSES))
    prefix = "data/modelnet40_ply_hdf5_2048/"
    (folder / "train_files.txt").write_text(f"{prefix}ply_data_train0.h5\n{prefix}ply_data_train1.h5\n")
    (folder / "test_files.txt").write_text(f"{prefix}ply_data_test0.h5\n")
    names = [f"{name}/{name}_0009.ply" for name in CLASSES[:20]]
    (folder / "ply_data_train_0_id2file.json").write_text(json.dumps(names))
    return folder


def shapenet(folder: Path) -> Path:
    """One shape of every category for each of the three parts, of 4, 6 and 9 points."""
    (folder / "train_test_split").mkdir(parents=True)
    lines = [f"{name}\t{number}" for name, number in FOLDERS.items()]
    (folder / "synsetoffset2category.txt").write_text("\n".join(lines) + "\n")
    for size, split in zip((4, 6, 9), ("train", "val", "test"), strict=True):
        entries = [f"shape_data/{number}/{split}{number}" for number in FOLDERS.values()]
        (folder / "train_test_split" / f"shuffled_{split}_file_list.json").write_text(json.dumps(entries))
        first = 0
        for (name, count), number in zip(PARTS_OF.items(), FOLDERS.values(), strict=True):
            (folder / number).mkdir(exist_ok=True)
            parts = first + np.arange(size) % count
            rows = np.hstack([cloud(size, size), np.zeros((size, 3)), parts[:, None]])
            np.savetxt(folder / number / f"{split}{number}.txt", rows, fmt="%.6f")
            first += PARTS_OF[name]
    return folder
