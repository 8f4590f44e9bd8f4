"""What the rows of the tables ``ogb`` and ``peptides`` read of a data set: computed once, and kept on the disk."""

import hashlib
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import starmap
from typing import Any, NamedTuple

import torch
from torch import Tensor

from adacanon.baselines.graphs.axis_projection import axis_projection_encodings
from adacanon.baselines.graphs.message_passing import degree_histogram
from adacanon.baselines.graphs.s2gnn import lowest
from adacanon.baselines.graphs.spatio_spectral import spectral_encodings
from adacanon.data.labelled_graphs import LabelledGraphs, Parts
from adacanon.data.official import OnProgress, silent
from adacanon.experiments.graphs.kept_arrays import Arrays, GraphArrays, Portions
from adacanon.graphs.bands import Partition
from adacanon.graphs.framed_graphs import FramedGraphs
from adacanon.graphs.portions import InOrder
from adacanon.graphs.prepared_graphs import prepared_graphs
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import decompose
from adacanon.training.loop import DataSplit
from adacanon.training.smoke import is_smoke, shortened

PORTION = 1000
"""Graphs whose spectra are computed at a time, and kept on the disk together."""


class Eigenpairs(NamedTuple):
    """Of all graphs, zero where a graph has fewer or an eigenspace is left out.

    Attributes:
        values: (graphs, count).
        vectors: rows of the eigenvectors, (nodes, count).
        encodings: positional encodings that do not depend on the basis, (nodes, count).
    """

    values: Tensor
    vectors: Tensor
    encodings: Tensor


@dataclass(frozen=True, eq=False)
class BenchmarkGraphs:
    """A data set with everything that is derived from it before training.

    Attributes:
        data: the graphs.
        metric: of the official evaluation, a name in ``training.ranking``.
    """

    data: LabelledGraphs
    metric: str

    @classmethod
    def of(cls, data: LabelledGraphs, metric: str) -> "BenchmarkGraphs":
        """All graphs, or in a smoke run those that it reads: to prepare all of them can take hours."""
        if not is_smoke():
            return cls(data, metric)
        split = shortened(DataSplit(*data.parts))
        return cls(data.only(Parts(split.train, split.validation, split.test)), metric)

    @property
    def split(self) -> DataSplit:
        """Training and validation part; no training sees the test part."""
        parts = self.data.parts
        return DataSplit(parts.train, parts.validation, parts.test[:0])

    @cached_property
    def training_degrees(self) -> Tensor:
        """How many nodes of training graphs have 0, 1, 2, ... neighbours."""
        _, edge_index, _, graph = self.data.batch(self.data.parts.train)
        return degree_histogram([(edge_index, len(graph))])

    @cached_property
    def fingerprint(self) -> str:
        """Of the structure of all graphs."""
        digest = hashlib.sha256()
        for tensor in (self.data.first_node, self.data.first_edge, self.data.edges):
            digest.update(tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()[:24]

    def framed(
        self,
        partition: Partition,
        *,
        frame_width: int,
        walk_steps: int,
        in_order: InOrder = starmap,
        on_progress: OnProgress = silent,
    ) -> FramedGraphs:
        """Frames of the bands and return probabilities; the latter are the inputs of all rows."""
        graphs = self.data.graphs(torch.arange(len(self.data)))
        return prepared_graphs(
            graphs,
            partition,
            categories=self.data.node_categories,
            frame_width=frame_width,
            walk_steps=walk_steps,
            in_order=in_order,
            on_progress=on_progress,
        )

    def canonical_eigenvectors(
        self, count: int, *, in_order: InOrder = starmap, on_progress: OnProgress = silent
    ) -> Tensor:
        """Canonical eigenvectors of all nodes, (nodes, count), by orthogonalized axis projection."""
        function = partial(_axis_projections, count)
        what, portions = f"axis-projection-{count}", Portions(in_order, on_progress)
        return self._arrays.kept(what, function, size=PORTION, portions=portions)["encodings"]

    def lowest_eigenpairs(
        self, count: int, *, in_order: InOrder = starmap, on_progress: OnProgress = silent
    ) -> Eigenpairs:
        """At most ``count`` eigenpairs of every graph, and the positional encodings of S2GNN that follow from them."""
        function, portions = partial(_lowest_eigenpairs, count), Portions(in_order, on_progress)
        found = self._arrays.kept(f"eigenpairs-{count}", function, size=PORTION, portions=portions)
        return Eigenpairs(found["values"], found["vectors"], found["encodings"])

    @cached_property
    def _arrays(self) -> GraphArrays:
        def graphs(portion: range) -> list[Any]:
            return self.data.graphs(torch.arange(portion.start, portion.stop))

        return GraphArrays(self.data.name, self.fingerprint, len(self.data), graphs)


def _axis_projections(count: int, graphs: list[Any], first: int) -> Arrays:
    spectra = (decompose(shift_matrix(graph)) for graph in graphs)
    found = [axis_projection_encodings([(s.eigenvalues, s.eigenvectors)], count).float() for s in spectra]
    return {"encodings": torch.cat(found).numpy()}


def _lowest_eigenpairs(count: int, graphs: list[Any], first: int) -> Arrays:
    nodes = sum(int(graph.num_nodes) for graph in graphs)
    values, vectors, encodings = (torch.zeros(rows, count) for rows in (len(graphs), nodes, nodes))
    start = 0
    for number, graph in enumerate(graphs):
        spectrum = decompose(shift_matrix(graph))
        low, columns = lowest(spectrum.eigenvalues, spectrum.eigenvectors, count)
        rows = slice(start, start := start + int(graph.num_nodes))
        values[number, : len(low)], vectors[rows, : len(low)] = low.float(), columns.float()
        encodings[rows, : len(low)] = spectral_encodings(low, columns, graph.edge_index).float()
    return {"values": values.numpy(), "vectors": vectors.numpy(), "encodings": encodings.numpy()}
