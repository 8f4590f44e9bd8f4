"""Evaluation of a trained AC-PointNet: accuracy against wall time, in plain forward passes per cloud.

All test clouds of ModelNet40 in random poses. The full search scores its 50 draws on the whole cloud; the
others are coarse-to-fine searches, from dear to cheap.
"""

import argparse
import time

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, CoarseToFine, GridSearch, RandomSearch
from adacanon.core import Maximizer
from adacanon.points import Rotations
from benchmarks import measure
from benchmarks.trained import add_options, part_of, trained

FULL = "50 draws on the whole cloud"
SETTING = "50 on 32 points, 3 x 2 finalists"
TOLERANCE = 0.2
"""Points of accuracy below the full search that count as equal."""


def searches() -> dict[str, Maximizer]:
    """The full search first, then cheaper and cheaper ones."""
    return {
        FULL: RandomSearch(50),
        **{
            f"{k} on {size} points, {contenders} x {keep} finalists": CoarseToFine(
                GridSearch(k), size, contenders=contenders, keep=keep
            )
            for k, size, contenders, keep in (
                (100, 32, 3, 2),
                (50, 32, 3, 2),
                (50, 32, 2, 1),
                (50, 16, 2, 1),
                (24, 16, 2, 1),
            )
        },
    }


def section(options: argparse.Namespace) -> measure.Section:
    """Headline: the cost of ``SETTING``, if it keeps the accuracy of the full search; it is fixed beforehand."""
    network, data = trained({"epochs": options.epochs, "points": options.points})
    test = part_of(data, options.part)[: options.clouds]
    clouds, labels = data.points[test], data.labels[test]
    plain = seconds_of(network, clouds)
    rows: list[measure.Row] = [
        {
            "search": "none",
            "forward passes": 1.0,
            "accuracy": accuracy(network, clouds, labels),
            "changed, %": float("nan"),
        }
    ]
    reference: Tensor | None = None
    for name, search in searches().items():
        model = Canonicalized(network, Rotations(), search).eval()
        begin = time.perf_counter()
        predicted = predictions(model, clouds)
        spent = time.perf_counter() - begin
        reference = predicted if reference is None else reference
        rows.append(
            {
                "search": name,
                "forward passes": spent / plain,
                "accuracy": 100 * float((predicted == labels).double().mean()),
                "changed, %": 100 * float((predicted != reference).double().mean()),
            }
        )
    full, named = (next(row for row in rows if row["search"] == name) for name in (FULL, SETTING))
    kept = named["accuracy"] >= full["accuracy"] - TOLERANCE
    return {"eval_forwards": named["forward passes"] if kept else float("inf")}, rows


def predictions(model: nn.Module, clouds: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.cat([model(part).argmax(1) for part in clouds.split(32)])


def accuracy(model: nn.Module, clouds: Tensor, labels: Tensor) -> float:
    return 100 * float((predictions(model, clouds) == labels).double().mean())


def seconds_of(network: nn.Module, clouds: Tensor) -> float:
    """A plain pass over all clouds, the median of three."""
    return measure.medians({"plain": lambda: predictions(network, clouds)}, repetitions=3)["plain"]


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"clouds": 8, "epochs": 0, "points": 64})
    parser.add_argument("--clouds", type=int, default=2468)
    add_options(parser)
    return parser


def title(options: argparse.Namespace) -> str:
    return f"{options.clouds} {options.part} clouds"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
