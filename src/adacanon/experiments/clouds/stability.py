r"""How far canonical rotations move from epoch to epoch (paper: appendix "Training Stability").

At epoch e every one of some fixed training shapes has the rotation :math:`u^e` of its own class. The figure is the mean
of their geodesic distances :math:`d(u^{e-1}, u^e)` on SO(3), with :math:`u^0` those of the network as initialised.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from adacanon.core import Canonicalized
from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.methods import build
from adacanon.experiments.clouds.modelnet import MODELNET
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds
from adacanon.folders import cache_folder
from adacanon.reports.summary import Cell, Summary
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table
from adacanon.spaces import SO3
from adacanon.training.checkpoint import load_checkpoint, remove_checkpoint, save_checkpoint
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl
from adacanon.training.schedule import Schedule

METHOD, COLUMN = "AC-PointNet (paper)", "distance"
EPOCHS = 16
ROWS = tuple(
    Row(
        f"{100 * n / EPOCHS:g} %",
        METHOD,
        base=METHOD,
        preset_settings={
            "cpu": {"epoch": n},
            "paper": {"epoch": round(n / EPOCHS * modelnet.COMMON["paper"]["epochs"])},
        },
    )
    for n in range(1, EPOCHS + 1)
)
"""A row is the share of the training that is over; in the preset `cpu` there is one row for every epoch."""

AT_RANDOM = math.degrees(math.pi / 2 + 2 / math.pi)
"""The mean distance of two independent random rotations, 126.5 degrees."""


def settings(row: Row, column: str, preset: str) -> Settings:
    """Those of AC-PointNet in `modelnet`; in `cpu` for more epochs at a constant learning rate."""
    options = modelnet.settings(MODELNET.row(row.base), column, preset)
    if preset == "cpu":
        options = {**options, "epochs": EPOCHS, "cosine": False}
    return {**options, "shapes": 1500, **row.own_settings(preset)}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """The distance between two epochs of a training, which goes on from the epoch of the run before this one."""
    begin = time.perf_counter()
    options = run.options()
    epoch = options.pop("epoch")
    course = Course(Run.of(run.table, METHOD, run.column, run.split, options), control)
    before, after = course.rotations(epoch - 1), course.rotations(epoch)
    distances = torch.rad2deg(SO3().distance(before.double(), after.double()))
    course.forget(epoch - 1)
    return {
        COLUMN: float(distances.mean()),
        "median": float(distances.median()),
        "kept": 100 * float((distances < 1e-3).double().mean()),
        "epoch": float(epoch),
        "seconds": time.perf_counter() - begin,
    }


@dataclass(frozen=True)
class Course:
    """A training, epoch by epoch: in the cache folder lie its last states, and the rotations of every epoch.

    Attributes:
        run: the whole training.
        control: how it is carried out.
    """

    run: Run
    control: TrainingControl

    def rotations(self, epoch: int) -> Tensor:
        """The canonical rotations of the shapes after so many epochs, (shapes, 3, 3)."""
        file = self._file(f"{epoch}-rotations")
        stored = load_checkpoint(file)
        if stored is None:
            stored = {"rotations": canonical_rotations(*self.learner(epoch), self.run.options())}
            save_checkpoint(file, stored)
        return stored["rotations"]

    def learner(self, epoch: int) -> tuple[Learner, RotatedClouds]:
        """The learner after so many epochs, trained from the last state that is there, and its data."""
        options, data = self.run.options(), modelnet.clouds_of(self.run)
        state = self._file(str(epoch))
        earlier = [self._file(str(e)) for e in range(epoch - 1, 0, -1)]
        start = next((file for file in earlier if file.exists()), None)
        if not state.exists() and start is not None and self.control.engine.main:
            copied = load_checkpoint(start)
            if copied is not None:
                save_checkpoint(state, copied)
        learner, _ = train_seeded(
            self.run,
            lambda: build(MODELNET.row(METHOD), data, options, seed=self.run.split),
            data.split,
            Schedule.of(options),
            replace(self.control, checkpoint=state, until=epoch),
        )
        return learner, data

    def forget(self, epoch: int) -> None:
        """Remove the state after so many epochs, and those before it."""
        for e in range(1, epoch + 1):
            remove_checkpoint(self._file(str(e)))

    def _file(self, name: str) -> Path:
        return cache_folder() / "stability" / f"{self.run.key}-{name}.pt"


@torch.no_grad()
def canonical_rotations(learner: Learner, data: RotatedClouds, options: Settings) -> Tensor:
    """The rotations that training shapes, the same ones in the same poses whenever it is called, get for their own
    class, (shapes, 3, 3).
    """
    model = learner.module.eval()
    assert isinstance(model, Canonicalized)
    generator = torch.Generator().manual_seed(options["seed"])
    shapes = torch.randperm(len(data.split.train), generator=generator)[: options["shapes"]]
    found = []
    for index in data.split.train[shapes].split(options["batch"]):
        parameters = model.canonicalize(data.points[index]).parameters
        found.append(parameters[torch.arange(len(index)), data.labels[index]])
    return torch.cat(found)


def curve(summary: Summary) -> Mapping[int, Cell]:
    """Epoch -> cell, for the epochs that were run."""
    cells = (columns[COLUMN] for columns in summary.cells.values())
    return {round(cell.extra_metrics[-1]): cell for cell in cells if cell.extra_metrics[-1] is not None}


STABILITY = Table(
    name="stability",
    title="Geodesic distance between the canonical rotations of consecutive epochs, in degrees (paper: its figure)",
    rows=ROWS,
    columns=(COLUMN,),
    splits=lambda row, column: 1,
    most_splits=10,
    settings=settings,
    execute=execute,
    metric=COLUMN,
    extra_metrics=(("median", "median"), ("kept", "kept, %"), ("epoch", "epoch")),
    smoke={"epoch": 1, "shapes": 32},
)
