"""Ways that small inputs and usual options do not take: large tensors, pieces, chunks, and values of options that are
not the default.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    Confidence,
    GridSearch,
    RandomSearch,
    WeightedAnchors,
    distil,
    fast_training_searches,
)
from adacanon.baselines.graphs import NLSF, NLSFEncoder, StructureAgnostic
from adacanon.core.pytree import Tree
from adacanon.graphs import (
    BandRotations,
    NodeRotations,
    anlsf,
    node_anlsf,
    partial_spectrum,
    symmetric_coefficients,
    uniform,
)
from adacanon.graphs.shift_operators import OPERATORS
from adacanon.images import Reflections
from adacanon.images import Rotations as Turns
from adacanon.maximizers import Cascade, RankerErrors, view_ranker
from adacanon.points import (
    DGCNN,
    DeepSet,
    DGCNNSegmentation,
    PointNet,
    Rotations,
    Unpacked,
    ball_query,
    nearest_neighbours,
)
from cases.image_cases import images
from cases.on_any_device.case import CLASSES, ON_CPU, Case, Move, of_model, of_network, seeded
from cases.on_any_device.families import PictureNetwork, cloud_network, clouds, padded, with_normals
from cases.on_any_device.graph_models import BANDS, CHANNELS, batch, graphs, prepared_molecules, readout
from cases.on_any_device.graph_rivals import banded, graph_inputs
from cases.on_any_device.searches import small_network
from cases.rankers import small_ranker

NEIGHBOURS, KEPT = "adacanon.points.neighbours", "adacanon.points.recomputed.KEPT_BYTES"
SOLVERS = ("dense", "factorized", "lanczos")
SAMPLES = 3


def at(limits: dict[str, int], case: Case) -> Case:
    """A case under limits of the library that small inputs do not reach."""

    def run(move: Move) -> dict[str, Tree]:
        with ExitStack() as stack:
            for name, value in limits.items():
                stack.enter_context(patch(name, value))
            return case(move)

    return run


def _neighbours(points: int, k: int) -> Case:
    def run(move: Move) -> dict[str, Tree]:
        given = move(clouds(2, points))
        return {"nearest": nearest_neighbours(given, k), "in balls": ball_query(given, given[:, :5], 0.7, k)}

    return run


def _distilled(build: Callable[[], Canonicalized], inputs: Callable[[], Tensor], *, size: int | None = None) -> Case:
    """The ranker of the family, or a copy of the network on a view, learns on the device."""

    def run(move: Move) -> dict[str, Tree]:
        model, given = move(seeded(build)).eval(), move(inputs())
        torch.manual_seed(0)  # of a new ranker
        ranker = None if size is None else view_ranker(model.network, CLASSES, size=size)
        found = distil(model, given.split(4), ranker=ranker, finalists=2, candidates=3, steps=3, show=False)
        return {
            "answers": found.model(given),
            "parameters": dict(found.model.search.ranker.named_parameters()),
            "measured": {name: float(value) for name, value in asdict(found.measured).items() if name == "agreement"},
        }

    return run


def _few_pictures() -> Tensor:
    return images(12, 2, 16, 16, dtype=torch.float32)


def _weighted(network: Callable[[], Any], inputs: Callable[[], Any], vectors: int = 1) -> Case:
    return of_model(
        lambda: Canonicalized(network(), Rotations(vectors=vectors), WeightedAnchors(), temperature=1.0), inputs
    )


def _cascade(temperature: float) -> Canonicalized:
    """Answers of which one form, or a blend, is chosen by a confidence that the network gives: one estimate each."""
    search = Cascade(AnchoredSearch(24), small_ranker(1, dtype=torch.float32), finalists=3)
    return Canonicalized(cloud_network(), Rotations(), search, prior=Confidence(), temperature=temperature)


def _fast() -> Canonicalized:
    sizes = {"candidates": 12, "training_candidates": 6, "size": 6, "slots": 2, "calibration": 2}
    search, training_search = fast_training_searches(SAMPLES, compare=False, **sizes)
    return Canonicalized(small_network(), Rotations(), search, training_search=training_search)


def _in_chunks(temperature: float, search: Any = None) -> Canonicalized:
    return Canonicalized(small_network(), Rotations(), search or RandomSearch(5), temperature=temperature, chunk_size=2)


def _operator(name: str) -> Canonicalized:
    family = BandRotations(uniform(3, low=-8, high=8), rows=2, operator=name)
    model = anlsf(family, CHANNELS, classes=CLASSES, hidden=6, layers=2, search=RandomSearch(3))
    model.chunk_size = 2
    return model


def _symmetric() -> Canonicalized:
    family = BandRotations(BANDS, rows=2, factor="symmetric")
    return anlsf(family, CHANNELS, classes=CLASSES, hidden=6, layers=2, search=RandomSearch(4), temperature=0.5)


def _solvers(move: Move) -> dict[str, Tree]:
    graph = move(graphs()[0])
    return {
        f"{ON_CPU}{solver}": partial_spectrum(graph, lowest=3, solver=solver, cache=False).eigenvalues
        for solver in SOLVERS
    }


def _summed() -> Canonicalized:
    sizes = {"hidden": 6, "features": 4, "node_layers": 1}
    family = NodeRotations(BANDS, rows=2)
    return node_anlsf(family, CHANNELS, classes=CLASSES, pooling="sum", search=RandomSearch(3), **sizes)


def _targets() -> Tensor:
    return torch.tensor([0, 2, 1])


def _by_analysis() -> NLSF:
    return NLSF([NLSFEncoder(CHANNELS, 3, hidden=8, readout="analysis")], classes=CLASSES, hidden=8)


def _symmetric_clouds(move: Move) -> dict[str, Tree]:
    """Corners of a cube, and of a square prism: axes from further moments."""
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
    given = move(torch.stack([corners, corners * torch.tensor([1.0, 1.0, 2.0])]))
    return {"anchors": Rotations().anchor(given), "determined": Rotations().determined_for_scores(given)}


def _settling(temperature: float) -> Canonicalized:
    """A cascade that asks until no other class could win."""
    ranker = small_ranker(CLASSES, dtype=torch.float32)
    measured = torch.randn(2, 24, 9, CLASSES, generator=torch.Generator().manual_seed(0))
    ranker.errors = RankerErrors(CLASSES)
    ranker.errors.measure(*measured)
    ranker.errors.caution.fill_(1.0)
    search = Cascade(AnchoredSearch(24), ranker, finalists=8)
    return Canonicalized(cloud_network(), Rotations(), search, temperature=temperature)


LARGE = {KEPT: 0}
"""Every tensor counts as too large to be kept."""

PIECES = {f"{NEIGHBOURS}.DISTANCES_AT_ONCE": 1, f"{NEIGHBOURS}.MOST_DISTANCES": 30}

CASES: dict[str, Case] = {
    "rare DGCNN, computed again": at(
        LARGE, of_network(lambda: DGCNN(CLASSES, k=4, widths=(6, 8), aggregation=12, head=(8,)), lambda: (clouds(),))
    ),
    "rare DGCNNSegmentation, computed again": at(
        LARGE,
        of_network(
            lambda: DGCNNSegmentation(4, categories=2, k=4, width=6, aggregation=8, head=(8, 6)),
            lambda: (clouds(), torch.eye(2)[[0, 1, 0]]),
        ),
    ),
    "rare PointNet, computed again": at(
        LARGE, of_network(lambda: PointNet(CLASSES, widths=(8, 16), head=(8,)), lambda: (clouds(),))
    ),
    "rare DeepSet, computed again": at(
        LARGE, of_network(lambda: DeepSet(CLASSES, widths=(8, 8), head=(8,)), lambda: (clouds(),))
    ),
    "rare neighbours in pieces": at(PIECES, _neighbours(20, 4)),
    "rare neighbours of hundreds": _neighbours(136, 9),
    "rare neighbours of more": _neighbours(512, 12),
    "rare distil of clouds": _distilled(
        lambda: Canonicalized(small_network(), Rotations(), AnchoredSearch(24)), lambda: clouds(12, 140)
    ),
    "rare distil of clouds, a copy of the network": _distilled(
        lambda: Canonicalized(small_network(), Rotations(), AnchoredSearch(24)), lambda: clouds(12, 40), size=16
    ),
    "rare distil of images": _distilled(lambda: Canonicalized(PictureNetwork(), Turns(), GridSearch(6)), _few_pictures),
    "rare mirrors": of_model(
        lambda: Canonicalized(PictureNetwork(), Reflections("vertical"), GridSearch()), _few_pictures, targets=None
    ),
    "rare WeightedAnchors, padded": _weighted(lambda: Unpacked(cloud_network()), padded),
    "rare WeightedAnchors with normals": _weighted(lambda: cloud_network(6), with_normals, vectors=2),
    "rare clouds whose variances agree": _symmetric_clouds,
    "rare Cascade that settles": of_model(lambda: _settling(0.0), clouds, targets=None),
    "rare Cascade that settles, soft": of_model(lambda: _settling(0.5), clouds, targets=None),
    "rare Cascade of one form": of_model(lambda: _cascade(0.0), clouds, targets=None),
    "rare Cascade, blended": of_model(lambda: _cascade(0.7), clouds, targets=None),
    "rare fast_training_searches, not compared": of_model(_fast, lambda: clouds(SAMPLES, 24), ids=True),
    "rare chunks of a search": of_model(lambda: _in_chunks(0.0), clouds),
    "rare chunks, soft": of_model(lambda: _in_chunks(0.5), clouds),
    "rare chunks, weighted": of_model(lambda: _in_chunks(0.5, WeightedAnchors()), clouds),
    **{f"rare anlsf by {name}": of_model(lambda name=name: _operator(name), batch, _targets) for name in OPERATORS},
    "rare anlsf of symmetric coefficients": of_model(
        _symmetric, lambda: symmetric_coefficients(graphs(), BANDS), _targets
    ),
    "rare node_anlsf, summed": of_model(_summed, graphs, _targets),
    "rare ANLSFReadout of prepared graphs": of_model(readout, prepared_molecules, _targets),
    "rare ANLSFReadout, soft": of_model(lambda: readout("gcn", temperature=0.5), prepared_molecules, _targets),
    "rare solvers": _solvers,
    "rare NLSF by analysis": of_network(_by_analysis, banded),
    "rare StructureAgnostic without a layer of nodes": of_network(
        lambda: StructureAgnostic(CHANNELS, classes=CLASSES, width=8, node_layer=False), graph_inputs
    ),
}
