"""Library, constructors: one or two arguments of the wrong kind."""

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    CoarseToFine,
    Composition,
    Confidence,
    GridSearch,
    LargestScore,
    LogSumExp,
    NegativeEntropy,
    Objective,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    Temperature,
    WithMemory,
    fast_training_searches,
)
from adacanon.core import Family, Maximizer, Prior, Space
from adacanon.errors import AdacanonError
from adacanon.graphs import (
    ANLSFReadout,
    BandRotations,
    CategoryEmbedding,
    EncodedANLSF,
    NodeBases,
    NodeClassifier,
    NodeFilter,
    NodeLabeller,
    NodeRotations,
    Partition,
    SpectralMLP,
    anlsf,
    directional_filter,
    dyadic,
    node_anlsf,
    node_labeller,
    uniform,
)
from adacanon.images import (
    AffineMaps,
    Composed,
    Dilations,
    Preprocessing,
    Reflections,
    ResNet18,
    Shears,
    Translations,
    Truncations,
    UNet,
    Windows,
)
from adacanon.images import Rotations as Turns
from adacanon.maximizers import Calibration, ClimbStage, CompareStage
from adacanon.points import (
    DGCNN,
    RSCNN,
    AxisRotations,
    Balls,
    DeepSet,
    DGCNNSegmentation,
    Isometries,
    PairNetwork,
    PointNet,
    PointNet2,
    PointNetSegmentation,
    Rotations,
    Unpacked,
)
from adacanon.spaces import Box, Finite, Orthogonal, Product, Rectangles, rotation_group, super_fibonacci
from adacanon.spaces.circle import Circle
from adacanon.training import Schedule
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.hostile import hostile, spellings
from benchmarks.fuzz.judging import SilentlyWrongError
from benchmarks.fuzz.models import CloudScores, ImageScores, MeanEncoder, clouds, pictures

Make = Callable[..., Any]

BANDS = dyadic(3)
SMALL = {"widths": (4, 4), "head": (4,)}
MAKERS: tuple[tuple[Make, dict[str, Any]], ...] = (
    (Canonicalized, {"network": CloudScores(), "family": Rotations(), "search": RandomSearch(2), "chunk_size": 3}),
    (Canonicalized, {"network": CloudScores(), "family": Rotations(), "seed": 3, "resample_every": 2}),
    (Objective, {"model": Canonicalized(CloudScores(), Rotations()), "forms": None}),
    (Temperature, {"value": 0.5, "learned": True}),
    (RandomSearch, {"candidates": 4}),
    (GridSearch, {"candidates": 4}),
    (SampleAndRefine, {"candidates": 4, "steps": 1, "step_size": 0.1, "method": "riemannian"}),
    (AnchoredSearch, {"candidates": 4, "steps": 1, "step_size": 0.1, "method": "projected"}),
    (CoarseToFine, {"search": RandomSearch(4), "size": 3, "keep": 1, "contenders": 1, "steps": 1, "step_size": 0.1}),
    (CoarseToFine, {"search": RandomSearch(4), "size": 3, "stages": (), "calibration": None}),
    (ClimbStage, {"size": 4, "keep": 2, "steps": 1, "step_size": 0.05}),
    (CompareStage, {"size": 4, "contenders": 2, "keep": 2, "leaders": 1, "deeper": 2, "finalists": 2, "margin": 1.0}),
    (Calibration, {"inputs": 2, "forget": 0.1}),
    (Restarts, {"search": RandomSearch(2), "times": 2}),
    (SubsetSearch, {"search": RandomSearch(4), "candidates": 2}),
    (WithMemory, {"search": RandomSearch(2), "samples": 4, "slots": 2}),
    (fast_training_searches, {"samples": 5, "candidates": 8, "training_candidates": 4, "size": 4, "slots": 2}),
    (NegativeEntropy, {"axis": -1}),
    (LargestScore, {"axis": 1}),
    (LogSumExp, {"axis": -1}),
    (Confidence, {"axis": -1}),
    (Box, {"low": (0.0, -1.0), "high": (1.0, 1.0), "neutral": (0.5, 0.0)}),
    (Finite, {"size": 4}),
    (Orthogonal, {"size": 3, "columns": 2, "proper": False}),
    (Rectangles, {"smallest": 0.5, "largest": 0.9}),
    (rotation_group, {"solid": "cube"}),
    (super_fibonacci, {"count": 5}),
    (Rotations, {"vectors": 1}),
    (Isometries, {"vectors": 1}),
    (AxisRotations, {"axis": (0.0, 1.0, 0.0), "vectors": 1}),
    (Composition, {"first": Turns(), "second": Dilations()}),
    (Turns, {"outside": "zero"}),
    (Translations, {"reach": 0.1, "outside": "border"}),
    (Dilations, {"smallest": 0.8, "largest": 1.2, "outside": "zero"}),
    (Shears, {"reach": 0.1, "outside": "zero"}),
    (AffineMaps, {"reach": 0.1, "shift": 0.1, "outside": "zero"}),
    (Reflections, {"mirrors": "both", "outside": "zero"}),
    (Truncations, {"smallest": 0.5, "largest": 1.0}),
    (Windows, {"smallest": 0.5, "largest": 1.0, "levels": 2, "resize": "bilinear"}),
    (Preprocessing, {"size": 8, "mean": (0.5, 0.5), "std": (0.2, 0.2)}),
    (ResNet18, {"classes": 2, "channels": 3}),
    (UNet, {"classes": 2, "channels": 1, "widths": (4, 4)}),
    (Partition, {"boundaries": (0.0, 1.0, 2.0), "partial": False}),
    (dyadic, {"bands": 3, "decay": 0.5, "low": 0.0, "high": 2.0}),
    (uniform, {"bands": 3, "low": 0.0, "high": 2.0}),
    (BandRotations, {"partition": BANDS, "rows": 2, "operator": "normalized", "factor": "triangular"}),
    (NodeRotations, {"partition": BANDS, "rows": 2, "operator": "normalized"}),
    (NodeBases, {"rotations": NodeRotations(BANDS, 2), "candidates": 3}),
    (NodeFilter, {"rows": 4, "channels": 2, "features": 4, "hidden": 4, "layers": 2, "dropout": 0.1}),
    (NodeClassifier, {"filter": NodeFilter(4, 2, features=4, hidden=4), "classes": 2, "layers": 1, "pooling": "mean"}),
    (NodeLabeller, {"filter": NodeFilter(4, 2, features=4, hidden=4), "channels": 2, "classes": 2, "dropout": 0.1}),
    (
        SpectralMLP,
        {"rows": 4, "channels": 2, "classes": 2, "hidden": 4, "layers": 2, "dropout": 0.1, "invariants": 0},
    ),
    (CategoryEmbedding, {"categories": (3, 2), "width": 4, "numbers": 1}),
    (anlsf, {"family": BandRotations(BANDS, 2), "channels": 2, "classes": 2, "hidden": 4, "layers": 2, "seed": 1}),
    (directional_filter, {"partition": BANDS, "references": 2}),
    (node_anlsf, {"family": NodeRotations(BANDS, 2), "channels": 2, "classes": 2, "hidden": 4, "features": 4}),
    (node_labeller, {"family": NodeRotations(BANDS, 2), "channels": 2, "classes": 2, "hidden": 4, "candidates": 2}),
    (EncodedANLSF, {"channels": 2, "classes": 2, "features": 4, "hops": 1, "width": 4, "hidden": 4, "walk_steps": 2}),
    (
        ANLSFReadout,
        {"encoder": MeanEncoder(), "width": 8, "outputs": 2, "features": 4, "hidden": 4, "categories": ()},
    ),
    (DeepSet, {"classes": 2, "channels": 3, **SMALL, "dropout": 0.1, "pooling": "sum"}),
    (PointNet, {"classes": 2, "channels": 3, **SMALL, "dropout": 0.1}),
    (DGCNN, {"classes": 2, "channels": 3, "k": 2, **SMALL, "aggregation": 4, "dropout": 0.1}),
    (PairNetwork, {"outputs": 2, "features": 2, "width": 4, "filters": 2, "layers": 1, "hidden": 4}),
    (PointNetSegmentation, {"parts": 2, "categories": 2, **SMALL, "dropout": 0.1}),
    (DGCNNSegmentation, {"parts": 2, "categories": 2, "k": 2, "width": 4, "aggregation": 4, "head": (4,)}),
    (RSCNN, {"classes": 2, "levels": (Balls(3, 0.5, 2),) * 2, "widths": (4, 4, 4), "head": (4,), "dropout": 0.1}),
    (
        PointNet2,
        {"classes": 2, "levels": (Balls(3, 0.5, 2),), "widths": ((4, 4),), "last": (4,), "head": (4,), "dropout": 0.1},
    ),
    (Balls, {"centres": 4, "radius": 0.5, "count": 2}),
    (Unpacked, {"network": nn.Linear(3, 2)}),
    (Schedule, {"epochs": 2, "batch": 4, "learning_rate": 0.01}),
)
"""What is called, and arguments with which it works; those that are not named keep their defaults."""

POSITIONAL: tuple[tuple[Make, tuple[Any, ...]], ...] = (
    (Product, (Circle(), Finite(3))),
    (Composed, (Turns(), Dilations())),
)


def wrong_kind(draw: Draw) -> None:
    """Refused by name when it is made, or made to something that can be shown and used."""
    make, arguments = draw.pick(MAKERS)
    names = list(inspect.signature(make).parameters)
    changed = draw.random.sample(names, k=min(len(names), draw.pick([1, 1, 1, 2])))
    with torch.random.fork_rng(devices=[]):
        use(make(**{**arguments, **{name: hostile(draw) for name in changed}}), draw)


def wrong_part(draw: Draw) -> None:
    """The same where parts come one after the other."""
    make, parts = draw.pick(POSITIONAL)
    others = list(parts)
    others[draw.whole(0, len(parts) - 1)] = hostile(draw)
    use(make(*others), draw)


def other_spelling(draw: Draw) -> None:
    """Whole numbers of numpy and torch mean what Python's mean, and are never refused."""
    make, arguments = draw.pick(MAKERS)
    whole = [name for name, value in arguments.items() if type(value) is int and value > 0]
    if not whole:
        return
    name = draw.pick(whole)
    spelled = draw.pick(spellings(arguments[name]))
    if make is Orthogonal and isinstance(spelled, torch.Tensor):
        return  # a tensor stands for one size per input
    with torch.random.fork_rng(devices=[]):
        try:
            made = make(**{**arguments, name: spelled})
        except AdacanonError as error:
            raise SilentlyWrongError(f"{make.__name__}({name}={spelled!r}) was refused: {error}") from error
        if repr(made) != repr(make(**arguments)) and not isinstance(made, torch.Tensor | Unpacked):
            raise SilentlyWrongError(f"{make.__name__}({name}={spelled!r}) became {made!r}")


def use(made: Any, draw: Draw) -> None:
    """What a user does next with what was made."""
    repr(made)
    if isinstance(made, Space) and not isinstance(made, Finite):
        made.project(made.sample(2, generator=draw.generator))
    if isinstance(made, Finite):
        made.sample(2, generator=draw.generator)
    with torch.no_grad():
        if isinstance(made, Family):
            _use_family(made, draw)
        if isinstance(made, Maximizer) and not isinstance(made, WithMemory):
            Canonicalized(CloudScores(), Rotations(), made).eval()(clouds(draw))
        if isinstance(made, Prior):
            made(draw.normal(2, 3))
        if isinstance(made, Temperature):
            Canonicalized(CloudScores(), Rotations(), temperature=made).eval()(clouds(draw))
        if isinstance(made, Canonicalized) and isinstance(made.network, CloudScores):
            made.eval()(clouds(draw))


def _use_family(family: Family, draw: Draw) -> None:
    network, inputs = (CloudScores, clouds) if hasattr(family, "vectors") else (ImageScores, pictures)
    if not isinstance(family, BandRotations | NodeRotations | NodeBases):
        Canonicalized(network(), family, RandomSearch(2)).eval()(inputs(draw))


KINDS = {
    "constructors, wrong kind": (wrong_kind, 60),
    "constructors, wrong part": (wrong_part, 2),
    "constructors, other spelling": (other_spelling, 8),
}
