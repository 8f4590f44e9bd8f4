"""A training that follows from its run."""

from collections.abc import Callable
from dataclasses import replace

import torch

from adacanon.errors import InputError
from adacanon.runs.run import MIXED_PRECISION, Run
from adacanon.training.hardware import Hardware
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, History, TrainingControl, train
from adacanon.training.schedule import Schedule


def train_seeded(
    run: Run, build: Callable[[], Learner], split: DataSplit, schedule: Schedule, control: TrainingControl
) -> tuple[Learner, History]:
    """Build and train; initialisation, draws and the order of batches follow from the seed and the split of the run."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1000 * run.options()["seed"] + run.split)
        learner = on_hardware(run, build(), control)
        generator = torch.Generator().manual_seed(run.split)
        return learner, train(learner, split, schedule, generator=generator, control=control)


def on_hardware(run: Run, learner: Learner, control: TrainingControl) -> Learner:
    """The learner with the engine that a run is to be computed by."""
    check_precision(run, control.hardware)
    return replace(learner, engine=control.engine)


def check_precision(run: Run, hardware: Hardware) -> None:
    """Refuse to train a run in a precision that its key does not name.

    This happens where the network of another table is trained on the way, or was kept by it: in a lower precision it
    would pass for one in 32.
    """
    expected = run.options().get(MIXED_PRECISION, "32")
    if expected != hardware.precision:
        raise InputError(
            f"{run.name} of {run.table} is trained in precision {expected}, got {hardware.precision}. "
            f"Hint: --precision {expected}"
        )
