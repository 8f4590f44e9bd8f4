"""Graph data sets in the TU format (Morris et al., 2020): a folder of text files, one number or pair per line.

Nodes and graphs are counted from one in the files. Node counts come from the graph indicator, never from the edges:
isolated nodes appear in no edge.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from adacanon.data.label_codes import CHANNELS, MOST_ONE_HOT, label_codes
from adacanon.errors import DataError, MissingDataError, UnknownNameError
from adacanon.extras import optional
from adacanon.folders import cache_folder, data_folder

Features = Literal["labels", "attributes"]
"""One-hot node labels alone, or followed by the node attributes where a data set has them."""

NAMES = ("MUTAG", "PTC_MR", "ENZYMES", "PROTEINS", "NCI1")


@dataclass(frozen=True)
class GraphDataset:
    """Graphs as torch-geometric ``Data`` objects with one-hot features, and their classes 0 .. classes - 1.

    Example:
        >>> from torch_geometric.data import Data
        >>> pair = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> GraphDataset("pairs", [pair, pair], torch.tensor([0, 1]), classes=2).channels
        2
    """

    name: str
    graphs: list[Any]
    labels: Tensor
    classes: int

    @property
    def channels(self) -> int:
        """Node features."""
        return int(self.graphs[0].x.shape[1])


@dataclass(frozen=True)
class Statistics:
    """What the paper's table of data sets counts, and the node features.

    Attributes:
        graphs: in the whole data set.
        classes: of the graphs.
        nodes: per graph on average.
        edges: per graph on average; the two directions of an edge count as one.
        channels: one-hot node labels, or 1 for the constant where there are none.
        attributes: real node attributes, beside the labels.
    """

    graphs: int
    classes: int
    nodes: float
    edges: float
    channels: int
    attributes: int


def load_tu(name: str, *, features: Features = "labels") -> GraphDataset:
    """A data set from ``ADACANON_DATA/TUDataset``, or fetched by torch-geometric into the cache folder.

    Example:
        >>> load_tu("MUTAG").graphs[0]  # doctest: +SKIP
        Data(x=[17, 7], edge_index=[2, 38], y=[1], num_nodes=17)
        >>> load_tu("PTC")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        adacanon.errors.UnknownNameError: TU data sets are MUTAG, ...; got 'PTC'. Hint: PTC in the paper is PTC_MR
    """
    return read_tu(raw_folder(_known(name)), name, features=features)


def statistics(name: str) -> Statistics | None:
    """The counts of a data set, or None if it is not present: nothing is fetched, and no graph is built."""
    return read_statistics(raw_folder(name), name) if is_present(_known(name)) else None


def is_present(name: str) -> bool:
    """Whether a data set can be read without fetching it."""
    return any(_holds(folder, name) for folder in _folders(name))


def raw_folder(name: str) -> Path:
    """The folder of the text files, after fetching them into the cache folder if need be."""
    if not is_present(name):
        _fetch(name)
    return next(folder for folder in _folders(name) if _holds(folder, name))


def read_tu(folder: Path, name: str, *, features: Features = "labels") -> GraphDataset:
    r"""Parse a folder of TU text files, checking every count.

    Node labels are one-hot. More than 2048 of them get fixed codes of 256 channels, with a warning
    (``data/label_codes.py``).

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> files = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "5\n7\n"}
        >>> with TemporaryDirectory() as folder:
        ...     for name, text in files.items():
        ...         _ = Path(folder, f"PAIRS_{name}.txt").write_text(text)
        ...     read_tu(Path(folder), "PAIRS").labels
        tensor([0, 1])
    """
    indicator, labels, edges = _structure(folder, name)
    x = _node_features(folder, name, len(indicator), features)
    classes, y = np.unique(labels, return_inverse=True)
    return GraphDataset(name, _split(x, edges, indicator, y), torch.from_numpy(y), len(classes))


def read_statistics(folder: Path, name: str) -> Statistics:
    """The counts of a folder of TU text files, with the checks of :func:`read_tu`."""
    indicator, labels, edges = _structure(folder, name)
    attributes = folder / f"{name}_node_attributes.txt"
    return Statistics(
        graphs=len(labels),
        classes=len(np.unique(labels)),
        nodes=len(indicator) / len(labels),
        edges=edges.shape[1] / 2 / len(labels),
        channels=_node_features(folder, name, len(indicator), "labels").shape[1],
        attributes=_numbers(attributes, rows=1).shape[1] if attributes.exists() else 0,
    )


def _known(name: str) -> str:
    if name not in NAMES:
        raise UnknownNameError(f"TU data sets are {', '.join(NAMES)}; got {name!r}. Hint: PTC in the paper is PTC_MR")
    return name


def _folders(name: str) -> list[Path]:
    """Where the text files may be: in the user's data folder, or in the cache."""
    roots = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    return [root / "TUDataset" / name / "raw" for root in roots]


def _holds(folder: Path, name: str) -> bool:
    return (folder / f"{name}_A.txt").exists()


def _fetch(name: str) -> None:
    with optional(f"Fetching {name}"):
        from torch_geometric.datasets import TUDataset

    try:
        TUDataset(str(cache_folder() / "TUDataset"), name)
    except (OSError, RuntimeError) as error:
        places = " and ".join(str(folder) for folder in _folders(name))
        raise MissingDataError(
            f"{name} was looked for in {places} and could not be fetched ({error}). "
            f"Hint: set ADACANON_DATA to a folder that holds TUDataset/{name}/raw"
        ) from error


def _structure(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The graph of every node, the label of every graph, and the edges, (2, edges)."""
    indicator = _integers(folder / f"{name}_graph_indicator.txt") - 1
    labels = _integers(folder / f"{name}_graph_labels.txt")
    _check_indicator(folder / f"{name}_graph_indicator.txt", indicator, len(labels))
    return indicator, labels, _edges(folder / f"{name}_A.txt", indicator)


def _numbers(file: Path, *, rows: int | None = None) -> np.ndarray:
    """The numbers of a file with one row per line, of the first rows or all."""
    if not file.exists():
        raise DataError(f"{file} is missing. Hint: a TU folder holds A, graph_indicator and graph_labels at least")
    try:
        return np.loadtxt(file, delimiter=",", ndmin=2, dtype=np.float64, max_rows=rows)
    except ValueError as error:
        raise DataError(f"{file}: expected numbers separated by commas, one row per line: {error}") from error


def _integers(file: Path) -> np.ndarray:
    values = _numbers(file)
    if values.shape[1] != 1:
        raise DataError(f"{file}: expected one whole number per line, got rows of {values.shape[1]} values")
    return _whole(file, values)[:, 0]


def _whole(file: Path, values: np.ndarray) -> np.ndarray:
    """The numbers as integers; 1.9, NaN, and what is too large to be exact are refused."""
    whole = (np.abs(values) < 2**53) & (values == np.round(values))
    if not whole.all():
        line, column = np.argwhere(~whole)[0]
        raise DataError(f"{file}, line {line + 1}: expected whole numbers, got {values[line, column]:g}")
    return values.astype(np.int64)


def _check_indicator(file: Path, indicator: np.ndarray, graphs: int) -> None:
    """Every graph has nodes, and its nodes stand together."""
    ordered = len(indicator) > 0 and bool((np.diff(indicator) >= 0).all())
    if not ordered or not np.array_equal(np.unique(indicator), np.arange(graphs)):
        raise DataError(
            f"{file}: expected the graphs 1..{graphs} in order, each with at least one node, "
            f"got {len(np.unique(indicator))} graphs. Hint: the number of graph labels must match"
        )


def _edges(file: Path, indicator: np.ndarray) -> np.ndarray:
    """(2, edges) of nodes counted from zero over the whole data set."""
    edges = _numbers(file)
    if edges.shape[1] != 2:
        raise DataError(f"{file}: expected two node ids per line, got {edges.shape[1]}")
    edges = _whole(file, edges).T - 1
    if edges.min() < 0 or edges.max() >= len(indicator):
        raise DataError(f"{file}: node ids must lie in 1..{len(indicator)}, got {edges.min() + 1}..{edges.max() + 1}")
    across = indicator[edges[0]] != indicator[edges[1]]
    if across.any():
        raise DataError(f"{file}, line {int(across.argmax()) + 1}: an edge joins two different graphs")
    return edges


def _node_features(folder: Path, name: str, nodes: int, features: Features) -> np.ndarray:
    """One-hot labels, a constant if there are none, and the attributes if asked for."""
    label_file, attribute_file = folder / f"{name}_node_labels.txt", folder / f"{name}_node_attributes.txt"
    parts = [_one_hot(label_file, nodes) if label_file.exists() else np.ones((nodes, 1))]
    if features == "attributes" and attribute_file.exists():
        parts.append(_rows(attribute_file, nodes))
    x = np.concatenate(parts, axis=1)
    infinite = ~(np.abs(x) <= np.finfo(np.float32).max)  # networks read them as float32
    if infinite.any():
        raise DataError(f"{folder}: node features must be finite in float32, {int(infinite.sum())} are not")
    return x


def _rows(file: Path, nodes: int) -> np.ndarray:
    values = _numbers(file)
    if len(values) != nodes:
        raise DataError(f"{file}: expected one line for each of the {nodes} nodes, got {len(values)}")
    return values


def _one_hot(file: Path, nodes: int) -> np.ndarray:
    """Every column of labels has channels of its own."""
    return np.concatenate([_encoded(file, column) for column in _whole(file, _rows(file, nodes)).T], axis=1)


def _encoded(file: Path, column: np.ndarray) -> np.ndarray:
    """A channel for each label; fixed codes if there are so many that channels would fill the memory."""
    labels, index = np.unique(column, return_inverse=True)
    if len(labels) <= MOST_ONE_HOT:
        return np.eye(len(labels))[index]
    warnings.warn(
        f"{file} has {len(labels)} labels, more than {MOST_ONE_HOT}: they are fixed codes of {CHANNELS} channels "
        "instead of one channel each",
        stacklevel=2,
    )
    return label_codes(labels)[index]


def _split(x: np.ndarray, edges: np.ndarray, indicator: np.ndarray, y: np.ndarray) -> list[Any]:
    with optional("A data set of graphs"):
        from torch_geometric.data import Data

    first_node = np.searchsorted(indicator, np.arange(len(y) + 1))
    edges = edges[:, np.argsort(indicator[edges[0]], kind="stable")]
    first_edge = np.searchsorted(indicator[edges[0]], np.arange(len(y) + 1))
    return [
        Data(
            x=torch.from_numpy(x[first_node[i] : first_node[i + 1]]).float(),
            edge_index=torch.from_numpy(edges[:, first_edge[i] : first_edge[i + 1]] - first_node[i]),
            y=torch.tensor([int(y[i])]),
            num_nodes=int(first_node[i + 1] - first_node[i]),
        )
        for i in range(len(y))
    ]
