"""A-NLSF at the level of graphs and of nodes, from graphs on the device and from what was prepared before."""

import os
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from adacanon import Canonicalized, RandomSearch, SampleAndRefine
from adacanon.baselines.graphs import GraphEncoder
from adacanon.core.pytree import Tree
from adacanon.graphs import (
    ANLSFReadout,
    BandRotations,
    CategoryEmbedding,
    EncodedANLSF,
    FramedGraphs,
    MaskedObjective,
    NodeRotations,
    anlsf,
    band_coefficients,
    directional_filter,
    dyadic,
    framed_graphs,
    lowest_bands,
    node_anlsf,
    node_coefficients,
    node_embeddings,
    node_labeller,
    node_scores,
    partial_spectrum,
    prepared_graphs,
    symmetric_coefficients,
)
from cases.labelled_molecules import ATOM_KINDS, BOND_KINDS, small_molecules
from cases.on_any_device.case import CLASSES, ON_CPU, Case, Move, of_model, seeded

BANDS = dyadic(3)
FAMILY = BandRotations(BANDS, rows=2)
NODES = NodeRotations(BANDS, rows=2)
CHANNELS, WIDTH = 3, 4
SMALL: dict[str, Any] = {"features": 3, "hidden": 6, "layers": 2, "frame_width": 2, "walk_steps": 3}


def graphs() -> list[Data]:
    """Molecules with numbers as node features, whose edges have no features."""
    generator = torch.Generator().manual_seed(0)
    some = small_molecules(3)
    return [
        Data(x=torch.randn(graph.num_nodes, CHANNELS, generator=generator), edge_index=graph.edge_index)
        for graph in some
    ]


def batch() -> Batch:
    return Batch.from_data_list(graphs())


def _anlsf(factor: str = "triangular", temperature: Any = 0.0) -> Canonicalized:
    family = BandRotations(BANDS, rows=2, factor=factor)
    search = SampleAndRefine(3, 1) if temperature == 0.0 else RandomSearch(4)
    options = {"search": search, "temperature": temperature, "resample_every": 2}
    return anlsf(family, CHANNELS, classes=CLASSES, hidden=6, layers=2, **options)


def _encoded(**options: Any) -> EncodedANLSF:
    return EncodedANLSF(CHANNELS, classes=CLASSES, family=FAMILY, width=WIDTH, **SMALL, **options)


def readout(kind: str = "gatedgcn", **options: Any) -> ANLSFReadout:
    nodes = CategoryEmbedding(ATOM_KINDS, WIDTH, numbers=SMALL["walk_steps"])
    encoder = GraphEncoder(kind, nodes, edges=CategoryEmbedding(BOND_KINDS, WIDTH), width=WIDTH, layers=2)
    return ANLSFReadout(encoder, width=WIDTH, outputs=CLASSES, categories=ATOM_KINDS, family=FAMILY, **SMALL, **options)


def prepared_molecules() -> FramedGraphs:
    """What the readout takes in place of graphs, moved as a whole."""
    widths = {"frame_width": SMALL["frame_width"], "walk_steps": SMALL["walk_steps"]}
    return prepared_graphs(small_molecules(3), BANDS, categories=ATOM_KINDS, cache=False, **widths)


def _node_model() -> Canonicalized:
    search = SampleAndRefine(3, 1)
    return node_anlsf(NODES, CHANNELS, classes=CLASSES, hidden=6, features=4, node_layers=1, search=search)


def _labeller(temperature: float = 0.0) -> Canonicalized:
    options = {"hidden": 6, "features": 4, "dropout": 0.2, "temperature": temperature}
    return node_labeller(NODES, CHANNELS, classes=CLASSES, candidates=3, **options)


def _labels_of_nodes(move: Move) -> dict[str, Tree]:
    model, given = move(seeded(_labeller)), move(batch())
    nodes = len(given.x)
    labels, known = move(torch.arange(nodes) % CLASSES), move(torch.arange(nodes) % 2 == 0)
    found = {"scores": node_scores(model.eval(), given)}
    torch.manual_seed(0)
    loss, logits = MaskedObjective(model.train())(given, labels, known)
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    return found | {"loss": loss, "logits": logits, "gradients": gradients}


def _embeddings(move: Move) -> dict[str, Tree]:
    model, given = move(seeded(_node_model)).eval(), move(graphs())
    direction = move(directional_filter(BANDS, search=SampleAndRefine(3, 1))).eval()
    classes = move(torch.tensor([0, 2, 1]))
    return {
        "embeddings": node_embeddings(model, given),
        "of classes": node_embeddings(model, given, classes=classes),
        "directions": node_embeddings(direction, given),
    }


def _prepared(move: Move) -> dict[str, Tree]:
    """What is prepared of graphs on the device is on the device."""
    given = move(graphs())
    framed = framed_graphs(given, BANDS, cache=False)
    return {
        "coefficients": band_coefficients(given, BANDS, cache=False),
        "symmetric coefficients": symmetric_coefficients(given, BANDS),
        "of nodes": node_coefficients(given, BANDS, cache=False),
        "framed": vars(framed),
        "some of them": vars(framed[move(torch.tensor([2, 0]))]),
        "prepared": vars(prepared_graphs(move(small_molecules(3)), BANDS, categories=ATOM_KINDS, cache=False)),
    }


def _cached(move: Move) -> dict[str, Tree]:
    """Through the caches on the disk of large data sets, which hold nothing the first time."""
    given = move(graphs())
    few = patch("adacanon.graphs.coefficient_cache._FEWEST_GRAPHS", len(given))
    with TemporaryDirectory() as folder, patch.dict(os.environ, ADACANON_CACHE=folder), few:
        return {time: (band_coefficients(given, BANDS), _framed_of(given)) for time in ("computed", "read")}


def _spectra(move: Move) -> dict[str, Tree]:
    """Spectra are computed and kept on the CPU, for graphs on any device."""
    graph = move(graphs()[0])
    spectrum = partial_spectrum(graph, lowest=3, cache=False)
    return {
        f"{ON_CPU}eigenpairs": (spectrum.eigenvalues, spectrum.eigenvectors.abs()),
        "bands": lowest_bands(graph, 4, bands=2, cache=False).boundaries,
    }


def _coefficients() -> Any:
    return band_coefficients(graphs(), BANDS, cache=False)


def _framed() -> Any:
    return framed_graphs(graphs(), BANDS, frame_width=SMALL["frame_width"], walk_steps=SMALL["walk_steps"], cache=False)


def _framed_of(given: list[Data]) -> dict[str, Tensor]:
    return {name: value for name, value in vars(framed_graphs(given, BANDS)).items() if value is not None}


def _targets() -> Tensor:
    return torch.tensor([0, 2, 1])


CASES: dict[str, Case] = {
    "graphs anlsf": of_model(_anlsf, batch, _targets),
    "graphs anlsf of coefficients": of_model(_anlsf, _coefficients, _targets),
    "graphs anlsf over some forms": of_model(_anlsf, _coefficients, _targets, forms=2),
    "graphs anlsf, soft": of_model(lambda: _anlsf(temperature=0.5), _coefficients, _targets),
    "graphs anlsf, symmetric factors": of_model(lambda: _anlsf("symmetric"), graphs, _targets),
    "graphs EncodedANLSF": of_model(_encoded, batch, _targets),
    "graphs EncodedANLSF of framed graphs": of_model(lambda: _encoded(temperature=0.5), _framed, _targets),
    "graphs ANLSFReadout": of_model(readout, lambda: small_molecules(3), _targets),
    "graphs ANLSFReadout of numbers": of_model(
        lambda: readout("gin", targets="numbers"), lambda: small_molecules(3), targets=None
    ),
    "graphs node_anlsf": of_model(_node_model, graphs, _targets),
    "graphs node_labeller": of_model(_labeller, batch, targets=None),
    "graphs node_labeller, soft": of_model(lambda: _labeller(0.5), batch, targets=None),
    "graphs labels of nodes": _labels_of_nodes,
    "graphs embeddings of nodes": _embeddings,
    "graphs prepared": _prepared,
    "graphs cached": _cached,
    "graphs spectra": _spectra,
}
