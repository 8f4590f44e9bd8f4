"""A table whose smoke runs write down what they did: steps, batches, and where the cache was. Processes import it by
name.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from adacanon.errors import MissingDataError
from adacanon.folders import cache_folder
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table
from adacanon.runs.trained_networks import keep
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, accuracy
from adacanon.training.schedule import Schedule
from adacanon.training.smoke import note, shortened

BATCH = 8
SEEN = Path("seen.json")
"""In the folder that the settings name."""


@dataclass
class Seen:
    """The sizes of all batches."""

    trained: list[int] = field(default_factory=list)
    evaluated: list[int] = field(default_factory=list)


class Watched(nn.Module):
    """A linear map that writes down what passes through it."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.linear, self.seen = nn.Linear(3, 2), seen

    def forward(self, x: Tensor) -> Tensor:
        (self.seen.trained if self.training else self.seen.evaluated).append(len(x))
        return self.linear(x)


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train, keep the network in the cache folder, test, and leave a file with what happened."""
    options, seen = run.options(), Seen()
    if options["end"] == "raises":
        raise IndexError("out of range")
    if options["end"] == "no data":
        raise MissingDataError("clouds.npz is missing. Hint: fetch it")
    x = torch.randn(200, 3, generator=torch.Generator().manual_seed(0))
    index = torch.arange(200)
    split = shortened(DataSplit(index[: options["samples"]], index[100:150], index[150:]))
    note("points are repeated")
    learner, history = train_seeded(
        run,
        lambda: Learner(Watched(seen), (x[:, 0] > 0).long(), looked_up(x)),
        split,
        Schedule.of(options),
        control,
    )
    keep(run, learner.module, "data")
    if options["end"] == "wants 8 GB":
        torch.empty(2**33, dtype=torch.uint8)
    while options["end"] == "goes on":
        torch.ones(100).sum()
    figures = {"accuracy": accuracy(learner, split.test, batch=BATCH), "seconds": history.seconds}
    if options["folder"]:
        found = {**vars(seen), "epochs": history.epoch, "paths": options["paths"], "cache": str(cache_folder())}
        (Path(options["folder"]) / SEEN).write_text(json.dumps(found))
    return figures


def settings(row: Row, column: str, preset: str) -> Settings:
    """Epochs for hours in the preset `paper`."""
    common = {"epochs": 10**6, "batch": BATCH, "learning_rate": 1e-3, "seed": 0, "paths": 100, "samples": 100}
    return {**common, "folder": "", "end": "", **row.own_settings(preset)}


def smoke_table(folder: Path | str = "", **settings_of_b: object) -> Table:
    """Two rows and two columns; the first row writes down what it did."""
    return Table(
        name="smoky",
        title="A table",
        rows=(Row("A", settings={"folder": str(folder)}), Row("B", settings=dict(settings_of_b))),
        columns=("first", "second"),
        splits=lambda row, column: 3,
        most_splits=3,
        settings=settings,
        execute=execute,
        smoke={"paths": 1, "unknown": 5},
    )
