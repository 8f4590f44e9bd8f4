"""A training that follows from its run."""

from collections.abc import Callable
from typing import TypeVar

import torch

from adacanon.runs.run import Run
from adacanon.training.loop import History, Learner, Parts, Schedule, Sitting, train

AnyLearner = TypeVar("AnyLearner", bound=Learner)


def train_seeded(
    run: Run, build: Callable[[], AnyLearner], parts: Parts, schedule: Schedule, sitting: Sitting
) -> tuple[AnyLearner, History]:
    """Build and train; initialisation, draws and the order of batches follow from the seed and the split of the run."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1000 * run.options()["seed"] + run.split)
        learner = build()
        generator = torch.Generator().manual_seed(run.split)
        return learner, train(learner, parts, schedule, generator=generator, sitting=sitting)
