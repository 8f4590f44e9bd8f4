"""The rows of the tables ``ogb`` and ``peptides``: how each is built, and what it reads.

All rows read the same: categories of nodes, features of edges, and return probabilities of a random walk. OAP and S2GNN
add the eigenvectors that are their subject, A-NLSF the frames of the bands.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.graph_baseline import GraphBaseline
from adacanon.baselines.graphs.graph_encoder import GraphEncoder
from adacanon.baselines.graphs.spatio_spectral import SpatioSpectral
from adacanon.core.loss import cross_entropy, one_vs_rest
from adacanon.experiments.graphs.benchmark_graphs import BenchmarkGraphs
from adacanon.experiments.graphs.kept_arrays import HERE, Portions
from adacanon.graphs.anlsf_readout import ANLSFReadout
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.bands import Partition, dyadic, uniform
from adacanon.graphs.category_embedding import CategoryEmbedding
from adacanon.graphs.framed_graphs import FramedGraphs
from adacanon.runs.run import Settings, number
from adacanon.training.learner import Inputs, Learner
from adacanon.training.ranking import METRICS

Builder = Callable[[BenchmarkGraphs, Settings, int], Learner]
"""From the data, the settings and a seed to a learner."""


@dataclass(frozen=True)
class MessagePassing:
    """A graph network as its authors build it, with edge features.

    Attributes:
        kind: one of ``baselines.graphs.graph_encoder.CONVOLUTIONS``.
    """

    kind: str

    def __call__(self, graphs: BenchmarkGraphs, options: Settings, seed: int) -> Learner:
        nodes, edges = encoders(graphs, options)
        network = GraphBaseline(
            self.kind,
            nodes,
            edges=edges,
            classes=graphs.data.outputs,
            readout=options["readout"],
            combination=options["combination"],
            residual=options["residual"],
            degrees=graphs.training_degrees if self.kind == "pna" else None,
            **_sizes(options),
        )
        return _learner(network, graphs, plain_inputs(framed(graphs, options)))


def axis_projection(graphs: BenchmarkGraphs, options: Settings, seed: int) -> Learner:
    """OAP+GatedGCN: canonical eigenvectors beside the other numbers of a node."""
    encodings = graphs.canonical_eigenvectors(options["encodings"])
    nodes, edges = encoders(graphs, options, more=options["encodings"])
    network = GraphBaseline("gatedgcn", nodes, edges=edges, classes=graphs.data.outputs, **_sizes(options))
    inputs = plain_inputs(framed(graphs, options))

    def with_encodings(index: Tensor) -> tuple[Any, ...]:
        x, *others = inputs(index)
        return torch.cat([x, encodings[graphs.data.nodes(index)]], dim=1), *others

    return _learner(network, graphs, with_encodings)


def spatio_spectral(graphs: BenchmarkGraphs, options: Settings, seed: int) -> Learner:
    """S2GNN with its positional encodings; it has no place for edge features."""
    values, vectors, encodings = graphs.lowest_eigenpairs(options["eigenvectors"])
    scale = encodings[graphs.data.nodes(graphs.data.parts.train)].std(0).clamp(min=SMALLEST_DEVIATION)
    network = SpatioSpectral(1, encodings.shape[1], classes=graphs.data.outputs, **_sizes(options))
    narrower = {**options, "width": network.embedding.out_features}
    network.embedding, _ = encoders(graphs, narrower)  # type: ignore[assignment]
    inputs = plain_inputs(framed(graphs, options))

    def with_spectra(index: Tensor) -> tuple[Any, ...]:
        x, edge_index, graph, _ = inputs(index)
        nodes = graphs.data.nodes(index)
        return x, edge_index, graph, encodings[nodes] / scale, values[index], padded_rows(vectors[nodes], graph)

    return _learner(network, graphs, with_spectra)


SMALLEST_DEVIATION = 1e-5
"""Encodings that hardly differ between nodes are divided by this."""


def spectral_readout(graphs: BenchmarkGraphs, options: Settings, seed: int) -> Learner:
    """A-NLSF as the readout of a graph network."""
    nodes, edges = encoders(graphs, options)
    sizes = _sizes(options)
    model = ANLSFReadout(
        GraphEncoder(options["encoder"], nodes, edges=edges, residual=options["residual"], **sizes),
        width=options["width"],
        outputs=graphs.data.outputs,
        categories=graphs.data.node_categories,
        family=BandRotations(partition_of(options), rows=options["rows"]),
        features=options["features"],
        hidden=options["width"],
        layers=options["readout_layers"],
        dropout=options["dropout"],
        frame_width=options["frame"],
        walk_steps=options["walk_steps"],
        temperature=number(options.get("temperature", 0.0)),
        seed=seed,
    )
    prepared = framed(graphs, options)
    return _learner(model, graphs, lambda index: (prepared[index],))


MESSAGE_PASSING = {"GCN": "gcn", "GIN": "gin", "GatedGCN": "gatedgcn", "PNA": "pna", "GPS": "gps-gatedgcn"}
METHODS: dict[str, Builder] = {
    "A-NLSF": spectral_readout,
    **{name: MessagePassing(kind) for name, kind in MESSAGE_PASSING.items()},
    "OAP+GatedGCN": axis_projection,
    "S2GNN": spatio_spectral,
}

INPUTS: Settings = {"walk_steps": 16, "frame": 4, "bands": 6, "partition": "dyadic"}
"""Return probabilities are for all rows; frames and bands for A-NLSF alone, but they are computed together."""

OWN_SETTINGS: dict[str, Settings] = {
    "A-NLSF": {"rows": 2, "features": 16, "readout_layers": 3},
    "OAP+GatedGCN": {"encodings": 8},
    "S2GNN": {"eigenvectors": 64},
}
"""What a method has beside width, depth, dropout and learning rate."""


def encoders(graphs: BenchmarkGraphs, options: Settings, *, more: int = 0) -> tuple[nn.Module, nn.Module]:
    """Of nodes, whose categories are followed by return probabilities and ``more`` numbers, and of edges."""
    data, width = graphs.data, options["width"]
    nodes = CategoryEmbedding(data.node_categories, width, numbers=options["walk_steps"] + more)
    if data.edge_categories:
        return nodes, CategoryEmbedding(data.edge_categories, width)
    return nodes, nn.Linear(data.edge_attr.shape[1], width)


def plain_inputs(prepared: FramedGraphs) -> Inputs:
    """What a graph network reads: nodes, edges, the graph of every node, and features of edges."""

    def inputs(index: Tensor) -> tuple[Any, ...]:
        g = prepared[index]
        return g.signals, g.edge_index, g.graph, g.edge_attr

    return inputs


def padded_rows(rows: Tensor, graph: Tensor) -> Tensor:
    """Rows of nodes (nodes, m) as (graphs, most nodes, m), zero where a graph has fewer nodes."""
    counts = torch.bincount(graph)
    place = torch.arange(len(graph)) - (counts.cumsum(0) - counts)[graph]
    return rows.new_zeros(len(counts), int(counts.max()), rows.shape[1]).index_put((graph, place), rows)


def framed(graphs: BenchmarkGraphs, options: Settings) -> FramedGraphs:
    """The prepared graphs of some settings, read once per process."""
    return _framed(graphs, partition_of(options), options["frame"], options["walk_steps"])


@lru_cache(maxsize=1)
def _framed(graphs: BenchmarkGraphs, partition: Partition, frame: int, walk_steps: int) -> FramedGraphs:
    return graphs.framed(partition, frame_width=frame, walk_steps=walk_steps)


def prepare(graphs: BenchmarkGraphs, options: Sequence[Settings], portions: Portions = HERE) -> None:
    """Leave everything on the disk that runs with these settings read."""
    in_order, on_progress = portions
    frames = dict.fromkeys((partition_of(one), one["frame"], one["walk_steps"]) for one in options)
    for partition, width, steps in frames:
        graphs.framed(partition, frame_width=width, walk_steps=steps, in_order=in_order, on_progress=on_progress)
    for count in {one["encodings"] for one in options if "encodings" in one}:
        graphs.canonical_eigenvectors(count, in_order=in_order, on_progress=on_progress)
    for count in {one["eigenvectors"] for one in options if "eigenvectors" in one}:
        graphs.lowest_eigenpairs(count, in_order=in_order, on_progress=on_progress)


def partition_of(options: Settings) -> Partition:
    """The bands that the settings name."""
    return (uniform if options["partition"] == "uniform" else dyadic)(options["bands"])


def _sizes(options: Settings) -> dict[str, Any]:
    return {name: options[name] for name in ("width", "layers", "dropout")}


def _learner(network: nn.Module, graphs: BenchmarkGraphs, inputs: Inputs) -> Learner:
    classes = graphs.data.labels.dim() == 1
    criterion = cross_entropy if classes else one_vs_rest
    return Learner(network, graphs.data.labels, inputs, criterion, metric=METRICS[graphs.metric])
