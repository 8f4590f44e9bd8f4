"""What the rows of the tables ``ogb`` and ``peptides`` read of a data set: computed once, and kept on the disk."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from adacanon.baselines.graphs.axis_projection import axis_projection_encodings
from adacanon.baselines.graphs.message_passing import degree_histogram
from adacanon.baselines.graphs.s2gnn import lowest
from adacanon.baselines.graphs.spatio_spectral import spectral_encodings
from adacanon.data.array_cache import cached_arrays
from adacanon.data.labelled_graphs import LabelledGraphs, Parts
from adacanon.data.official import OnProgress, silent
from adacanon.graphs.bands import Partition
from adacanon.graphs.framed_graphs import FramedGraphs
from adacanon.graphs.prepared_graphs import prepared_graphs
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import Spectrum, decompose
from adacanon.training.loop import DataSplit
from adacanon.training.smoke import is_smoke, shortened

PORTION = 1000
"""Graphs that are torch-geometric objects at a time."""


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
        self, partition: Partition, *, frame_width: int, walk_steps: int, on_progress: OnProgress = silent
    ) -> FramedGraphs:
        """Frames of the bands and return probabilities; the latter are the inputs of all rows."""
        graphs = self.data.graphs(torch.arange(len(self.data)))
        return prepared_graphs(
            graphs,
            partition,
            categories=self.data.node_categories,
            frame_width=frame_width,
            walk_steps=walk_steps,
            on_progress=on_progress,
        )

    def canonical_eigenvectors(self, count: int, *, on_progress: OnProgress = silent) -> Tensor:
        """Canonical eigenvectors of all nodes, (nodes, count), by orthogonalized axis projection."""

        def compute() -> dict[str, np.ndarray]:
            pairs = ([(s.eigenvalues, s.eigenvectors)] for s in self._spectra(on_progress))
            found = [axis_projection_encodings(pair, count).float() for pair in pairs]
            return {"encodings": torch.cat(found).numpy()}

        return self._kept(f"axis-projection-{count}", compute)["encodings"]

    def lowest_eigenpairs(self, count: int, *, on_progress: OnProgress = silent) -> Eigenpairs:
        """At most ``count`` eigenpairs of every graph, and the positional encodings of S2GNN that follow from them."""

        def compute() -> dict[str, np.ndarray]:
            values, vectors = torch.zeros(len(self.data), count), torch.zeros(len(self.data.x), count)
            encodings = torch.zeros_like(vectors)
            for number, spectrum in enumerate(self._spectra(on_progress)):
                low, columns = lowest(spectrum.eigenvalues, spectrum.eigenvectors, count)
                edge_index = self.data.batch(torch.tensor([number])).edge_index
                rows = slice(*self.data.first_node[number : number + 2].tolist())
                values[number, : len(low)], vectors[rows, : len(low)] = low.float(), columns.float()
                encodings[rows, : len(low)] = spectral_encodings(low, columns, edge_index).float()
            return {"values": values.numpy(), "vectors": vectors.numpy(), "encodings": encodings.numpy()}

        found = self._kept(f"eigenpairs-{count}", compute)
        return Eigenpairs(found["values"], found["vectors"], found["encodings"])

    def _kept(self, what: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, Tensor]:
        arrays = cached_arrays(f"{self.data.name}-{what}", self.fingerprint, compute)
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _spectra(self, on_progress: OnProgress) -> Iterator[Spectrum]:
        """Of the normalized Laplacians, one after the other; together they would not fit into memory."""
        for portion in torch.arange(len(self.data)).split(PORTION):
            for graph in self.data.graphs(portion):
                yield decompose(shift_matrix(graph))
            on_progress(int(portion[-1]) + 1, len(self.data))
