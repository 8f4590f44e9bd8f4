"""One input, its full search, over one batched pass of the same forms: families, our networks and torch's own layers.

The batched pass is given the transformed inputs. So a ratio of one means that making candidates and forms, checks and
comparisons cost no more than is saved by evaluating the forms a few at a time. Medians of interleaved calls.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from adacanon import Canonicalized
from adacanon.core import Family
from adacanon.core.pytree import batch_size, flatten_leading
from adacanon.experiments.images.rotated_digits import FAMILY, SmallCNN
from adacanon.images import ResNet18, Truncations
from adacanon.maximizers import AnchoredSearch, GridSearch, RandomSearch
from adacanon.maximizers.cascade import every_candidate
from adacanon.maximizers.selection import CandidateSearch
from adacanon.points import DGCNN, AxisRotations, Isometries, PointNet, Rotations
from benchmarks.clouds.pointnet_step import OrdinaryPointNet
from benchmarks.frame import measure
from benchmarks.frame.networks import SmallPointNet


class SmallTransformer(nn.Module):
    """Points as tokens, two of torch's encoder layers, the mean of what comes out."""

    def __init__(self, classes: int = 10, *, width: int = 64) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
        self.body = nn.Sequential(nn.Linear(3, width), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
        self.head = nn.Linear(width, classes)

    def forward(self, clouds: Tensor) -> Tensor:
        return self.head(self.body(clouds).mean(1))


@dataclass(frozen=True)
class Case:
    """A network, its family and search, and the shape of an input."""

    network: Callable[[], nn.Module]
    family: Family
    search: CandidateSearch
    shape: tuple[int, ...]


ANCHORS = AnchoredSearch(24)
CASES = {
    "PointNet, 24 anchors": Case(lambda: PointNet(40), Rotations(), ANCHORS, (1024, 3)),
    "PointNet of torch's layers, 24 anchors": Case(lambda: OrdinaryPointNet(40), Rotations(), ANCHORS, (1024, 3)),
    "PointNet, 50 draws": Case(lambda: PointNet(40), Rotations(), RandomSearch(50), (1024, 3)),
    "PointNet, 48 isometries": Case(lambda: PointNet(40), Isometries(), AnchoredSearch(48), (1024, 3)),
    "PointNet, 16 angles": Case(lambda: PointNet(40), AxisRotations((0, 1, 0)), AnchoredSearch(16), (1024, 3)),
    "small PointNet, 24 anchors": Case(SmallPointNet, Rotations(), ANCHORS, (256, 3)),
    "small transformer, 24 anchors": Case(SmallTransformer, Rotations(), ANCHORS, (256, 3)),
    "DGCNN, 24 anchors": Case(lambda: DGCNN(10, k=10), Rotations(), ANCHORS, (128, 3)),
    "small CNN, 48 angles": Case(lambda: SmallCNN(10), FAMILY, GridSearch(48), (1, 28, 28)),
    "ResNet-18, 24 angles": Case(lambda: ResNet18(10), FAMILY, GridSearch(24), (3, 32, 32)),
    "ResNet-18, 24 windows": Case(lambda: ResNet18(10), Truncations(), RandomSearch(24), (3, 32, 32)),
}


def section(options: argparse.Namespace) -> measure.Section:
    """Headline: the ratio of every case."""
    rows = [row(name, CASES[name], options) for name in options.cases]
    return {"search_overhead": {row["model"]: row["search over its forms"] for row in rows}}, rows


def row(name: str, case: Case, options: argparse.Namespace) -> measure.Row:
    torch.manual_seed(options.seed)
    network = case.network().eval()
    model = Canonicalized(network, case.family, case.search).eval()
    g = torch.randn(1, *case.shape) * torch.linspace(1, 0.5, case.shape[-1])
    forms = forms_of(model, g)
    calls: dict[str, Callable[[], Any]] = {
        "plain": lambda: network(g),
        "search": lambda: model(g),
        "forms": lambda: network(forms),
    }
    with torch.no_grad():
        seconds = measure.medians(calls, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    return {
        "model": name,
        "forms": batch_size(forms),
        "plain, ms": 1e3 * seconds["plain"],
        "search, ms": 1e3 * seconds["search"],
        "search over plain": seconds["search"] / seconds["plain"],
        "search over its forms": seconds["search"] / seconds["forms"],
    }


def forms_of(model: Canonicalized, g: Tensor) -> Tensor:
    """All transformed inputs of a model's search."""
    prepared = model.prepare(g)
    with model.searching(prepared, None, None) as (search, landscape):
        points = flatten_leading(every_candidate(search, landscape, model.next_generator()), 2)  # type: ignore[arg-type]
        return model.family.transform(landscape.g, points, torch.zeros(batch_size(points), dtype=torch.int64))


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"repetitions": 1})
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--repetitions", type=int, default=15)
    return parser


def title(options: argparse.Namespace) -> str:
    return f"A batch of one; {options.threads} threads, {options.clock} time"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
