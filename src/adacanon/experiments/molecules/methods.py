"""The rows on molecules: a method around the plain network, or a network of its own."""

from collections.abc import Callable

from torch import nn

from adacanon.baselines.clouds.egnn import EGNN
from adacanon.baselines.clouds.pca_frames import PCAAligned, PCAFrameAveraged
from adacanon.baselines.clouds.posed import Answers
from adacanon.core import Canonicalized, Confidence, Objective
from adacanon.data.qm9 import ELEMENTS
from adacanon.experiments.molecules.rotated_molecules import (
    OnMolecules,
    RotatedMolecules,
    augmented,
    mean_distance,
    plain,
)
from adacanon.maximizers import AnchoredSearch, SubsetSearch
from adacanon.points import PairNetwork, Rotations
from adacanon.runs.run import Settings
from adacanon.runs.table import Row
from adacanon.training.learner import Learner

INFINITE = "infinite"
"""JSON has no word for infinity."""

SORTED, ANY_ORDER = 4, 24
"""Frames of principal axes: with all proper signs, in the order of the variances or in any order."""

Build = Callable[[RotatedMolecules, Settings], Learner]


def blended_row(name: str, temperature: float | str, frames: int = SORTED) -> Row:
    """Adaptive canonicalization: answers of all frames, blended by the network's own confidence in them."""
    return Row(name, "AC", settings={"temperature": temperature, "frames": frames})


def build(row: Row, data: RotatedMolecules, options: Settings, *, seed: int) -> Learner:
    """A row bound to its data; all are trained with the mean distance between answers and labels."""
    if row.method == "AC":
        return blended(data, options, seed=seed)
    return METHODS[row.method](data, options)


def blended(data: RotatedMolecules, options: Settings, *, seed: int) -> Learner:
    r""":math:`y(g) = \sum_i w_i R_i^{-1} f(R_ig)` with :math:`w \propto e^{c/\tau}`; the confidence c is one more
    output of the network. In training, of 24 frames four at a time are drawn.
    """
    whole = AnchoredSearch(options["frames"], whole=False)
    model = Canonicalized(
        OnMolecules(network(data, options, outputs=answer_size(data) + 1)),
        Rotations(),
        whole,
        prior=Confidence(),
        answers=kind(data),
        temperature=temperature_of(options),
        training_search=SubsetSearch(whole, SORTED) if options["frames"] > SORTED else None,
        seed=seed,
    )
    return Learner(model, data.labels, data.inputs, mean_distance, objective=Objective(model, loss=mean_distance))


def network(data: RotatedMolecules, options: Settings, *, outputs: int | None = None) -> nn.Module:
    """The plain network of all rows but EGNN."""
    return PairNetwork(
        outputs or answer_size(data), features=len(ELEMENTS), width=options["width"], layers=options["layers"]
    )


METHODS: dict[str, Build] = {
    "plain": lambda data, options: plain(network(data, options), data),
    "augmented": lambda data, options: augmented(network(data, options), data),
    "PCA": lambda data, options: plain(PCAAligned(network(data, options), answers=kind(data)), data),
    "PCA-FA": lambda data, options: plain(PCAFrameAveraged(network(data, options), answers=kind(data)), data),
    "EGNN": lambda data, options: plain(
        EGNN(
            answer_size(data),
            features=len(ELEMENTS),
            width=options["width"],
            layers=options["layers"],
            answers=kind(data),
        ),
        data,
    ),
}


def kind(data: RotatedMolecules) -> Answers:
    """How the target moves with a molecule."""
    return "vectors" if data.vectors else "invariant"


def answer_size(data: RotatedMolecules) -> int:
    """Numbers in an answer."""
    return data.labels.shape[1]


def temperature_of(options: Settings) -> float:
    """The number that settings stand for."""
    return float("inf") if options["temperature"] == INFINITE else options["temperature"]
