"""Peptides-func of the Long Range Graph Benchmark (Dwivedi et al., 2022): peptides as graphs of atoms, ten functions.

The file ``molecules/peptides_func.npz`` holds flat arrays with OGB's atom and bond features, every bond once, labels
(peptides, 10) and the official split. The metric is the mean average precision of the ten labels.
"""

from pathlib import Path

import numpy as np
import torch

from adacanon.data.arrays import Arrays, imported_file, opened
from adacanon.data.graph_checks import check_categories, check_counts, check_edges, check_parts, check_tasks
from adacanon.data.labelled_graphs import LabelledGraphs, Parts, Statistics, starts
from adacanon.data.ogb import ATOMS, BONDS
from adacanon.errors import DataError

FILE = Path("molecules") / "peptides_func.npz"
PARTS = ("train", "validation", "test")
KEYS = ("node_features", "node_counts", "edges", "edge_features", "edge_counts", "labels", *PARTS)
LABELS = 10


def load_peptides(*, folder: Path | None = None) -> LabelledGraphs:
    """The peptides from ``molecules/peptides_func.npz`` in a folder of data sets.

    Args:
        folder: of data sets; ``ADACANON_DATA`` or, for imported ones, the cache folder, if not given.

    Example:
        >>> data = load_peptides()  # doctest: +SKIP
        >>> len(data), data.labels.shape  # doctest: +SKIP
        (15535, torch.Size([15535, 10]))
        >>> load_peptides(folder=Path("nowhere"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        adacanon.errors.MissingDataError: nowhere/molecules/peptides_func.npz is missing. Hint: set ADACANON_DATA to ...
    """
    file = imported_file(FILE, folder, make="adacanon data import FOLDER --output DATA")
    with opened(file, KEYS) as arrays:
        return _peptides(arrays)


def peptides_statistics() -> Statistics | None:
    """The counts of the data set, or None if it is not present; no graph is read."""
    try:
        file = imported_file(FILE, None, make="")
    except DataError:
        return None
    with opened(file, KEYS) as arrays:
        train, validation, test = (arrays.shape(part)[0] for part in PARTS)
        nodes, edges = (float(arrays.array(f"{what}_counts", "iu", (None,)).mean()) for what in ("node", "edge"))
    return Statistics(train, validation, test, nodes, edges, LABELS)


def _peptides(arrays: Arrays) -> LabelledGraphs:
    file = arrays.file
    nodes, edges = (arrays.array(f"{what}_counts", "iu", (None,)).astype(np.int64) for what in ("node", "edge"))
    if len(nodes) != len(edges):
        raise DataError(f"{file}: node_counts has {len(nodes)} graphs and edge_counts {len(edges)}")
    x = arrays.array("node_features", "u", (int(nodes.sum()), len(ATOMS)))
    pairs = arrays.array("edges", "iu", (int(edges.sum()), 2)).astype(np.int32)
    bonds = arrays.array("edge_features", "u", (len(pairs), len(BONDS)))
    labels = arrays.array("labels", "iuf", (len(nodes), LABELS)).astype(np.float32)
    parts = {part: arrays.array(part, "iu", (None,)).astype(np.int64) for part in PARTS}
    check_counts(file, nodes, len(x))
    check_edges(file, pairs, nodes, edges)
    check_categories(file, x, ATOMS)
    check_categories(file, bonds, BONDS)
    check_tasks(file, labels)
    check_parts(file, parts, len(nodes))
    return LabelledGraphs(
        "peptides-func",
        torch.from_numpy(x),
        torch.from_numpy(np.ascontiguousarray(pairs.T)),
        torch.from_numpy(bonds),
        starts(nodes),
        starts(edges),
        torch.from_numpy(labels),
        Parts(*(torch.from_numpy(parts[part]) for part in PARTS)),
        ATOMS,
        BONDS,
        LABELS,
    )
