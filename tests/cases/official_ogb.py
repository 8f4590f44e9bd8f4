"""A few graphs in the layout of the official files of OGB."""

import gzip
from pathlib import Path

import numpy as np

from adacanon.data.ogb import OGB, RELEASE, Layout


def write_rows(file: Path, rows: np.ndarray) -> None:
    """Numbers separated by commas, nothing where they are NaN."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (",".join("" if value != value else f"{value:g}" for value in row) for row in rows.tolist())
    file.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def official_ogb(root: Path, name: str, *, graphs: int = 30, seed: int = 0) -> Path:
    """A folder with paths, some of them closed to rings, random features and labels; the folder of data sets."""
    layout, draw = OGB[name], np.random.default_rng(seed)
    folder = root / "OGB" / layout.folder
    sizes = draw.integers(3, 9, graphs)
    closed = draw.integers(0, 2, graphs)
    edges = [_edges(int(n), bool(ring)) for n, ring in zip(sizes, closed, strict=True)]
    counts = np.array([len(pairs) for pairs in edges])
    write_rows(folder / "raw/num-node-list.csv.gz", sizes[:, None])
    write_rows(folder / "raw/num-edge-list.csv.gz", counts[:, None])
    write_rows(folder / "raw/edge.csv.gz", np.concatenate(edges))
    if layout.node_categories:
        write_rows(folder / "raw/node-feat.csv.gz", draw.integers(0, layout.node_categories, (sizes.sum(), 9)))
    write_rows(folder / "raw/edge-feat.csv.gz", _edge_features(layout, int(counts.sum()), draw))
    write_rows(folder / "raw/graph-label.csv.gz", _labels(layout, graphs, closed, draw))
    _write_split(folder, layout, draw.permutation(graphs))
    (folder / RELEASE).write_text("v1\n")
    return root


def _write_split(folder: Path, layout: Layout, order: np.ndarray) -> None:
    third = len(order) // 3
    for part, numbers in zip(("train", "valid", "test"), np.split(order, [third, 2 * third]), strict=True):
        write_rows(folder / f"split/{layout.split}/{part}.csv.gz", np.sort(numbers)[:, None])


def _edges(nodes: int, closed: bool) -> np.ndarray:
    """Each edge once."""
    path = [(i, i + 1) for i in range(nodes - 1)]
    return np.array([*path, (0, nodes - 1)] if closed else path)


def _edge_features(layout: Layout, edges: int, draw: np.random.Generator) -> np.ndarray:
    if layout.edge_categories:
        return draw.integers(0, layout.edge_categories, (edges, len(layout.edge_categories)))
    return draw.integers(0, 1000, (edges, layout.edge_numbers)) / 1000


def _labels(layout: Layout, graphs: int, closed: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Classes at random; of tasks, the first is whether the graph is a ring, and of several many are missing."""
    if layout.classes:
        return draw.integers(0, layout.outputs, (graphs, 1))
    labels = draw.integers(0, 2, (graphs, layout.outputs)).astype(float)
    labels[:, 0] = closed
    if layout.outputs > 1:
        labels[:, 1:][draw.random((graphs, layout.outputs - 1)) < 0.4] = np.nan
    return labels
