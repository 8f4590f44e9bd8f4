"""A table whose runs train a linear map and end as their settings say; spawned processes import it by name."""

import os
import signal
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from adacanon.runs.run import Run, Settings
from adacanon.runs.runner import run_missing
from adacanon.runs.table import Row, Table
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, train
from adacanon.training.schedule import Schedule


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train and return, if the settings do not say otherwise: raise, wait for a sign, or give that sign and die.

    A ``log`` gets a line for every epoch; ``hold`` is an epoch at the end of which a run waits for a sign.
    """
    options = run.options()
    if "log" in options:
        control = replace(control, on_epoch=partial(logged, options))
    if options.get("end") == "raises":
        raise IndexError("out of range")
    if options.get("end") == "waits":
        wait_for(Path(options["sign"]))
    torch.manual_seed(run.split)
    x = torch.randn(40, 3)
    learner = Learner(nn.Sequential(nn.Dropout(0.2), nn.Linear(3, 2)), (x[:, 0] > 0).long(), looked_up(x))
    parts = DataSplit(torch.arange(20), torch.arange(20, 30), torch.arange(30, 40))
    schedule = Schedule.of(options, batch=4, learning_rate=1e-2)
    history = train(
        learner,
        parts,
        schedule,
        generator=torch.Generator().manual_seed(run.split),
        control=control,
    )
    if options.get("end") == "dies":
        Path(options["sign"]).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    figures = {name: history.selected[name] for name in ("validation_accuracy", "validation_loss")}
    return {
        "accuracy": history.selected["test_accuracy"],
        **figures,
        "train_loss": history.loss,
        "seconds": history.seconds,
    }


def logged(options: Settings, epoch: int, loss: float) -> None:
    """Append a line; processes that append to one file at the same time do not mix their lines."""
    log = Path(options["log"])
    log.with_suffix(".process").write_text(str(os.getpid()))
    with log.open("a") as stream:
        stream.write(f"{options.get('name', '')}{epoch}\n")
    if epoch == options.get("hold"):
        wait_for(Path(options["sign"]), pause=0.0)


def wait_for(file: Path, *, pause: float = 1.0) -> None:
    """The first time, whoever waits is broken off when the neighbour dies; afterwards there is nothing to wait for."""
    begin = time.monotonic()
    while not file.exists() and time.monotonic() < begin + 60:
        time.sleep(0.05)
    time.sleep(pause)


TINY = Table(
    name="tiny",
    title="A table",
    rows=(Row("A"), Row("B")),
    columns=("accuracy",),
    splits=lambda row, column: 2,
    most_splits=2,
    settings=lambda row, column, preset: {"epochs": 2},
    execute=execute,
)


def tiny_run(row: str, split: int, **settings: object) -> Run:
    return Run.of("tiny", row, "accuracy", split, {"epochs": 2, **settings})


def main(results: str) -> None:
    """A training of a few seconds that writes its state after every epoch."""
    torch.set_num_threads(1)
    file = Path(results) / "tiny.jsonl"
    assert run_missing(TINY, [tiny_run("A", 0, epochs=120)], file, show=False, checkpoint_every=0.0) == []


if __name__ == "__main__":
    main(*sys.argv[1:])
