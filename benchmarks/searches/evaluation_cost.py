"""Evaluation of a trained AC-PointNet: accuracy against wall time, in plain forward passes per cloud.

Every test cloud of ModelNet10 in a random pose. The full search scores all its candidates on the whole cloud;
the others go from coarse to fine over the same candidates, or take fewer of them. Plain pass and search take turns
batch by batch, so that both see the same state of the machine.
"""

import argparse
from dataclasses import replace

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, CoarseToFine, GridSearch, RandomSearch
from adacanon.core import Maximizer
from adacanon.maximizers import CompareStage
from adacanon.points import Rotations
from benchmarks.frame import measure
from benchmarks.frame.trained import add_options, some_of, trained

FULL = "200 candidates on the whole cloud"
SETTING = "200 on 32 points, 10 x 3 and 2 x 20 on 128, up to 4 finalists"
BATCH = 32
TOLERANCE = 0.2
"""Points of accuracy below the full search that count as equal."""


def searches(own: CoarseToFine) -> dict[str, Maximizer]:
    """The full search first, then the paper's number of draws, then cheaper and cheaper ones."""
    three = replace(own, stages=(CompareStage(),))
    return {
        FULL: own.search,
        "50 draws on the whole cloud": RandomSearch(50),
        SETTING: three,
        "without calibration": replace(three, calibration=None),
        "without calibration and pilot": replace(three, calibration=None, pilot=False),
        "always 4 finalists": replace(three, stages=(CompareStage(margin=None),)),
        "no more of the leaders on 128 points": replace(three, stages=(CompareStage(leaders=0),)),
        "no stage on 128 points, 3 x 2 finalists": own,
        **{
            f"{k} on 32 points, {contenders} x {keep} finalists": replace(
                own, search=GridSearch(k), contenders=contenders, keep=keep
            )
            for k, contenders, keep in ((100, 3, 2), (50, 2, 1))
        },
    }


def section(options: argparse.Namespace) -> measure.Section:
    """Headline: the cost of ``SETTING``, if it keeps the accuracy of the full search; it is fixed beforehand."""
    own, data = trained({"epochs": options.epochs, "points": options.points})
    network = own.network
    test = some_of(data, options.part, options.clouds)
    clouds, labels = data.points[test], data.labels[test]
    clock = measure.CLOCKS[options.clock]
    rows: list[measure.Row] = [
        {
            "search": "none",
            "forward passes": 1.0,
            "accuracy": accuracy(network, clouds, labels),
            "changed, %": float("nan"),
        }
    ]
    reference: Tensor | None = None
    for name, search in searches(own.search).items():
        model = Canonicalized(network, Rotations(), search).eval()
        predicted, passes = timed(model, network, clouds, clock)
        reference = predicted if reference is None else reference
        rows.append(
            {
                "search": name,
                "forward passes": passes,
                "accuracy": 100 * float((predicted == labels).double().mean()),
                "changed, %": 100 * float((predicted != reference).double().mean()),
            }
        )
    full, named = (next(row for row in rows if row["search"] == name) for name in (FULL, SETTING))
    kept = named["accuracy"] >= full["accuracy"] - TOLERANCE
    return {"eval_forwards": named["forward passes"] if kept else float("inf")}, rows


def timed(model: nn.Module, plain: nn.Module, clouds: Tensor, clock: measure.Clock) -> tuple[Tensor, float]:
    """Predictions, and their time in plain passes over the same clouds."""
    predicted, passes, spent = [], 0.0, 0.0
    with torch.no_grad():
        plain(clouds[:BATCH])  # whatever happens only once
        for part in clouds.split(BATCH):
            begin = clock()
            plain(part)
            between = clock()
            predicted.append(model(part).argmax(1))
            passes, spent = passes + between - begin, spent + clock() - between
    return torch.cat(predicted), spent / passes


def accuracy(model: nn.Module, clouds: Tensor, labels: Tensor) -> float:
    with torch.no_grad():
        predicted = torch.cat([model(part).argmax(1) for part in clouds.split(BATCH)])
    return 100 * float((predicted == labels).double().mean())


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"clouds": 8, "epochs": 0, "points": 64})
    parser.add_argument("--clouds", type=int, default=908)
    add_options(parser)
    return parser


def title(options: argparse.Namespace) -> str:
    return f"{options.clouds} {options.part} clouds"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
