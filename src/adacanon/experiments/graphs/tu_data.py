"""What the methods of the graph tables read of a TU data set, computed once per process."""

from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache

import torch
from torch import Tensor

from adacanon.baselines.graphs.axis_projection import axis_projection_encodings
from adacanon.baselines.graphs.frame_averaging import batch_frame
from adacanon.baselines.graphs.padding import padded_spectra
from adacanon.baselines.graphs.s2gnn import lowest
from adacanon.data.graph_batches import GraphBatches
from adacanon.data.tu import Features, GraphDataset, load_tu, statistics
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import Spectrum, spectra
from adacanon.training.loop import DataSplit, random_split
from adacanon.training.smoke import shortened

COLUMNS = ("MUTAG", "PTC", "ENZYMES", "PROTEINS", "NCI1")
"""The names of the paper, for whose PTC the files say PTC_MR."""

FIRST_SPLIT_SEED = 20260101


@dataclass(frozen=True, eq=False)
class TUData:
    """A data set with everything that is derived from it before training."""

    dataset: GraphDataset

    @cached_property
    def batches(self) -> GraphBatches:
        """Graphs as flat tensors."""
        return GraphBatches.of(self.dataset.graphs)


@lru_cache(maxsize=4)
def spectra_of(data: TUData, operator: str) -> list[Spectrum]:
    """The eigendecompositions of all graphs."""
    return spectra([shift_matrix(graph, operator) for graph in data.dataset.graphs])


@lru_cache(maxsize=2)
def encodings_of(data: TUData, count: int) -> Tensor:
    """Canonical eigenvectors of all nodes, (nodes, count)."""
    return axis_projection_encodings(_pairs(data, "normalized"), count).float()


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
