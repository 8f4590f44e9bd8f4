"""The rows of the fair tables: how each is built from a fold, on the same node inputs."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.axis_projection import WithEncodings
from adacanon.baselines.graphs.graph_baseline import GraphBaseline
from adacanon.baselines.graphs.graph_encoder import GraphEncoder
from adacanon.baselines.graphs.message_passing import degree_histogram
from adacanon.baselines.graphs.structure_agnostic import StructureAgnostic
from adacanon.experiments.graphs.fair_data import FairFold
from adacanon.experiments.graphs.fair_spectral import SpectralReadout
from adacanon.experiments.graphs.tu_data import TUData, encodings_of
from adacanon.graphs.band_frames import BandFrames, band_frames
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
    degrees = _training_degrees(fold) if kind == "pna" else None
    network = GraphBaseline(kind, fold.channels, degrees=degrees, **_sizes(fold, options))
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

    network = GraphBaseline("gin", fold.channels + options["encodings"], **_sizes(fold, options))
    return _learner(WithEncodings(network), fold, inputs)


def spectral(bases: str, fold: FairFold, options: Settings, seed: int) -> Learner:
    """A-NLSF as the readout of GIN, or one of its controls."""
    family = BandRotations(dyadic(options["bands"]), rows=options["rows"])
    frames = _frames(fold.data, family, options["frame"])
    sizes = _sizes(fold, options)
    classes = sizes.pop("classes")
    network = SpectralReadout(
        GraphEncoder("gin", fold.channels, **sizes),
        family,
        classes=classes,
        bases=bases,
        features=options["features"],
        frame=options["frame"],
        hidden=options["hidden"],
        dropout=options["dropout"],
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


@lru_cache(maxsize=2)
def _frames(data: TUData, family: BandRotations, width: int) -> BandFrames:
    return band_frames(data.dataset.graphs, family.partition, operator=family.operator, width=width)


def _sizes(fold: FairFold, options: Settings) -> dict[str, Any]:
    named = {name: options[name] for name in ("width", "layers", "dropout")}
    return {"classes": fold.data.dataset.classes, **named}


def _training_degrees(fold: FairFold) -> Tensor:
    graphs = [fold.data.dataset.graphs[i] for i in fold.split.train.tolist()]
    return degree_histogram((graph.edge_index, graph.num_nodes) for graph in graphs)


def _learner(network: nn.Module, fold: FairFold, inputs: Inputs) -> Learner:
    return Learner(network, fold.data.dataset.labels, inputs)


KINDS = {
    "GIN": "gin",
    "GatedGCN": "gatedgcn",
    "ChebNet": "chebnet",
    "GCN": "gcn",
    "GAT": "gat",
    "GraphSAGE": "sage",
    "PNA": "pna",
    "GPS": "gps",
}
CONTROLS = {
    "A-NLSF": "search",
    "A-NLSF (no search)": "canonical",
    "A-NLSF (random bases)": "random",
    "A-NLSF (mean over bases)": "mean",
    "Gram MLP": "gram",
}
METHODS: dict[str, Builder] = {
    **{row: partial(message_passing, kind) for row, kind in KINDS.items()},
    "OAP+GIN": axis_projection,
    **{row: partial(spectral, bases) for row, bases in CONTROLS.items()},
    "structure-agnostic": structure_agnostic,
}

_SPECTRAL: Settings = {"bands": 6, "rows": 2, "frame": 4, "features": 16, "hidden": 128}
OWN_SETTINGS: dict[str, Settings] = {"OAP+GIN": {"encodings": 8}, **dict.fromkeys(CONTROLS, _SPECTRAL)}
"""What a method has beside width, depth and what the grid holds."""
