"""What the methods of the graph tables read of a TU data set, computed once per process."""

import hashlib
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from adacanon.baselines.graphs.axis_projection import axis_projection_encodings
from adacanon.baselines.graphs.frame_averaging import batch_frame
from adacanon.baselines.graphs.padding import padded_spectra
from adacanon.baselines.graphs.s2gnn import lowest
from adacanon.data.graph_batches import GraphBatches
from adacanon.data.tu import Features, GraphDataset, load_tu, statistics
from adacanon.experiments.graphs.kept_arrays import HERE, Arrays, GraphArrays, Portions
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import Spectrum, keep_spectra, spectra
from adacanon.training.loop import DataSplit, random_split
from adacanon.training.smoke import shortened

COLUMNS = ("MUTAG", "PTC", "ENZYMES", "PROTEINS", "NCI1")
"""The names of the paper, for whose PTC the files say PTC_MR."""

FIRST_SPLIT_SEED = 20260101
PORTION = 256
"""Graphs that a process takes at a time."""

VERSION = 1
"""Part of the names of what is kept. Raise it whenever the same graphs get other arrays."""


@dataclass(frozen=True, eq=False)
class TUData:
    """A data set with everything that is derived from it before training."""

    dataset: GraphDataset

    @cached_property
    def batches(self) -> GraphBatches:
        """Graphs as flat tensors."""
        return GraphBatches.of(self.dataset.graphs)

    @cached_property
    def arrays(self) -> GraphArrays:
        """What is derived from the graphs is kept under a hash of them."""
        digest = hashlib.sha256(str(VERSION).encode())
        for tensor in self._content():
            digest.update(f"{tensor.dtype} {tuple(tensor.shape)} ".encode() + tensor.contiguous().numpy().tobytes())
        graphs = self.dataset.graphs
        name = f"tu-{self.dataset.name}"
        return GraphArrays(name, digest.hexdigest()[:24], len(graphs), lambda portion: [graphs[i] for i in portion])

    def _content(self) -> list[Tensor]:
        """Nodes of every graph, and the edges and features of all."""
        graphs = self.dataset.graphs
        counts = torch.tensor([[graph.num_nodes, graph.edge_index.shape[1]] for graph in graphs])
        edges = torch.cat([graph.edge_index for graph in graphs], dim=1)
        return [counts, edges, torch.cat([graph.x for graph in graphs])]


def keep_spectra_of(data: TUData, operator: str, portions: Portions = HERE) -> None:
    """Leave the eigendecompositions of all graphs in the cache."""
    operators = [shift_matrix(graph, operator) for graph in data.dataset.graphs]
    keep_spectra(operators, in_order=portions.in_order, on_progress=portions.on_progress)


@lru_cache(maxsize=4)
def spectra_of(data: TUData, operator: str) -> list[Spectrum]:
    """The eigendecompositions of all graphs."""
    return spectra([shift_matrix(graph, operator) for graph in data.dataset.graphs])


@lru_cache(maxsize=2)
def encodings_of(data: TUData, count: int) -> Tensor:
    """Canonical eigenvectors of all nodes, (nodes, count)."""
    return kept_encodings(data, count)


def kept_encodings(data: TUData, count: int, portions: Portions = HERE) -> Tensor:
    """The same from the cache, where they are left if they are not there."""
    function = partial(_axis_projections, count)
    return data.arrays.kept(f"axis-projection-{count}", function, size=PORTION, portions=portions)["encodings"]


def _axis_projections(count: int, graphs: list[Any], first: int) -> Arrays:
    found = spectra([shift_matrix(graph) for graph in graphs])
    pairs = [(one.eigenvalues, one.eigenvectors) for one in found]
    return {"encodings": axis_projection_encodings(pairs, count).float().numpy()}


@lru_cache(maxsize=2)
def frames_of(data: TUData, count: int) -> Tensor:
    """All sign choices of the first eigenvectors, (2^count, nodes, count); random bases of eigenspaces."""
    generator = torch.Generator().manual_seed(0)
    return batch_frame(_pairs(data, "normalized"), count, generator=generator).float()


@lru_cache(maxsize=4)
def lowest_of(data: TUData, operator: str, count: int) -> tuple[Tensor, Tensor]:
    """At most ``count`` eigenvalues (graphs, m) and eigenvectors (graphs, nodes, m) of every graph, padded."""
    values, vectors = padded_spectra([lowest(*pair, count) for pair in _pairs(data, operator)])
    return values.float(), vectors.float()


def _pairs(data: TUData, operator: str) -> list[tuple[Tensor, Tensor]]:
    return [(s.eigenvalues, s.eigenvectors) for s in spectra_of(data, operator)]


@lru_cache(maxsize=2)
def tu_data(column: str, features: Features) -> TUData:
    """The data of a column of the paper; attributes have mean zero and deviation one over all nodes."""
    dataset = load_tu(dataset_name(column), features=features)
    counts = statistics(dataset.name)
    attributes = counts.attributes if counts is not None and features == "attributes" else 0
    return TUData(_standardised(dataset, attributes) if attributes else dataset)


def _standardised(dataset: GraphDataset, attributes: int) -> GraphDataset:
    x = torch.cat([graph.x for graph in dataset.graphs])[:, -attributes:]
    mean, deviation = x.mean(0), x.std(0).clamp(min=1e-6)
    graphs = [graph.clone() for graph in dataset.graphs]
    for graph in graphs:
        graph.x = torch.cat([graph.x[:, :-attributes], (graph.x[:, -attributes:] - mean) / deviation], dim=1)
    return replace(dataset, graphs=graphs)


def dataset_name(column: str) -> str:
    """The name of the files."""
    return "PTC_MR" if column == "PTC" else column


def data_sets() -> dict[str, dict[str, float] | None]:
    """The counts of every column's data set, or None where it is not present; nothing is fetched."""
    found = {column: statistics(dataset_name(column)) for column in COLUMNS}
    return {column: None if counts is None else asdict(counts) for column, counts in found.items()}


def split_of(data: TUData, split: int) -> DataSplit:
    """The ten random divisions into 80, 10 and 10 percent, the same for all methods."""
    return shortened(random_split(len(data.dataset.labels), seed=FIRST_SPLIT_SEED + split))
