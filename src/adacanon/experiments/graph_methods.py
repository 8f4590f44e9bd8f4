"""The rows of the graph tables: how each method is built and what it reads."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from adacanon.baselines.axis_projection import axis_projection_gin
from adacanon.baselines.frame_averaging import frame_averaged_gin
from adacanon.baselines.graph_networks import GraphNetwork
from adacanon.baselines.message_passing import degree_histogram, gated_gcn, pna
from adacanon.baselines.nlsf import NLSF, NLSFEncoder, index_bands, value_bands
from adacanon.baselines.s2gnn import S2GNN
from adacanon.core.maximizer import Maximizer
from adacanon.experiments.learners import Classifier, Inputs, canonicalized_classifier, looked_up
from adacanon.experiments.run import Settings
from adacanon.experiments.tu_data import TUData
from adacanon.graphs.anlsf import anlsf
from adacanon.graphs.band_frames import BandFrames, band_frames, return_probabilities, structural_signals
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.bands import Partition, dyadic, uniform
from adacanon.graphs.coefficients import BandCoefficients, band_coefficients
from adacanon.graphs.encoded_anlsf import EncodedANLSF
from adacanon.graphs.node_anlsf import node_anlsf
from adacanon.graphs.node_coefficients import NodeCoefficients, node_coefficients
from adacanon.graphs.node_rotations import NodeRotations
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.maximizers.sample_and_refine import SampleAndRefine
from adacanon.training.loop import Learner

Builder = Callable[[TUData, Settings, Tensor, int], Learner]
"""From the data, the settings, the training indices and a seed to a learner."""

MESSAGE_PASSING = {"MLP": "mlp", "GCN": "gcn", "GAT": "gat", "GIN": "gin", "ChebNet": "chebnet"}


def graph_network(kind: str, data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """A message-passing network of torch-geometric."""
    network = GraphNetwork(kind, data.dataset.channels, **_sizes(data, options))
    return Classifier(network, data.dataset.labels, _graphs(data))


def gated_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """GatedGCN."""
    return Classifier(gated_gcn(data.dataset.channels, **_sizes(data, options)), data.dataset.labels, _graphs(data))


def pna_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """PNA, whose scalers know the degrees of the training graphs."""
    graphs = [data.dataset.graphs[i] for i in train.tolist()]
    degrees = degree_histogram((graph.edge_index, graph.num_nodes) for graph in graphs)
    return Classifier(pna(data.dataset.channels, degrees, **_sizes(data, options)), data.dataset.labels, _graphs(data))


def frame_averaged_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """FA+GIN: some random elements of the frame in training, all of them in evaluation."""
    count, drawn = options["encodings"], options["drawn"]
    frames = _frames(data, count)

    def inputs(index: Tensor, training: bool) -> tuple[Any, ...]:
        chosen = torch.randperm(len(frames))[:drawn] if training else torch.arange(len(frames))
        return *data.batches.batch(index), frames[chosen][:, data.batches.nodes(index)]

    network = frame_averaged_gin(data.dataset.channels, encodings=count, **_sizes(data, options))
    return Classifier(network, data.dataset.labels, inputs)


def axis_projection_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """OAP+GIN."""
    count = options["encodings"]
    encodings = _encodings(data, count)

    def inputs(index: Tensor, training: bool) -> tuple[Any, ...]:
        return *data.batches.batch(index), encodings[data.batches.nodes(index)]

    network = axis_projection_gin(data.dataset.channels, encodings=count, **_sizes(data, options))
    return Classifier(network, data.dataset.labels, inputs)


def nonlinear_spectral_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """NLSF: index filters of the Laplacian and value filters of the normalized Laplacian, with attention over both."""
    bands, count, hidden = options["bands"], options["eigenvectors"], options["hidden"]
    low, low_vectors = _lowest(data, "laplacian", count)
    normalized, normalized_vectors = _lowest(data, "normalized", count)
    index_filter, value_filter = index_bands(low, bands), value_bands(normalized, bands)

    def inputs(index: Tensor, training: bool) -> tuple[Any, ...]:
        x, _, graph = data.batches.batch(index)
        nodes = int(torch.bincount(graph).max())
        pairs = ((index_filter, low_vectors), (value_filter, normalized_vectors))
        return x, graph, *((band[index], vectors[index, :nodes]) for band, vectors in pairs)

    encoder = partial(NLSFEncoder, data.dataset.channels, bands, hidden=hidden, layers=options["layers"])
    network = NLSF([encoder(), encoder()], classes=data.dataset.classes, hidden=hidden)
    return Classifier(network, data.dataset.labels, inputs)


def spatio_spectral_network(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """S2GNN on the lowest eigenvectors of the normalized Laplacian."""
    values, vectors = _lowest(data, "normalized", options["eigenvectors"])

    def inputs(index: Tensor, training: bool) -> tuple[Any, ...]:
        x, edge_index, graph = data.batches.batch(index)
        nodes = int(torch.bincount(graph).max())
        return x, edge_index, graph, values[index], vectors[index, :nodes]

    network = S2GNN(data.dataset.channels, **_sizes(data, options))
    return Classifier(network, data.dataset.labels, inputs)


def encoded_anlsf(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """A-NLSF behind a learned node encoder."""
    partition = partition_of(data, options)
    frames = _band_frames(data, partition, options["operator"], options["frame"])
    signals = standardised_nodes(data, node_signals(data, options["returns"]), train)
    model = EncodedANLSF(
        BandRotations(partition, rows=options["rows"], operator=options["operator"]),
        signals.shape[1],
        classes=data.dataset.classes,
        features=options["embedding"],
        hops=options["hops"],
        width=options["width"],
        hidden=options["hidden"],
        layers=options["layers"],
        dropout=options["dropout"],
        maximizer=search_of(options),
        redraw=options["redraw"],
        seed=seed,
    )
    return canonicalized_classifier(model, data.dataset.labels, encoded_inputs(data, frames, signals))


def encoded_inputs(data: TUData, frames: BandFrames, signals: Tensor) -> Inputs:
    """What a node encoder reads of a batch, and the frames in which its features are projected."""

    def inputs(index: Tensor, training: bool) -> tuple[Any, ...]:
        _, edge_index, graph = data.batches.batch(index)
        nodes = data.batches.nodes(index)
        x, basis = signals.index_select(0, nodes), frames.basis.index_select(0, nodes)
        return x, edge_index, graph, basis, frames.sizes[index], frames.ranks[index]

    return inputs


def plain_anlsf(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """A-NLSF on the coefficients of the node features themselves, as the paper describes it."""
    partition = partition_of(data, options)
    coefficients = _coefficients(data, partition, options["operator"])
    family = BandRotations(partition, rows=options["rows"], operator=options["operator"])
    model = anlsf(
        family,
        data.dataset.channels,
        classes=data.dataset.classes,
        hidden=options["hidden"],
        layers=options["layers"],
        maximizer=search_of(options),
        redraw=options["redraw"],
        seed=seed,
    )
    return canonicalized_classifier(model, data.dataset.labels, looked_up(scaled_coefficients(coefficients, train)))


def scaled_coefficients(coefficients: BandCoefficients, train: Tensor) -> BandCoefficients:
    """Every band divided by the root mean square of its coefficients over the training graphs."""
    scale = coefficients.factors[train].square().mean(dim=(0, 2, 3), keepdim=True).sqrt().clamp(min=1e-6)
    return replace(coefficients, factors=coefficients.factors / scale / coefficients.factors.shape[2] ** 0.5)


def node_level_anlsf(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """A-NLSF with synthesis back to the nodes, and pooling."""
    partition = partition_of(data, options)
    model = node_anlsf(
        NodeRotations(partition, rows=options["rows"], operator=options["operator"]),
        data.dataset.channels,
        classes=data.dataset.classes,
        hidden=options["hidden"],
        features=options["node_features"],
        layers=options["layers"],
        node_layers=options["node_layers"],
        maximizer=search_of(options),
        seed=seed,
    )
    samples = _node_coefficients(data, partition, options["operator"])
    return canonicalized_classifier(model, data.dataset.labels, looked_up(samples))


def gram_mlp(data: TUData, options: Settings, train: Tensor, seed: int) -> Learner:
    """An MLP on the band Gram matrices, the full set of invariants that a plain A-NLSF can use."""
    grams = _coefficients(data, partition_of(data, options), options["operator"]).grams()
    above = torch.triu_indices(grams.shape[-1], grams.shape[-1])
    inputs = grams[:, :, above[0], above[1]].flatten(1)
    inputs = inputs[:, (inputs[train] != 0).any(0)]
    inputs = (inputs / inputs[train].square().mean(0).sqrt()).unsqueeze(-1)
    network = SpectralMLP(inputs.shape[1], 1, **_sizes(data, options))
    return Classifier(network, data.dataset.labels, looked_up(inputs))


def standardised_nodes(data: TUData, signals: Tensor, train: Tensor) -> Tensor:
    """Node signals divided by their deviation over the nodes of the training graphs, unless that is rounding only."""
    deviation = signals[data.batches.nodes(train)].std(0)
    return signals / torch.where(deviation > 1e-5, deviation, 1.0)


def partition_of(data: TUData, options: Settings) -> Partition:
    """The bands that the settings name, over the whole spectrum of the data set."""
    high = 2.0
    if options["operator"] != "normalized":
        high = max(float(one.eigenvalues.max()) for one in data.spectra[options["operator"]])
    if options["partition"] == "uniform":
        return uniform(options["bands"], high=high)
    return dyadic(options["bands"], decay=options["decay"], high=high)


def search_of(options: Settings) -> Maximizer:
    """Draws, and refinement if there is any."""
    return SampleAndRefine(samples=options["draws"], steps=options["steps"])


BASELINES: dict[str, Builder] = {
    **{row: partial(graph_network, kind) for row, kind in MESSAGE_PASSING.items()},
    "GatedGCN": gated_network,
    "PNA": pna_network,
    "FA+GIN": frame_averaged_network,
    "OAP+GIN": axis_projection_network,
    "NLSF": nonlinear_spectral_network,
    "S2GNN": spatio_spectral_network,
}

SPECTRAL: dict[str, Builder] = {"Gram MLP": gram_mlp, "A-NLSF (plain)": plain_anlsf, "A-NLSF": encoded_anlsf}
NODE_LEVEL: dict[str, Builder] = {"A-NLSF (node)": node_level_anlsf}

_BANDS: Settings = {"partition": "uniform", "bands": 8, "decay": 0.5, "operator": "normalized"}
_SEARCH: Settings = {"rows": 2, "draws": 32, "steps": 1, "redraw": 32}
_ENCODER: Settings = {"frame": 4, "embedding": 16, "hops": 1, "width": 64, "returns": 16}

OWN_SETTINGS: dict[str, Settings] = {
    "FA+GIN": {"encodings": 3, "drawn": 2},
    "OAP+GIN": {"encodings": 8},
    "NLSF": {"bands": 8, "eigenvectors": 32},
    "S2GNN": {"eigenvectors": 32},
    "Gram MLP": _BANDS,
    "A-NLSF (plain)": {**_BANDS, **_SEARCH},
    "A-NLSF (node)": {**_BANDS, **_SEARCH, "layers": 2, "node_features": 32, "node_layers": 1},
    "A-NLSF": {
        **_BANDS,
        **_SEARCH,
        "frame": 4,
        "embedding": 16,
        "hops": 1,
        "width": 64,
        "dropout": 0.3,
        "layers": 2,
        "returns": 16,
    },
}
"""What a method has beside width, depth, learning rate and weight decay."""


def _sizes(data: TUData, options: Settings) -> dict[str, int]:
    return {"classes": data.dataset.classes, "hidden": options["hidden"], "layers": options["layers"]}


def _graphs(data: TUData) -> Inputs:
    return lambda index, training: data.batches.batch(index)


@lru_cache(maxsize=2)
def node_signals(data: TUData, returns: int) -> Tensor:
    """What the encoder sees of every node: fixed functions of its surroundings, in which no eigenvector takes part."""
    whole = data.batches.batch(torch.arange(len(data.batches)))
    walks = [return_probabilities(shift_matrix(graph), returns) for graph in data.dataset.graphs]
    return torch.cat([structural_signals(whole[0], whole[1]), torch.cat(walks).float()], dim=1)


@lru_cache(maxsize=2)
def _band_frames(data: TUData, partition: Partition, operator: str, width: int) -> BandFrames:
    return band_frames(data.dataset.graphs, partition, operator=operator, width=width)


@lru_cache(maxsize=2)
def _coefficients(data: TUData, partition: Partition, operator: str) -> BandCoefficients:
    return band_coefficients(data.dataset.graphs, partition, operator=operator)


@lru_cache(maxsize=1)
def _node_coefficients(data: TUData, partition: Partition, operator: str) -> NodeCoefficients:
    return node_coefficients(data.dataset.graphs, partition, operator=operator)


@lru_cache(maxsize=2)
def _frames(data: TUData, count: int) -> Tensor:
    return data.frames(count)


@lru_cache(maxsize=2)
def _encodings(data: TUData, count: int) -> Tensor:
    return data.encodings(count)


@lru_cache(maxsize=4)
def _lowest(data: TUData, operator: str, count: int) -> tuple[Tensor, Tensor]:
    return data.lowest_spectra(operator, count)
