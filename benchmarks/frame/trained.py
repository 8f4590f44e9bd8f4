"""A trained AC-PointNet for the benchmarks that need one, made once and kept in the cache folder."""

import argparse
from dataclasses import replace

import torch

from adacanon.core import Canonicalized
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds, canonicalized, modelnet, rotated_clouds
from adacanon.experiments.clouds.searches import FAST, searches
from adacanon.folders import cache_folder
from adacanon.points.pointnet import PointNet
from adacanon.runs.run import Run
from adacanon.training.loop import DataSplit, TrainingControl, train
from adacanon.training.schedule import Schedule

SETTINGS = {**FAST, "classes": 10, "points": 1024, "epochs": 12, "batch": 32, "learning_rate": 1e-3, "seed": 0}
HELD_OUT = 10
"""Every tenth training cloud is kept out of the training: settings of searches are chosen on these."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """What benchmarks on the trained network have in common."""
    parser.add_argument("--epochs", type=int, default=SETTINGS["epochs"], help="of the training")
    parser.add_argument("--points", type=int, default=SETTINGS["points"], help="of every cloud")
    parser.add_argument(
        "--part", choices=("train", "validation", "test"), default="test", help="settings are chosen on validation"
    )


def some_of(data: RotatedClouds, part: str, count: int) -> torch.Tensor:
    """The numbers of ``count`` clouds of a part, evenly spaced: its classes stand one after the other."""
    numbers = getattr(data.split, part)
    return numbers[:: max(1, len(numbers) // count)][:count]


def trained(settings: dict[str, float] | None = None) -> tuple[Canonicalized, RotatedClouds]:
    """The model in evaluation mode, trained with the fast settings, and the clouds in their poses; a training that was
    interrupted goes on.
    """
    options = {**SETTINGS, **(settings or {}), "held_out": HELD_OUT}
    run = Run.of("benchmarks", "AC-PointNet", f"ModelNet{options['classes']}", 0, options)
    data = rotated_clouds(modelnet(options["classes"], options["points"]), seed=options["seed"], fixed=True)
    split, held = data.split, torch.arange(len(data.split.train)) % HELD_OUT == 0
    data = replace(data, split=DataSplit(split.train[~held], split.train[held], split.test))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options["seed"])
        evaluation, training = searches(options, samples=len(split.train))
        network = PointNet(data.classes)
        learner = canonicalized(network, data, evaluation, training_search=training, forms=options["forms"])
        schedule = Schedule.of(options, cosine=True)
        path = cache_folder() / "benchmarks" / f"{run.key}.pt"
        path.parent.mkdir(parents=True, exist_ok=True)
        control = TrainingControl(
            path, on_epoch=lambda epoch, loss: print(f"  training, epoch {epoch}: loss {loss:.3f}")
        )
        unchosen = replace(data.split, validation=split.train[:0])  # no epoch is chosen
        train(learner, unchosen, schedule, generator=torch.Generator().manual_seed(options["seed"]), control=control)
    assert isinstance(learner.module, Canonicalized)
    return learner.module.eval(), data
