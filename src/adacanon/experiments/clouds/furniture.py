"""Furniture in any pose: a plain network, the same one wrapped and fine-tuned, and what else one could do."""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.pca_frames import PCAAligned, PCAFrameAveraged
from adacanon.core import Canonicalized, Objective
from adacanon.data.furniture import Furniture, random_furniture
from adacanon.experiments.clouds.chairs import poses_of
from adacanon.experiments.clouds.rotated_clouds import randomly_rotated
from adacanon.points import PointNet, Rotations
from adacanon.points.rotations import axis_frames
from adacanon.reports.demo_words import ALIGNED, AUGMENTED, AVERAGED, PLAIN, TUNED, WRAPPED
from adacanon.reports.hits import Hits
from adacanon.spaces import SO3
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, train
from adacanon.training.records import Record
from adacanon.training.schedule import Schedule

NEAR = 15
"""Degrees."""

OnEpoch = Callable[[str], None]
"""Called after every epoch with what is being done."""


@dataclass(frozen=True)
class Sizes:
    """How much is trained and tested.

    The controls have as many epochs as take about the time of the plain network and its fine-tuning together.

    Attributes:
        training: shapes.
        test: other shapes.
        points: of a cloud.
        shown: points of a cloud on the page.
        plain, tuning, augmented, aligned, averaged: epochs.
    """

    training: int = 1000
    test: int = 800
    points: int = 128
    shown: int = 700
    plain: int = 8
    tuning: int = 5
    augmented: int = 40
    aligned: int = 40
    averaged: int = 12

    @property
    def epochs(self) -> int:
        """Of all trainings together."""
        return self.plain + self.tuning + self.augmented + self.aligned + self.averaged


@dataclass(frozen=True)
class Shapes:
    """Clouds for training, upright, and clouds for the test, upright and turned.

    Attributes:
        furniture: the descriptions of the test shapes.
    """

    train: Tensor
    train_labels: Tensor
    upright: Tensor
    turned: Tensor
    labels: Tensor
    furniture: Furniture

    @classmethod
    def drawn(cls, sizes: Sizes, *, seed: int = 0) -> "Shapes":
        generator = torch.Generator().manual_seed(seed)
        train, labels = random_furniture(sizes.training, generator=generator).draw(sizes.points, generator=generator)
        furniture = random_furniture(sizes.test, generator=generator)
        upright, test_labels = furniture.draw(sizes.points, generator=generator)
        return cls(train, labels, upright, randomly_rotated(upright, generator), test_labels, furniture)

    def poses(self, name: str) -> Tensor:
        """The test clouds, ``upright`` or ``turned``."""
        return {"upright": self.upright, "turned": self.turned}[name]


@dataclass(frozen=True)
class Trained:
    """The networks that are shown, and what was measured of all methods."""

    plain: nn.Module
    wrapped: Canonicalized
    tuned: Canonicalized
    records: list[Record]


def train_all(shapes: Shapes, sizes: Sizes, *, on_epoch: OnEpoch) -> Trained:
    """Train the plain network on upright shapes, wrap it, fine-tune it, and train the controls; test all of them."""
    fit = partial(_trained, shapes, on_epoch=on_epoch)
    classes = len(shapes.furniture.class_names)
    plain, seconds = fit("the plain network", lambda: network(classes), sizes.plain)
    records = [*tested(PLAIN, plain, shapes, seconds=seconds)]
    wrapped = Canonicalized(plain, Rotations())
    records += tested(WRAPPED, wrapped, shapes, seconds=seconds)
    tuned, more = fit("fine-tuning", lambda: Canonicalized(copy.deepcopy(plain), Rotations()), sizes.tuning)
    assert isinstance(tuned, Canonicalized)
    records += tested(TUNED, tuned, shapes, seconds=seconds + more)
    controls: tuple[tuple[str, Callable[[nn.Module], nn.Module], int], ...] = (
        (AUGMENTED, nn.Sequential, sizes.augmented),
        (ALIGNED, PCAAligned, sizes.aligned),
        (AVERAGED, PCAFrameAveraged, sizes.averaged),
    )
    for name, wrapper, epochs in controls:
        module, seconds = fit(name, partial(_around, wrapper, classes), epochs, turn=name == AUGMENTED)
        records += tested(name, module, shapes, seconds=seconds)
    return Trained(plain, wrapped, tuned, records)


def network(classes: int) -> PointNet:
    """A small PointNet, which knows no symmetry of space."""
    return PointNet(classes, widths=(32, 64, 256), head=(64,), dropout=0.1)


def _around(wrapper: Callable[[nn.Module], nn.Module], classes: int) -> nn.Module:
    return wrapper(network(classes))


def _trained(
    shapes: Shapes,
    name: str,
    build: Callable[[], nn.Module],
    epochs: int,
    *,
    on_epoch: OnEpoch,
    turn: bool = False,
) -> tuple[nn.Module, float]:
    """A module after some epochs, and the processor time that they took."""
    everything = torch.arange(len(shapes.train))
    split = DataSplit(everything, everything[:0], everything[:0])
    control = TrainingControl(on_epoch=lambda epoch, loss: on_epoch(f"Clouds: {name}"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        learner = _learner(build(), shapes, turn=turn)
        begin = time.process_time()
        schedule = Schedule(epochs, 32, 1e-3, cosine=True)
        train(learner, split, schedule, generator=torch.Generator().manual_seed(0), control=control)
    return learner.module.eval(), time.process_time() - begin


def _learner(module: nn.Module, shapes: Shapes, *, turn: bool) -> Learner:
    """Cross-entropy; a canonicalized network is trained on the forms of the true class and of the hardest other one."""
    objective = Objective(module, forms=2) if isinstance(module, Canonicalized) else None
    turned = (lambda index: (randomly_rotated(shapes.train[index]),)) if turn else None
    return Learner(module, shapes.train_labels, looked_up(shapes.train), training_inputs=turned, objective=objective)


def tested(name: str, module: nn.Module, shapes: Shapes, *, seconds: float) -> list[Record]:
    """One record for upright and one for turned shapes: which of them were named rightly, 1 or 0 each."""
    records = []
    for poses in ("upright", "turned"):
        right = predicted(module, shapes.poses(poses)) == shapes.labels
        hits, time_taken = Hits.of(right).outcomes, round(seconds, 2)
        records.append({"kind": "clouds", "method": name, "poses": poses, "hits": hits, "seconds": time_taken})
    return records


def near_upright(shapes: Shapes) -> int:
    """How many test shapes have one of the 24 poses of the search near the upright one, which the network knows."""
    poses = poses_of(shapes.upright, shapes.turned)
    reached = axis_frames(shapes.turned) @ poses.unsqueeze(1)
    upright = torch.eye(3, dtype=torch.float64).expand_as(reached)
    return int((SO3().distance(reached.double(), upright) <= math.radians(NEAR)).any(1).sum())


@torch.no_grad()
def predicted(module: nn.Module, clouds: Tensor) -> Tensor:
    """The class of the largest score, for every cloud."""
    return torch.cat([module(part).argmax(1) for part in clouds.split(64)])
