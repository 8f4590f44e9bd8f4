"""Graphs with categories and edge features, prepared once for A-NLSF as a readout: frames and return probabilities."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adacanon.arguments import whole_number
from adacanon.errors import InputError, ShapeError
from adacanon.graphs.band_frames import BandFrames, band_frames_of
from adacanon.graphs.bands import Partition
from adacanon.graphs.category_embedding import one_hot_columns
from adacanon.graphs.coefficient_cache import (
    coefficient_key,
    is_stored,
    load_coefficients,
    remove_coefficients,
    store_coefficients,
)
from adacanon.graphs.coefficients import in_part, list_of_graphs, node_signal
from adacanon.graphs.eigensolver_cost import announce_dense
from adacanon.graphs.framed_graphs import FramedGraphs, walk_probabilities
from adacanon.graphs.partial_spectra import partial_spectrum
from adacanon.graphs.portions import InOrder, OnProgress, in_portions, portions_of, side_by_side
from adacanon.graphs.shift_operators import ShiftOperator, edge_index_of, node_count, shift_matrix
from adacanon.graphs.spectra import Spectrum, decompose
from adacanon.notices import warn_of_unread_features

_VERSION = 1
"""Part of the key of cached tensors. Raise it whenever the same graphs get others."""

_PORTION = 64
"""Graphs that a process takes at a time."""

_KEPT_PORTION = 512
"""The same where portions are kept on the disk."""

Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Preparation:
    """How graphs are prepared, which is what their tensors depend on beside the graphs.

    Attributes:
        partition: the bands.
        operator: the shift operator.
        categories: how many every column of ``x`` has; empty if ``x`` holds real numbers.
        frame_width: at most this many columns per band.
        walk_steps: return probabilities per node.
    """

    partition: Partition
    operator: ShiftOperator
    categories: tuple[int, ...]
    frame_width: int
    walk_steps: int

    def tensors(self, graph: Any, number: int) -> tuple[Tensor, ...]:
        """Return probabilities (nodes, steps), and basis, sizes and ranks of the frames of one graph."""
        try:
            spectrum = self._spectrum(graph)
            signal = self._signal(graph, number)
            frames = band_frames_of(
                [(spectrum, signal)], [edge_index_of(graph)], self.partition, width=self.frame_width
            )
            walks = walk_probabilities(graph, self.walk_steps)
        except (InputError, ShapeError) as error:
            error.add_note(f"in graph {number}")
            raise
        return walks.float(), frames.basis, frames.sizes, frames.ranks

    def _spectrum(self, graph: Any) -> Spectrum:
        if in_part(graph, self.partition):
            return partial_spectrum(graph, within=self.partition.reach, operator=self.operator)
        announce_dense(node_count(graph))
        return decompose(shift_matrix(graph, self.operator))

    def _signal(self, graph: Any, number: int) -> Tensor:
        """What the frames are made of: node features, or zeros and ones for their categories."""
        signal = node_signal(graph, number)
        return one_hot_columns(signal, self.categories).double() if self.categories else signal


def prepared_graphs(
    graphs: Any,
    partition: Partition,
    *,
    categories: Sequence[int] = (),
    operator: ShiftOperator = "normalized",
    frame_width: int = 4,
    walk_steps: int = 16,
    cache: bool = True,
    jobs: int = 1,
    in_order: InOrder | None = None,
    show: bool = False,
    on_progress: OnProgress | None = None,
) -> FramedGraphs:
    """Prepare torch-geometric ``Data`` objects, a ``Batch``, or a sequence of graphs for :class:`ANLSFReadout`.

    Every graph is decomposed once. What the encoder reads of a node are its features followed by the probabilities that
    a random walk is back after 1, ..., ``walk_steps`` steps; of an edge, its ``edge_attr``.

    Args:
        graphs: with ``x`` (nodes, columns) and ``edge_index``, edges of a graph in both directions.
        partition: the bands.
        categories: how many every column of ``x`` has; empty if ``x`` holds real numbers.
        operator: "normalized", "laplacian", "adjacency", or a function from a graph to a symmetric matrix.
        frame_width: at most this many columns per band.
        walk_steps: return probabilities per node.
        cache: keep the tensors of whole data sets, of 1000 graphs or more, on disk. Stopped in the middle, the same
            call goes on with the portions that are missing.
        jobs: processes side by side. Scripts then need ``if __name__ == "__main__":``, as for all processes in Python.
        in_order: calls a function with several arguments, elsewhere, and gives the answers in their order; in the place
            of ``jobs``.
        show: draw a bar on the standard error output.
        on_progress: called with the graphs that are done and with all of them.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> pair = Data(x=torch.tensor([[3], [0]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> prepared = prepared_graphs([pair, pair], dyadic(6), categories=(4,))
        >>> prepared.signals.shape, prepared.basis.shape  # the category and 16 probabilities; 6 bands of 4 columns
        (torch.Size([4, 17]), torch.Size([4, 6, 4]))
    """
    graphs = list_of_graphs(graphs)
    jobs = whole_number("prepared_graphs", "jobs", jobs, least=1)
    if not categories:
        warn_of_unread_features(graphs, edges=False)
    how = Preparation(partition, operator, tuple(categories), frame_width, walk_steps)
    what = f"prepared {how.categories} {frame_width} {walk_steps}, version {_VERSION}"
    key = coefficient_key(graphs, partition, operator, torch.float32, what=what) if cache else None
    tensors = None if key is None else load_coefficients(key)
    if tensors is None:
        tell = on_progress or (_bar() if show else lambda done, total: None)
        with side_by_side(jobs) as processes:
            tensors = _computed(graphs, how, key, in_order or processes, tell)
    walks, *frames = tensors
    return _with_frames(graphs, walks, BandFrames(*frames))


def _with_frames(graphs: Sequence[Any], walks: Tensor, frames: BandFrames) -> FramedGraphs:
    nodes = torch.tensor([int(graph.num_nodes) for graph in graphs])
    first = (nodes.cumsum(0) - nodes).tolist()
    rows = [_rows(graph.x) for graph in graphs]
    if len(widths := {x.shape[1] for x in rows}) > 1:
        raise ShapeError(f"All graphs need as many node features, got {sorted(widths)}")
    x = torch.cat(rows)
    edges = torch.cat([edge_index_of(graph) + start for graph, start in zip(graphs, first, strict=True)], dim=1)
    framed = FramedGraphs(
        torch.cat([x.to(walks), walks], dim=1),
        edges,
        torch.repeat_interleave(nodes),
        frames.basis,
        frames.sizes,
        frames.ranks,
        _edge_features(graphs),
    )
    return framed.to(graphs[0].x.device)


def _rows(x: Any) -> Tensor:
    rows: Tensor = x.unsqueeze(1) if x.dim() == 1 else x
    return rows.cpu()


def _edge_features(graphs: Sequence[Any]) -> Tensor | None:
    """Those of all edges, one row each, if the graphs have them."""
    features: list[Any] = [getattr(graph, "edge_attr", None) for graph in graphs]
    known = [edge_attr is not None for edge_attr in features]
    if not any(known):
        return None
    if not all(known):
        raise InputError(f"Graph {known.index(False)} has no edge_attr, others have. Hint: the same for all graphs")
    for number, (graph, edge_attr) in enumerate(zip(graphs, features, strict=True)):
        if len(edge_attr) != edge_index_of(graph).shape[1]:
            raise ShapeError(
                f"Graph {number} has {edge_index_of(graph).shape[1]} edges and {len(edge_attr)} rows of edge_attr. "
                "Hint: one row for every column of edge_index, both directions of an edge counted"
            )
    widths = {tuple(edge_attr.shape[1:]) for edge_attr in features if len(edge_attr)}
    if len(widths) > 1:
        raise ShapeError(f"edge_attr must have the same columns in all graphs, got {sorted(widths)}")
    kept = [_rows(edge_attr) for edge_attr in features if len(edge_attr)]
    return torch.cat(kept) if kept else _rows(features[0])


def _computed(
    graphs: Sequence[Any], how: Preparation, key: str | None, in_order: InOrder, tell: OnProgress
) -> tuple[Tensor, ...]:
    """The tensors of all graphs, from the portions that are kept and from others that are computed now."""
    if in_order is not starmap and not isinstance(how.operator, str):
        raise InputError("A function as shift operator stays in its own process. Hint: jobs=1")
    portions = portions_of(len(graphs), _PORTION if key is None else _KEPT_PORTION)
    found = in_portions(
        partial(_of_portion, how),
        lambda portion: [graphs[i] for i in portion],
        portions,
        in_order=in_order,
        load=lambda portion: _kept(key, portion),
        store=lambda portion, arrays: _keep(key, portion, arrays),
        on_progress=tell,
    )
    tensors = tuple(torch.from_numpy(np.concatenate(arrays)) for arrays in zip(*found, strict=True))
    if key is not None:
        store_coefficients(key, tensors)
        if is_stored(key):
            remove_coefficients(_part_key(key, portion) for portion in portions)
    return tensors


def _of_portion(how: Preparation, graphs: list[Any], first: int) -> Arrays:
    each = [how.tensors(graph, number) for number, graph in enumerate(graphs, first)]
    return tuple(torch.cat(tensors).numpy() for tensors in zip(*each, strict=True))


def _kept(key: str | None, portion: range) -> Arrays | None:
    tensors = None if key is None else load_coefficients(_part_key(key, portion))
    return None if tensors is None else tuple(tensor.numpy() for tensor in tensors)


def _keep(key: str | None, portion: range, arrays: Arrays) -> None:
    if key is not None:
        store_coefficients(_part_key(key, portion), tuple(map(torch.from_numpy, arrays)))


def _part_key(key: str, portion: range) -> str:
    return f"{key}-{portion.start:07d}-{portion.stop:07d}"


def _bar() -> OnProgress:
    begin = time.perf_counter()

    def tell(done: int, total: int) -> None:
        left = (time.perf_counter() - begin) * (total - done) / done
        filled = "#" * (30 * done // total)
        end = "\n" if done == total else ""
        print(f"\rgraphs [{filled:<30}] {done}/{total}, {left:.0f} s left ", end=end, file=sys.stderr, flush=True)

    return tell
