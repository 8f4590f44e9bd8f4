"""What must hold of the arrays of a data set of graphs; every error names the file and the graph."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from adacanon.errors import DataError


def check_counts(file: Path, nodes: np.ndarray, rows: int, *, what: str = "node features") -> None:
    """Every graph has nodes, and there is one row of features for each of them."""
    if nodes.size and nodes.min() < 1:
        raise DataError(f"{file}: graph {int(nodes.argmin())} has no nodes. Hint: leave it out of all files")
    check_total(file, nodes, rows, what=what)


def check_total(file: Path, counts: np.ndarray, rows: int, *, what: str) -> None:
    """As many rows as the counts of all graphs add up to."""
    if counts.sum() != rows:
        raise DataError(f"{file}: the counts of all graphs add up to {int(counts.sum())}, but there are {rows} {what}")


def check_edges(file: Path, edges: np.ndarray, nodes: np.ndarray, counts: np.ndarray) -> None:
    """Edges (rows, 2) join different nodes of their own graph, and none comes twice or in both directions."""
    owner = np.repeat(np.arange(len(nodes)), counts)
    outside = ((edges < 0) | (edges >= nodes[owner, None])).any(1)
    if outside.any():
        row = int(outside.argmax())
        raise DataError(
            f"{file}, line {row + 1}: expected nodes 0..{nodes[owner[row]] - 1} of graph {owner[row]}, got "
            f"{edges[row].tolist()}"
        )
    low, high = edges.min(1).astype(np.int64), edges.max(1).astype(np.int64)
    loops = low == high
    if loops.any():
        row = int(loops.argmax())
        raise DataError(f"{file}, line {row + 1}: an edge of graph {owner[row]} joins node {low[row]} with itself")
    first = np.cumsum(nodes, dtype=np.int64) - nodes
    names = (first[owner] + low) * int(nodes.max()) + high
    _, place, times = np.unique(names, return_index=True, return_counts=True)
    if (times > 1).any():
        again = int(place[times.argmax()])
        raise DataError(
            f"{file}: expected every edge once, the edge {edges[again].tolist()} of graph {owner[again]} comes "
            f"{times.max()} times. Hint: list an edge in one direction only"
        )


def check_categories(file: Path, values: np.ndarray, categories: Sequence[int]) -> None:
    """Every column (rows, columns) holds whole numbers below its number of categories."""
    if values.shape[1] != len(categories):
        raise DataError(f"{file}: expected {len(categories)} columns, got {values.shape[1]}")
    bad = (values < 0) | (values >= np.array(categories))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{file}, line {row + 1}: expected categories 0..{categories[column] - 1} in column {column + 1}, got "
            f"{values[row, column]}"
        )


def check_finite(file: Path, values: np.ndarray) -> None:
    """No NaN and no infinity."""
    bad = ~np.isfinite(values).all(1)
    if bad.any():
        raise DataError(f"{file}, line {int(bad.argmax()) + 1}: expected finite numbers")


def check_classes(file: Path, labels: np.ndarray, classes: int) -> None:
    """One whole number in 0 .. classes - 1 for every graph, (graphs, 1)."""
    fits = (labels >= 0) & (labels < classes) & (labels == np.round(labels))
    if not fits.all():
        row = int((~fits.all(1)).argmax())
        raise DataError(f"{file}, line {row + 1}: expected a class in 0..{classes - 1}, got {labels[row, 0]:g}")


def check_tasks(file: Path, labels: np.ndarray) -> None:
    """Zeros, ones and NaN."""
    bad = ~(np.isnan(labels) | (labels == 0) | (labels == 1))
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"{file}, line {row + 1}: expected labels 0, 1 or nothing where one is missing, got "
            f"{labels[row, column]:g} in column {column + 1}"
        )


def check_parts(place: Path, parts: dict[str, np.ndarray], graphs: int) -> None:
    """Parts are not empty, name graphs that there are, and share none."""
    for part, index in parts.items():
        if len(index) == 0 or index.min() < 0 or index.max() >= graphs:
            got = f"{index.min()}..{index.max()}" if len(index) else "none"
            raise DataError(f"{place}: expected graphs 0..{graphs - 1} in the part {part}, got {got}")
    numbers, times = np.unique(np.concatenate(list(parts.values())), return_counts=True)
    if (times > 1).any():
        raise DataError(f"{place}: graph {numbers[times.argmax()]} is listed {times.max()} times in {', '.join(parts)}")
