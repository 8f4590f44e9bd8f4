"""Graph property prediction of the Open Graph Benchmark (Hu et al., 2020), read from the official csv.gz files.

A folder such as ``ogbg_molhiv`` holds ``raw/`` with the nodes and edges of all graphs one after the other,
``split/NAME/`` with graph numbers, and ``RELEASE_v1.txt``. Every edge is stored once. The parsed tensors are kept in
the cache folder, under a name that follows from the content of the files.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from adacanon.data.array_cache import cached_arrays, content_digest
from adacanon.data.graph_checks import (
    check_categories,
    check_classes,
    check_counts,
    check_edges,
    check_finite,
    check_parts,
    check_tasks,
    check_total,
)
from adacanon.data.labelled_graphs import LabelledGraphs, Parts, Statistics, starts
from adacanon.data.number_files import OnBytes, read_numbers
from adacanon.data.official import OnProgress, silent
from adacanon.errors import DataError, MissingDataError, UnknownNameError
from adacanon.folders import cache_folder, data_folder

ATOMS = (119, 5, 12, 12, 10, 6, 6, 2, 2)
"""Categories of OGB's atom features: atomic number, chirality, degree, formal charge, hydrogens, radical electrons,
hybridization, aromatic, in a ring."""
BONDS = (5, 6, 2)
"""Categories of OGB's bond features: type, stereochemistry, conjugated."""

RELEASE = "RELEASE_v1.txt"
PARTS = ("train", "valid", "test")
_VERSION = 1
"""Part of the name of cached tensors. Raise it whenever the same files give other tensors."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Layout:
    """What a data set of OGB holds.

    Attributes:
        folder: of the official files, in ``OGB``.
        split: the name of the official split.
        metric: of the official evaluation.
        outputs: tasks with labels 0 and 1 each, or classes.
        classes: whether a graph has one of several classes, not labels of several tasks.
        node_categories: of every column of node features; empty where nodes have none.
        edge_categories: of every column of edge features; empty where they are real numbers.
        edge_numbers: columns of real edge features.
        archive: the official archive, and the name of the folder in it.
    """

    folder: str
    split: str
    metric: Literal["roc_auc", "average_precision", "accuracy"]
    outputs: int
    classes: bool = False
    node_categories: tuple[int, ...] = ATOMS
    edge_categories: tuple[int, ...] = BONDS
    edge_numbers: int = 0
    archive: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """Below the folder, without those of features that the data set does not have."""
        nodes = ("raw/node-feat",) if self.node_categories else ()
        raw = ("raw/num-node-list", "raw/num-edge-list", *nodes, "raw/edge", "raw/edge-feat", "raw/graph-label")
        return tuple(f"{name}.csv.gz" for name in (*raw, *(f"split/{self.split}/{part}" for part in PARTS)))


OGB: dict[str, Layout] = {
    "ogbg-molhiv": Layout("ogbg_molhiv", "scaffold", "roc_auc", 1, archive="hiv.zip"),
    "ogbg-molpcba": Layout("ogbg_molpcba", "scaffold", "average_precision", 128, archive="pcba.zip"),
    "ogbg-ppa": Layout("ogbg_ppa", "species", "accuracy", 37, True, (), (), 7, archive="ogbg_ppi_medium.zip"),
}
"""The three of the paper."""


def load_ogb(name: str, *, folder: Path | None = None, on_progress: OnProgress = silent) -> LabelledGraphs:
    """A data set of OGB from the official files in ``OGB/`` of a folder of data sets.

    Args:
        name: "ogbg-molhiv", "ogbg-molpcba" or "ogbg-ppa".
        folder: of data sets; ``ADACANON_DATA`` or, if it is not there, the cache folder, if not given.
        on_progress: called with the bytes that are read and with all of them; not where the tensors are cached.

    Example:
        >>> data = load_ogb("ogbg-molhiv")  # doctest: +SKIP
        >>> len(data), data.batch(torch.tensor([0])).x.shape  # doctest: +SKIP
        (41127, torch.Size([19, 9]))
        >>> load_ogb("ogbg-code2")
        Traceback (most recent call last):
            ...
        adacanon.errors.UnknownNameError: OGB data sets are ogbg-molhiv, ogbg-molpcba, ogbg-ppa; got 'ogbg-code2'
    """
    layout = layout_named(name)
    return read_ogb(official_folder(layout, folder), name, on_progress=on_progress)


def read_ogb(folder: Path, name: str, *, on_progress: OnProgress = silent) -> LabelledGraphs:
    """The data set from its official folder, checked; the parsed tensors are cached."""
    layout = layout_named(name)
    files = [folder / file for file in layout.files]
    missing = [file for file in (*files, folder / RELEASE) if not file.is_file()]
    if missing:
        raise DataError(
            f"{missing[0]} is missing ({len(missing)} of {len(files) + 1} files are). Hint: unpack {layout.archive} of "
            f"OGB again; {RELEASE} says which release the files are, other releases have other splits"
        )
    digest = content_digest(files, f"{name}, version {_VERSION}")
    arrays = cached_arrays(f"ogb-{layout.folder}", digest, lambda: _parsed(folder, layout, on_progress))
    return _labelled(name, layout, arrays)


def ogb_statistics(name: str) -> Statistics | None:
    """The counts of a data set, or None if it is not present; no graph is read."""
    layout = layout_named(name)
    try:
        folder = official_folder(layout)
    except DataError:
        return None
    nodes, edges = (
        _counts(folder / "raw" / f"num-{what}-list.csv.gz", lambda count: None) for what in ("node", "edge")
    )
    parts = (_counts(folder / "split" / layout.split / f"{part}.csv.gz", lambda count: None) for part in PARTS)
    train, validation, test = map(len, parts)
    return Statistics(train, validation, test, float(nodes.mean()), float(edges.mean()), layout.outputs)


def layout_named(name: str) -> Layout:
    """What the data set of that name holds."""
    if name not in OGB:
        raise UnknownNameError(f"OGB data sets are {', '.join(OGB)}; got {name!r}")
    return OGB[name]


def official_folder(layout: Layout, folder: Path | None = None) -> Path:
    """Where the official files lie."""
    roots = [folder] if folder else [data_folder(), cache_folder()]
    places = [root / "OGB" / layout.folder for root in roots if root is not None]
    for place in places:
        if place.is_dir():
            return place
    raise MissingDataError(
        f"{' and '.join(map(str, places))} {'is' if len(places) == 1 else 'are'} missing. Hint: fetch {layout.archive} "
        f"(https://ogb.stanford.edu/docs/graphprop), unpack it, name the folder OGB/{layout.folder}, and set "
        "ADACANON_DATA to the folder that holds OGB"
    )


def _parsed(folder: Path, layout: Layout, on_progress: OnProgress) -> Arrays:
    on_bytes = _counted([folder / file for file in layout.files], on_progress)
    raw = folder / "raw"
    nodes, edges = (_counts(raw / f"num-{what}-list.csv.gz", on_bytes) for what in ("node", "edge"))
    pairs = read_numbers(raw / "edge.csv.gz", np.int32, columns=2, on_bytes=on_bytes)
    check_total(raw / "edge.csv.gz", edges, len(pairs), what="edges")
    if len(nodes) != len(edges):
        raise DataError(f"{raw}: num-node-list has {len(nodes)} graphs and num-edge-list {len(edges)}")
    x = _node_features(raw / "node-feat.csv.gz", layout, nodes, on_bytes)
    check_edges(raw / "edge.csv.gz", pairs, nodes, edges)
    return {
        "nodes": nodes,
        "edges": edges,
        "x": x,
        "pairs": np.ascontiguousarray(pairs.T),
        "edge_attr": _edge_features(raw / "edge-feat.csv.gz", layout, edges, on_bytes),
        "labels": _labels(raw / "graph-label.csv.gz", layout, len(nodes), on_bytes),
        **_split(folder / "split" / layout.split, len(nodes), on_bytes),
    }


def _counts(file: Path, on_bytes: OnBytes) -> np.ndarray:
    return read_numbers(file, np.int32, columns=1, on_bytes=on_bytes)[:, 0]


def _node_features(file: Path, layout: Layout, nodes: np.ndarray, on_bytes: OnBytes) -> np.ndarray:
    """Categories; one that all nodes share where the data set has no node features."""
    if not layout.node_categories:
        check_counts(file.with_name("num-node-list.csv.gz"), nodes, int(nodes.sum()))
        return np.zeros((int(nodes.sum()), 1), dtype=np.uint8)
    x = read_numbers(file, np.uint8, columns=len(layout.node_categories), on_bytes=on_bytes)
    check_counts(file, nodes, len(x))
    check_categories(file, x, layout.node_categories)
    return x


def _edge_features(file: Path, layout: Layout, edges: np.ndarray, on_bytes: OnBytes) -> np.ndarray:
    if layout.edge_categories:
        values = read_numbers(file, np.uint8, columns=len(layout.edge_categories), on_bytes=on_bytes)
        check_categories(file, values, layout.edge_categories)
    else:
        values = read_numbers(file, np.float32, columns=layout.edge_numbers, on_bytes=on_bytes)
        check_finite(file, values)
    check_total(file, edges, len(values), what="edge features")
    return values


def _labels(file: Path, layout: Layout, graphs: int, on_bytes: OnBytes) -> np.ndarray:
    columns = 1 if layout.classes else layout.outputs
    labels = read_numbers(file, np.float32, columns=columns, missing=not layout.classes, on_bytes=on_bytes)
    if len(labels) != graphs:
        raise DataError(f"{file}: expected labels of {graphs} graphs, got {len(labels)}")
    if layout.classes:
        check_classes(file, labels, layout.outputs)
        return labels[:, 0].astype(np.int64)
    check_tasks(file, labels)
    return labels


def _split(folder: Path, graphs: int, on_bytes: OnBytes) -> Arrays:
    parts = {part: _counts(folder / f"{part}.csv.gz", on_bytes).astype(np.int64) for part in PARTS}
    check_parts(folder, parts, graphs)
    return parts


def _counted(files: Iterable[Path], on_progress: OnProgress) -> OnBytes:
    """Adds up the bytes of all files."""
    total, done = sum(file.stat().st_size for file in files), 0

    def on_bytes(count: int) -> None:
        nonlocal done
        done += count
        on_progress(done, total)

    return on_bytes


def _labelled(name: str, layout: Layout, arrays: Arrays) -> LabelledGraphs:
    tensors = {key: torch.from_numpy(values) for key, values in arrays.items()}
    train, validation, test = (tensors[part] for part in PARTS)
    return LabelledGraphs(
        name,
        tensors["x"],
        tensors["pairs"],
        tensors["edge_attr"],
        starts(arrays["nodes"]),
        starts(arrays["edges"]),
        _as_labels(tensors["labels"]),
        Parts(train, validation, test),
        layout.node_categories or (1,),
        layout.edge_categories,
        layout.outputs,
    )


def _as_labels(labels: Tensor) -> Tensor:
    return labels if labels.dtype == torch.int64 else labels.float()
