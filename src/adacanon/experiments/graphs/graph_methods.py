"""The baselines of the graph tables: how each is built and what it reads."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from adacanon.baselines.graphs.axis_projection import axis_projection_gin
from adacanon.baselines.graphs.frame_averaging import frame_averaged_gin
from adacanon.baselines.graphs.graph_networks import GraphNetwork
from adacanon.baselines.graphs.message_passing import degree_histogram, gated_gcn, pna
from adacanon.baselines.graphs.nlsf import NLSF, NLSFEncoder, index_bands, value_bands
from adacanon.baselines.graphs.s2gnn import S2GNN
from adacanon.experiments.graphs.tu_data import TUData, encodings_of, frames_of, lowest_of
from adacanon.runs.run import Settings
from adacanon.training.learner import Inputs, Learner

Builder = Callable[[TUData, Settings, Tensor, int], Learner]
"""From the data, the settings, the training indices and a seed to a learner."""

MESSAGE_PASSING = {"MLP": "mlp", "GCN": "gcn", "GAT": "gat", "GIN": "gin", "ChebNet": "chebnet"}


def graph_network(kind: str, data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """A message-passing network of torch-geometric."""
    network = GraphNetwork(kind, data.dataset.channels, **sizes_of(data, options))
    return Learner(network, data.dataset.labels, _graphs(data))


def gated_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """GatedGCN."""
    return Learner(gated_gcn(data.dataset.channels, **sizes_of(data, options)), data.dataset.labels, _graphs(data))


def pna_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """PNA, whose scalers know the degrees of the training graphs."""
    graphs = [data.dataset.graphs[i] for i in train.tolist()]
    degrees = degree_histogram((graph.edge_index, graph.num_nodes) for graph in graphs)
    return Learner(pna(data.dataset.channels, degrees, **sizes_of(data, options)), data.dataset.labels, _graphs(data))


def frame_averaged_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """FA+GIN: some random elements of the frame in training, all of them in evaluation."""
    count, drawn = options["encodings"], options["drawn"]
    frames = frames_of(data, count)

    def inputs(index: Tensor) -> tuple[Any, ...]:
        return *data.batches.batch(index), frames[:, data.batches.nodes(index)]

    def training_inputs(index: Tensor) -> tuple[Any, ...]:
        chosen = torch.randperm(len(frames))[:drawn]
        return *data.batches.batch(index), frames[chosen][:, data.batches.nodes(index)]

    network = frame_averaged_gin(data.dataset.channels, encodings=count, **sizes_of(data, options))
    return Learner(network, data.dataset.labels, inputs, training_inputs=training_inputs)


def axis_projection_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """OAP+GIN."""
    count = options["encodings"]
    encodings = encodings_of(data, count)

    def inputs(index: Tensor) -> tuple[Any, ...]:
        return *data.batches.batch(index), encodings[data.batches.nodes(index)]

    network = axis_projection_gin(data.dataset.channels, encodings=count, **sizes_of(data, options))
    return Learner(network, data.dataset.labels, inputs)


def nonlinear_spectral_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """NLSF: index filters of the Laplacian and value filters of the normalized Laplacian, with attention over both."""
    bands, count, hidden = options["bands"], options["eigenvectors"], options["hidden"]
    low, low_vectors = lowest_of(data, "laplacian", count)
    normalized, normalized_vectors = lowest_of(data, "normalized", count)
    index_filter, value_filter = index_bands(low, bands), value_bands(normalized, bands)

    def inputs(index: Tensor) -> tuple[Any, ...]:
        x, _, graph = data.batches.batch(index)
        nodes = int(torch.bincount(graph).max())
        pairs = ((index_filter, low_vectors), (value_filter, normalized_vectors))
        return x, graph, *((band[index], vectors[index, :nodes]) for band, vectors in pairs)

    encoder = partial(NLSFEncoder, data.dataset.channels, bands, hidden=hidden, layers=options["layers"])
    network = NLSF([encoder(), encoder()], classes=data.dataset.classes, hidden=hidden)
    return Learner(network, data.dataset.labels, inputs)


def spatio_spectral_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """S2GNN on the lowest eigenvectors of the normalized Laplacian."""
    values, vectors = lowest_of(data, "normalized", options["eigenvectors"])

    def inputs(index: Tensor) -> tuple[Any, ...]:
        x, edge_index, graph = data.batches.batch(index)
        nodes = int(torch.bincount(graph).max())
        return x, edge_index, graph, values[index], vectors[index, :nodes]

    network = S2GNN(data.dataset.channels, **sizes_of(data, options))
    return Learner(network, data.dataset.labels, inputs)


BASELINES: dict[str, Builder] = {
    **{row: partial(graph_network, kind) for row, kind in MESSAGE_PASSING.items()},
    "GatedGCN": gated_network,
    "PNA": pna_network,
    "FA+GIN": frame_averaged_network,
    "OAP+GIN": axis_projection_network,
    "NLSF": nonlinear_spectral_network,
    "S2GNN": spatio_spectral_network,
}

OPERATORS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("FA+GIN", "OAP+GIN", "S2GNN"), ("normalized",)),
    "NLSF": ("laplacian", "normalized"),
}
"""The shift operators whose spectra a baseline reads."""

BASELINE_SETTINGS: dict[str, Settings] = {
    "FA+GIN": {"encodings": 3, "drawn": 2},
    "OAP+GIN": {"encodings": 8},
    "NLSF": {"bands": 8, "eigenvectors": 32},
    "S2GNN": {"eigenvectors": 32},
}
"""What a method has beside width, depth, learning rate and weight decay."""


def sizes_of(data: TUData, options: Settings) -> dict[str, int]:
    return {"classes": data.dataset.classes, "hidden": options["hidden"], "layers": options["layers"]}


def _graphs(data: TUData) -> Inputs:
    return data.batches.batch
