"""The official releases of data sets that can be imported: by what each is known, how it is read, what it holds."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import numpy as np

from adacanon.data import (
    images,
    modelnet,
    official_modelnet,
    official_peptides,
    official_qm9,
    official_shapenet,
    peptides,
    qm9,
    shapenet,
)
from adacanon.data.file_parts import Reading
from adacanon.data.official_images import ARCHIVES, MNIST_NAMES, read_images

Arrays = dict[str, np.ndarray]
Counts = dict[str, int]


@dataclass(frozen=True)
class Release:
    """An official release.

    Attributes:
        name: of the official folder or archive.
        known_by: names of files; whatever holds one of them is this release. An archive may also be named itself.
        read: from the source, the number of points of a cloud, and where and how files are read, to the arrays.
        file: which the loader reads.
        check: reads it from the folder given; what it refuses is not kept.
        key: of the arrays that have one entry per sample, after the name of their part; empty if the part is one.
        counts: samples in every part of the official release, in each form of it.
        unit: what the samples are.
        remark: what else there is to say of a source.
    """

    name: str
    known_by: tuple[str, ...]
    read: Callable[[Path, int, Reading], Arrays]
    file: Path
    check: Callable[[Path], object]
    key: str
    counts: tuple[Counts, ...]
    unit: str
    remark: Callable[[Path], str] = lambda source: ""

    def holds(self, source: Path) -> bool:
        """Whether a folder, or an archive, is this release."""
        if source.is_file():
            return any(fnmatch(source.name, name) for name in self.known_by if name.endswith(".tar.gz"))
        return any(next(source.glob(name), None) is not None for name in self.known_by)

    def counted(self, arrays: Arrays) -> Counts:
        """Samples in every part."""
        return {part: len(arrays[part + self.key]) for part in self.counts[0]}


def _check_modelnet(folder: Path) -> None:
    for classes in (40, 10):
        modelnet.load_modelnet(classes, 1, folder=folder)  # type: ignore[arg-type]


def _images(name: str, official: str, *known_by: str) -> Release:
    layout = images.layout_of(name)
    return Release(
        official,
        known_by,
        lambda source, points, reading: read_images(name, source, reading.on_progress),
        images.file_of(name),
        lambda folder: images.load_images(name, folder=folder),
        "_labels",
        ({"train": layout.train, "test": layout.test},),
        "images",
    )


def _read_qm9(source: Path, points: int, reading: Reading) -> Arrays:
    return official_qm9.read_qm9(source, without=official_qm9.list_beside(source), reading=reading)


def _remark_on_qm9(source: Path) -> str:
    listed = official_qm9.list_beside(source)
    if listed is None:
        return f"There is no {official_qm9.LIST} in the folder or beside it: molecules that fell apart are kept."
    return f"Molecules that fell apart, in {listed}, are left out."


_clouds = partial(Release, key="_ids", unit="shapes")

RELEASES = (
    _clouds(
        name="modelnet40_normal_resampled",
        known_by=(official_modelnet.RESAMPLED,),
        read=official_modelnet.resampled_modelnet,
        file=modelnet.FILE,
        check=_check_modelnet,
        counts=({"train": 9843, "test": 2468},),
    ),
    _clouds(
        name="modelnet40_ply_hdf5_2048",
        known_by=(official_modelnet.HDF5,),
        read=lambda source, points, reading: official_modelnet.hdf5_modelnet(source, points, reading.on_progress),
        file=modelnet.FILE,
        check=_check_modelnet,
        counts=({"train": 9840, "test": 2468},),
    ),
    _clouds(
        name="shapenetcore_partanno_segmentation_benchmark_v0_normal",
        known_by=(official_shapenet.KNOWN_BY,),
        read=official_shapenet.shapenet_parts,
        file=shapenet.FILE,
        check=lambda folder: shapenet.load_shapenet(points=1, folder=folder),
        counts=({"train": 12137, "val": 1870, "test": 2874},),
    ),
    _images("cifar10", "cifar-10-python", ARCHIVES["cifar10"], "data_batch_1"),
    _images("cifar100", "cifar-100-python", ARCHIVES["cifar100"], "meta"),
    _images("mnist", "MNIST", *(f"{MNIST_NAMES['train']}-images-idx3-ubyte{suffix}" for suffix in ("", ".gz"))),
    Release(
        "Peptides-func",
        ("val.pt",),
        lambda source, points, reading: official_peptides.read_peptides(source, reading.on_progress),
        peptides.FILE,
        lambda folder: peptides.load_peptides(folder=folder),
        "",
        ({"train": 10_873, "validation": 2_331, "test": 2_331},),
        "peptides",
    ),
    Release(
        "QM9 (dsgdb9nsd)",
        (official_qm9.MOLECULES,),
        _read_qm9,
        qm9.FILE,
        lambda folder: qm9.load_qm9(folder=folder),
        "",
        tuple({"train": total - 8000, "validation": 3000, "test": 5000} for total in (130_831, 133_885)),
        "molecules",
        _remark_on_qm9,
    ),
)
"""All that can be imported; QM9 with and without the molecules that fell apart."""
