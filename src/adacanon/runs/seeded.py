"""A training that follows from its run."""

from collections.abc import Callable

import torch

from adacanon.runs.run import Run
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, History, TrainingControl, train
from adacanon.training.schedule import Schedule


def train_seeded(
    run: Run, build: Callable[[], Learner], split: DataSplit, schedule: Schedule, control: TrainingControl
) -> tuple[Learner, History]:
    """Build and train; initialisation, draws and the order of batches follow from the seed and the split of the run."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1000 * run.options()["seed"] + run.split)
        learner = build()
        generator = torch.Generator().manual_seed(run.split)
        return learner, train(learner, split, schedule, generator=generator, control=control)
