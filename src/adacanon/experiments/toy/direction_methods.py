"""The rows of the table `directions`: message passing, and A-NLSF with its controls."""

from collections.abc import Callable

import torch
from torch import Tensor

from adacanon.baselines.graphs.graph_baseline import GraphBaseline
from adacanon.core.canonicalized import Canonicalized
from adacanon.data.grid_orientation import TorusTask
from adacanon.errors import UnknownNameError
from adacanon.experiments.toy.methods import CHANNELS, CLASSES
from adacanon.experiments.toy.orientation import energy_mlp, gram_mlp, on_eigenvectors, task_coefficients
from adacanon.experiments.toy.shared_graph import OnSharedGraph
from adacanon.graphs.anlsf import anlsf
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.band_search import DRAWS
from adacanon.graphs.bands import dyadic
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.maximizers.random_search import RandomSearch
from adacanon.runs.run import Settings
from adacanon.runs.table import Row
from adacanon.training.learner import Learner, looked_up

COPIES_PER_PASS = 20


def message_passing(row: Row, task: TorusTask, options: Settings, train: Tensor, seed: int) -> Learner:
    """A graph network with batch normalisation, residuals and the mean of its last layer."""
    network = GraphBaseline(
        row.backbone,
        CHANNELS,
        classes=CLASSES,
        width=options["hidden"],
        layers=options["layers"],
        readout="mean",
        combination="last",
        residual=True,
    )
    module = OnSharedGraph(network, task.edge_index, graphs_per_pass=COPIES_PER_PASS)
    return Learner(module, task.labels, looked_up(task.signals))


def on_bases(row: Row, task: TorusTask, options: Settings, train: Tensor, seed: int) -> Learner:
    """One MLP on coefficients: in the bases of its largest score (A-NLSF), the canonical ones, random ones, or on
    average over 32 random ones.
    """
    family = BandRotations(dyadic(options["bands"], decay=options["decay"]), rows=options["rows"])
    coefficients = task_coefficients(task, options["bands"], options["decay"])
    sizes = {"classes": CLASSES, "hidden": options["hidden"], "layers": options["layers"]}
    if row.backbone == "canonical":
        rows = coefficients.factors.flatten(1, 2)
        return Learner(SpectralMLP(rows.shape[1], CHANNELS, **sizes), task.labels, looked_up(rows))
    module = _canonicalized(row.backbone, family, sizes, seed)
    return Learner(module, task.labels, looked_up(coefficients))


def _canonicalized(bases: str, family: BandRotations, sizes: Settings, seed: int) -> Canonicalized:
    """``random`` draws bases at every step of training; in evaluation its answer is the mean over 32."""
    if bases == "search":
        return anlsf(family, CHANNELS, **sizes, seed=seed)
    if bases == "mean":
        return anlsf(family, CHANNELS, **sizes, temperature=torch.inf, seed=seed)
    if bases == "random":
        one = RandomSearch(1)
        return anlsf(
            family,
            CHANNELS,
            **sizes,
            search=RandomSearch(DRAWS),
            training_search=one,
            temperature=torch.inf,
            resample_every=1,
            seed=seed,
        )
    raise UnknownNameError(f"Bases are search, canonical, random, mean; got {bases!r}")


METHODS: dict[str, Callable[[Row, TorusTask, Settings, Tensor, int], Learner]] = {
    "message passing": message_passing,
    "eigenvectors": on_eigenvectors,
    "Gram MLP": gram_mlp,
    "energy MLP": energy_mlp,
    "bases": on_bases,
}
