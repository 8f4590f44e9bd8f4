"""Small models of every family, with inputs that they take; made once, and never changed by a case."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from adacanon import Canonicalized, Composition, Confidence, NegativeEntropy, RandomSearch
from adacanon.core import Family
from adacanon.graphs import (
    ANLSFReadout,
    BandRotations,
    EncodedANLSF,
    NodeRotations,
    anlsf,
    dyadic,
    node_anlsf,
    node_labeller,
)
from adacanon.images import (
    AffineMaps,
    Composed,
    Dilations,
    Reflections,
    Shears,
    Translations,
    Truncations,
    Windows,
)
from adacanon.images import Rotations as Turns
from adacanon.points import AxisRotations, Isometries, Rotations
from benchmarks.fuzz.draw import Draw

CLASSES = 3
CHANNELS = 2
WALK_STEPS = 4


class CloudScores(nn.Module):
    """Class scores of clouds of any size, by a sum over points that depends on the pose; no row knows of another."""

    def __init__(self, outputs: int = CLASSES) -> None:
        super().__init__()
        self.points = nn.Linear(3, 8)
        self.scores = nn.Linear(8, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.scores(self.points(x).tanh().mean(1))


class ImageScores(nn.Module):
    """Class scores of images of any size."""

    def __init__(self, outputs: int = CLASSES) -> None:
        super().__init__()
        self.layer = nn.Conv2d(CHANNELS, 4, 3, padding=1)
        self.scores = nn.Linear(8, outputs)

    def forward(self, x: Tensor) -> Tensor:
        h = self.layer(x).tanh()
        rows = torch.linspace(0, 1, h.shape[2], dtype=h.dtype, device=h.device)[:, None]
        return self.scores(torch.cat([h.mean((2, 3)), (h * rows).mean((2, 3))], 1))


class MeanEncoder(nn.Module):
    """The smallest encoder that a readout may have."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(CHANNELS + WALK_STEPS, 8)

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, *others: Tensor) -> Tensor:
        return self.layer(x).tanh()


def clouds(draw: Draw, batch: int = 3) -> Tensor:
    return draw.normal(batch, draw.whole(4, 9), 3) * torch.tensor([1.0, 2.0, 3.0])


def pictures(draw: Draw, batch: int = 3) -> Tensor:
    return draw.normal(batch, CHANNELS, 8, 8).sigmoid()


def graph(draw: Draw, channels: int = CHANNELS) -> Data:
    """A connected graph of a few nodes, every edge in both directions."""
    nodes = draw.whole(3, 7)
    pairs = [(draw.whole(0, i - 1), i) for i in range(1, nodes)] + [(0, nodes - 1)]
    edges = torch.tensor(sorted({pair for a, b in pairs if a != b for pair in ((a, b), (b, a))})).T.contiguous()
    return Data(x=draw.normal(nodes, channels), edge_index=edges, num_nodes=nodes)


def graphs(draw: Draw, batch: int = 3) -> Batch:
    return Batch.from_data_list([graph(draw) for _ in range(batch)])


@dataclass(frozen=True)
class Case:
    """A model in evaluation mode, and inputs for it."""

    make: Callable[[], Canonicalized]
    inputs: Callable[[Draw], Any]


def _of(network: Callable[[], nn.Module], family: Family, **options: Any) -> Callable[[], Canonicalized]:
    return lambda: Canonicalized(network(), family, **options)


CLOUDS: dict[str, Family] = {
    "clouds, rotations": Rotations(),
    "clouds, isometries": Isometries(),
    "clouds, an axis": AxisRotations((0.0, 0.0, 1.0)),
}
IMAGES: dict[str, Family] = {
    "images, rotations": Turns(),
    "images, rotations on a disc": Turns("disc"),
    "images, translations": Translations(),
    "images, dilations": Dilations(),
    "images, shears": Shears(),
    "images, affine maps": AffineMaps(),
    "images, reflections": Reflections("both"),
    "images, composed": Composed(Turns(), Dilations()),
    "images, truncations": Truncations(),
    "images, windows": Windows(levels=3),
}
GRAPHS: dict[str, Callable[[], Canonicalized]] = {
    "graphs, A-NLSF": lambda: anlsf(BandRotations(dyadic(3), 2), CHANNELS, classes=CLASSES, hidden=8, layers=2),
    "graphs, A-NLSF with symmetric factors": lambda: anlsf(
        BandRotations(dyadic(3), 2, factor="symmetric"), CHANNELS, classes=CLASSES, hidden=8, layers=2
    ),
    "graphs, encoded A-NLSF": lambda: EncodedANLSF(
        CHANNELS, classes=CLASSES, features=4, width=8, hidden=8, layers=2, walk_steps=WALK_STEPS
    ),
    "graphs, readout": lambda: ANLSFReadout(
        MeanEncoder(), width=8, outputs=CLASSES, features=4, hidden=8, layers=2, walk_steps=WALK_STEPS
    ),
    "nodes, A-NLSF": lambda: node_anlsf(NodeRotations(dyadic(3), 2), CHANNELS, classes=CLASSES, hidden=8, features=4),
    "nodes, labels": lambda: node_labeller(
        NodeRotations(dyadic(3), 2), CHANNELS, classes=CLASSES, candidates=4, hidden=8, features=8
    ),
}

CASES: dict[str, Case] = {
    **{name: Case(_of(CloudScores, family), clouds) for name, family in CLOUDS.items()},
    **{name: Case(_of(ImageScores, family), pictures) for name, family in IMAGES.items()},
    **{name: Case(make, graphs) for name, make in GRAPHS.items()},
    "compositions": Case(
        lambda: Canonicalized(ImageScores(), Composition(Turns(), Dilations()), RandomSearch(8)), pictures
    ),
    "answers, vectors": Case(
        lambda: Canonicalized(CloudScores(4), Rotations(), prior=Confidence(), answers="vectors", temperature=0.5),
        clouds,
    ),
    "answers, points": Case(lambda: Canonicalized(nn.Linear(3, CLASSES), Rotations(), prior=NegativeEntropy()), clouds),
    "answers, maps": Case(
        lambda: Canonicalized(
            nn.Conv2d(CHANNELS, CLASSES, 3, padding=1), Turns(), prior=NegativeEntropy(axis=1), answers="maps"
        ),
        pictures,
    ),
}


@cache
def model_of(name: str) -> Canonicalized:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return CASES[name].make().eval()
