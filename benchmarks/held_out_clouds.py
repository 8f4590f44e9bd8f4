"""How AC-PointNet should search, decided on training shapes of ModelNet10 that are held out: no test shape is read.

Every tenth training shape, in a random pose, is what the networks are tested on; they are trained on the others with
the settings of the table `modelnet`.
"""

import argparse

import torch
from torch import Tensor

from adacanon.data.modelnet import Clouds, ModelNet
from adacanon.experiments import modelnet
from adacanon.experiments.cloud_methods import DRAWN, build
from adacanon.experiments.posed_clouds import modelnet as data_set
from adacanon.experiments.posed_clouds import posed
from adacanon.training.loop import accuracy, train
from benchmarks import measure

EVERY = 10
DRAWS, ANCHORS = f"AC-PointNet{DRAWN}", "AC-PointNet"
VARIANTS: dict[str, tuple[str, set[str]]] = {
    "PCA-PointNet": ("PCA-PointNet", set()),
    "PCA-FA-PointNet": ("PCA-FA-PointNet", set()),
    "random draws": (DRAWS, set()),
    "anchors": (ANCHORS, {"calibration"}),
    "anchors, calibrated": (ANCHORS, set()),
}
"""Variant -> the row of `modelnet` that it is, and the settings that it goes without."""


def held_out(data: ModelNet) -> ModelNet:
    """The training shapes, every tenth of them in the place of the test shapes."""
    chosen = torch.arange(len(data.train.labels)) % EVERY == 0
    return ModelNet(_part(data.train, ~chosen), _part(data.train, chosen), data.class_names)


def _part(clouds: Clouds, mask: Tensor) -> Clouds:
    ids = tuple(name for name, taken in zip(clouds.ids, mask.tolist(), strict=True) if taken)
    return Clouds(clouds.points[mask], clouds.labels[mask], ids)


def section(options: argparse.Namespace) -> measure.Section:
    """Accuracy on the shapes held out, and on as many that were trained on."""
    rows: list[measure.Row] = []
    for name in options.variants:
        row, without = VARIANTS[name]
        full = {**modelnet.settings(row, "accuracy", "cpu"), "epochs": options.epochs}
        settings = {key: value for key, value in full.items() if key not in without}
        shapes = held_out(data_set(settings["classes"], settings["points"]))
        data = posed(shapes, seed=options.seed, fixed=settings.get("fixed", False))
        torch.manual_seed(options.seed)
        learner = build(row, data, settings, seed=options.seed)
        schedule = modelnet.schedule_of(settings)
        train(learner, data.parts, schedule, generator=torch.Generator().manual_seed(options.seed))
        trained_on = data.parts.train[:: EVERY - 1]
        figures = [accuracy(learner, index, batch=schedule.batch) for index in (data.parts.test, trained_on)]
        rows.append({"search": name, "held out, %": figures[0], "trained on, %": figures[1]})
        print(rows[-1], flush=True)
    return {}, rows


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"epochs": 1, "variants": ["PCA-PointNet"]})
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    return parser


def title(options: argparse.Namespace) -> str:
    return f"ModelNet10, 128 points, {options.epochs} epochs, seed {options.seed}; every tenth training shape held out"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
