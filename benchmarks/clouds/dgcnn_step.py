"""One training step of AC-DGCNN against a plain step of the same DGCNN, and against Algorithm 1 as written.

DGCNN of the published size at initialisation, 50 draws, 40 classes, and few enough clouds for Algorithm 1 to end: it
takes a pass for every draw and one with gradients for every class. Medians of interleaved steps in one run.
"""

import argparse
from collections.abc import Callable

import torch
from torch import nn

from adacanon import Canonicalized, Objective, one_vs_rest
from adacanon.experiments.clouds.searches import FAST, searches, settings_of
from adacanon.points import DGCNN, Rotations
from benchmarks.clouds.pointnet_step import fast_objective, soft_objective, step, title
from benchmarks.frame import measure, networks
from benchmarks.frame.naive import naive_step


def section(options: argparse.Namespace) -> measure.Section:
    """Headline: the steps with 50 draws on views, and of the rows AC (remembered anchors) and AC (soft) of the tables,
    over a plain step.
    """
    torch.manual_seed(options.seed)
    network = DGCNN(options.classes, k=options.k)
    clouds, source = networks.clouds(options.batch, options.points, seed=options.seed)
    labels = torch.arange(options.batch) % options.classes
    ids = torch.arange(options.batch)
    objective = fast_objective(network, draws=options.draws, size=options.size, samples=options.batch).train()
    objective(clouds, labels, ids)  # so that the memory knows the clouds
    remembered = remembered_objective(network, samples=options.batch).train()
    remembered(clouds, labels, ids)
    soft = soft_objective(network).train()
    actions: dict[str, Callable[[], object]] = {
        "plain": lambda: step(network, lambda: one_vs_rest(network(clouds), labels)),
        "ours": lambda: step(objective, lambda: objective(clouds, labels, ids).loss),
        "remembered": lambda: step(remembered, lambda: remembered(clouds, labels, ids).loss),
        "soft": lambda: step(soft, lambda: soft(clouds, labels).loss),
        "naive": lambda: naive_step(network, clouds, labels, draws=options.draws),
    }
    seconds = measure.medians(actions, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    row = {
        "clouds": source,
        "plain step, s": seconds["plain"],
        "ours, s": seconds["ours"],
        "ours over plain": seconds["ours"] / seconds["plain"],
        "remembered over plain": seconds["remembered"] / seconds["plain"],
        "soft over plain": seconds["soft"] / seconds["plain"],
        "naive over plain": seconds["naive"] / seconds["plain"],
        "naive over ours": seconds["naive"] / seconds["ours"],
    }
    names = {"50 draws": "ours", "remembered anchors": "remembered", "soft": "soft"}
    return {"dgcnn_step_over_plain": {name: row[f"{key} over plain"] for name, key in names.items()}}, [row]


def remembered_objective(network: nn.Module, *, samples: int) -> Objective:
    """Two forms of a cloud among six anchors and the four winners that are remembered, all on the whole cloud."""
    evaluation, training = searches(settings_of("remembered anchors"), samples=samples)
    model = Canonicalized(network, Rotations(), evaluation, training_search=training)
    return Objective(model, forms=FAST["forms"])


def parser() -> argparse.ArgumentParser:
    quick = {"repetitions": 1, "draws": 4, "batch": 4, "points": 32, "size": 8, "k": 4, "classes": 3}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--classes", type=int, default=40)
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--points", type=int, default=256)
    parser.add_argument("--k", type=int, default=20, help="neighbours")
    parser.add_argument("--size", type=int, default=FAST["size"], help="points of the coarse view")
    return parser


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
