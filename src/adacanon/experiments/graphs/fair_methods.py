"""The rows of the fair tables: how each is built from a fold, on the same node inputs."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.axis_projection import WithEncodings
from adacanon.baselines.graphs.frame_averaging import FrameAveraged
from adacanon.baselines.graphs.frame_draws import FrameDraws
from adacanon.baselines.graphs.graph_baseline import GraphBaseline
from adacanon.baselines.graphs.graph_encoder import GraphEncoder
from adacanon.baselines.graphs.s2gnn import lowest
from adacanon.baselines.graphs.spatio_spectral import SpatioSpectral, spectral_encodings
from adacanon.baselines.graphs.structure_agnostic import StructureAgnostic
from adacanon.experiments.graphs.fair_data import FairFold, standardised
from adacanon.experiments.graphs.fair_spectral import SpectralReadout
from adacanon.experiments.graphs.spectral_methods import frames_in_bands
from adacanon.experiments.graphs.tu_data import TUData, encodings_of, lowest_of, spectra_of
from adacanon.graphs.band_frames import BandFrames
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.bands import dyadic
from adacanon.runs.run import Settings
from adacanon.training.learner import Inputs, Learner

Builder = Callable[[FairFold, Settings, int], Learner]
"""From a fold, the settings and a seed to a learner."""

PROTEINS = ("ENZYMES", "PROTEINS")
"""Where the structure-agnostic baseline has a layer on the nodes."""


def message_passing(kind: str, fold: FairFold, options: Settings, seed: int) -> Learner:
    """A graph network as its authors build it."""
    layer_dropout = 0.0 if kind == "gin" else options["dropout"]
    network = GraphBaseline(kind, fold.channels, layer_dropout=layer_dropout, **_sizes(fold, options))
    return _learner(network, fold, fold.batches.batch)


def mean_gin(fold: FairFold, options: Settings, seed: int) -> Learner:
    """GIN with residuals, the mean of the last layer and an MLP: another readout than its authors', as all other kinds
    of network have it.
    """
    network = GraphBaseline(
        "gin",
        fold.channels,
        readout="mean",
        combination="last",
        residual=True,
        layer_dropout=0.0,
        **_sizes(fold, options),
    )
    return _learner(network, fold, fold.batches.batch)


def structure_agnostic(fold: FairFold, options: Settings, seed: int) -> Learner:
    """The sum of the node inputs and an MLP."""
    dropout, width = options["dropout"], options["width"]
    node_layer = fold.data.dataset.name in PROTEINS
    network = StructureAgnostic(
        fold.channels, classes=fold.data.dataset.classes, width=width, node_layer=node_layer, dropout=dropout
    )
    return _learner(network, fold, fold.batches.batch)


def axis_projection(fold: FairFold, options: Settings, seed: int) -> Learner:
    """OAP+GIN: canonical eigenvectors beside the inputs."""
    encodings = encodings_of(fold.data, options["encodings"])

    def inputs(index: Tensor) -> tuple[Any, ...]:
        return *fold.batches.batch(index), encodings[fold.batches.nodes(index)]

    network = _gin(fold.channels + options["encodings"], fold, options)
    return _learner(WithEncodings(network), fold, inputs)


def frame_averaged(fold: FairFold, options: Settings, seed: int) -> Learner:
    """FA+GIN: fresh elements of the frame at every step, a larger set that stays in evaluation."""
    draws, drawn = _frame_draws(fold.data, options["encodings"]), options["drawn"]
    fixed = _evaluation_frames(fold.data, options["encodings"], options["averaged"])

    def inputs(index: Tensor) -> tuple[Any, ...]:
        return *fold.batches.batch(index), fixed[:, fold.batches.nodes(index)]

    def training_inputs(index: Tensor) -> tuple[Any, ...]:
        return *fold.batches.batch(index), draws.draw(index, drawn)

    network = _gin(fold.channels + options["encodings"], fold, options)
    return replace(_learner(FrameAveraged(network), fold, inputs), training_inputs=training_inputs)


@lru_cache(maxsize=1)
def _frame_draws(data: TUData, encodings: int) -> FrameDraws:
    spectra = spectra_of(data, "normalized")
    return FrameDraws.of([(one.eigenvalues, one.eigenvectors) for one in spectra], encodings)


@lru_cache(maxsize=1)
def _evaluation_frames(data: TUData, encodings: int, elements: int) -> Tensor:
    """The same elements for all epochs and folds, (elements, nodes, encodings)."""
    every = torch.arange(len(data.dataset.graphs))
    return _frame_draws(data, encodings).draw(every, elements, generator=torch.Generator().manual_seed(0))


def spatio_spectral(fold: FairFold, options: Settings, seed: int) -> Learner:
    """S2GNN with its positional encodings."""
    count = options["eigenvectors"]
    values, vectors = lowest_of(fold.data, "normalized", count)
    encodings = standardised(_spectral_encodings(fold.data, count), fold.batches.nodes(fold.split.train))

    def inputs(index: Tensor) -> tuple[Any, ...]:
        x, edge_index, graph = fold.batches.batch(index)
        nodes = int(torch.bincount(graph).max())
        found = encodings[fold.batches.nodes(index)]
        return x, edge_index, graph, found, values[index], vectors[index, :nodes]

    network = SpatioSpectral(fold.channels, encodings.shape[1], **_sizes(fold, options))
    return _learner(network, fold, inputs)


@lru_cache(maxsize=2)
def _spectral_encodings(data: TUData, count: int) -> Tensor:
    """The positional encodings of S2GNN for all nodes, (nodes, count), zero beyond a graph's frequencies."""
    found = []
    for graph, one in zip(data.dataset.graphs, spectra_of(data, "normalized"), strict=True):
        own = spectral_encodings(*lowest(one.eigenvalues, one.eigenvectors, count), graph.edge_index)
        found.append(nn.functional.pad(own, (0, count - own.shape[1])))
    return torch.cat(found).float()


def spectral(bases: str, fold: FairFold, options: Settings, seed: int) -> Learner:
    """A-NLSF as the readout of GIN, or one of its controls."""
    family = BandRotations(dyadic(options["bands"]), rows=options["rows"])
    frames = frames_in_bands(fold.data, family.partition, "normalized", options["frame"])
    network = SpectralReadout(
        GraphEncoder("gin", fold.channels, width=options["width"], layers=options["layers"]),
        family,
        classes=fold.data.dataset.classes,
        bases=bases,
        features=options["features"],
        frame=options["frame"],
        hidden=options["hidden"],
        dropout=options["dropout"],
        temperature=options.get("temperature", 0.0),
        seed=seed,
    )
    return _learner(network, fold, _framed(fold, frames))


def _framed(fold: FairFold, frames: BandFrames) -> Inputs:
    """Graphs, and the frames of their bands."""
    batches = replace(fold.batches, x=torch.cat([fold.x, frames.basis.flatten(1)], dim=1))
    shape = frames.basis.shape[1:]

    def inputs(index: Tensor) -> tuple[Any, ...]:
        x, edge_index, graph = batches.batch(index)
        x, basis = x[:, : fold.channels], x[:, fold.channels :].unflatten(1, shape)
        return x, edge_index, graph, basis, frames.sizes[index], frames.ranks[index]

    return inputs


def _sizes(fold: FairFold, options: Settings) -> dict[str, Any]:
    named = {name: options[name] for name in ("width", "layers", "dropout")}
    return {"classes": fold.data.dataset.classes, **named}


def _gin(channels: int, fold: FairFold, options: Settings) -> GraphBaseline:
    """GIN as in its own row, on more channels."""
    return GraphBaseline("gin", channels, layer_dropout=0.0, **_sizes(fold, options))


def _learner(network: nn.Module, fold: FairFold, inputs: Inputs) -> Learner:
    return Learner(network, fold.data.dataset.labels, inputs)


CONTROLS = {
    "A-NLSF": "search",
    "A-NLSF (soft)": "search",
    "A-NLSF (no search)": "canonical",
    "A-NLSF (random bases)": "random",
    "A-NLSF (mean over bases)": "mean",
    "Gram MLP": "gram",
}
METHODS: dict[str, Builder] = {
    "GIN": partial(message_passing, "gin"),
    "GIN (mean)": mean_gin,
    "GatedGCN": partial(message_passing, "gatedgcn"),
    "S2GNN": spatio_spectral,
    "OAP+GIN": axis_projection,
    **{row: partial(spectral, bases) for row, bases in CONTROLS.items()},
    "structure-agnostic": structure_agnostic,
    "ChebNet": partial(message_passing, "chebnet"),
    "GCN": partial(message_passing, "gcn"),
    "FA+GIN": frame_averaged,
}
"""The most important ones first. PNA, GPS, GAT and GraphSAGE can be built in the same way and would take too long."""

_SPECTRAL: Settings = {"bands": 6, "rows": 2, "frame": 4, "features": 16, "hidden": 128}
OWN_SETTINGS: dict[str, Settings] = {
    "S2GNN": {"eigenvectors": 32},
    "OAP+GIN": {"encodings": 8},
    "FA+GIN": {"encodings": 8, "drawn": 2, "averaged": 16},
    **dict.fromkeys(CONTROLS, _SPECTRAL),
    "A-NLSF (soft)": {**_SPECTRAL, "temperature": 1.0},
}
"""What a method has beside width, depth and what the grid holds."""
