"""Networks on clouds in random poses: what a training sees, and what it is tested on."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn

from adacanon.core import Canonicalized, Maximizer, Objective, one_vs_rest
from adacanon.data.modelnet import ModelNet, load_modelnet
from adacanon.points import Rotations
from adacanon.points.rotations import Axis, rotations_about
from adacanon.spaces import SO3, Circle
from adacanon.training.learner import Criterion, Learner, looked_up
from adacanon.training.loop import DataSplit
from adacanon.training.smoke import shortened

VERTICAL: Axis = (0.0, 1.0, 0.0)
"""Of ModelNet and ShapeNet; the paper calls its vertical axis z."""


@dataclass(frozen=True)
class RotatedClouds:
    """All clouds of a data set one after the other, those of the test part in poses that the seed determines.

    Attributes:
        fixed: whether the training clouds are in such poses too, and stay there.
        axis: about which the training clouds are rotated; None stands for all rotations.
        expansion: copies of every training cloud of which an epoch takes one, the first ones of all clouds first.
    """

    points: Tensor
    labels: Tensor
    split: DataSplit
    classes: int
    fixed: bool = False
    axis: Axis | None = None
    expansion: int = 1

    @property
    def fingerprint(self) -> str:
        """Of all points and labels: other shapes, points or poses have another one."""
        content = self.points.numpy().tobytes() + self.labels.numpy().tobytes()
        return hashlib.sha256(content).hexdigest()[:12]

    def for_training(self, index: Tensor) -> tuple[Tensor]:
        """Training clouds in the poses in which they are seen next."""
        if self.expansion > 1:
            index = index + len(self.split.train) * torch.randint(self.expansion, index.shape)
        clouds = self.points[index]
        return (clouds if self.fixed else randomly_rotated(clouds, axis=self.axis),)


def plain(network: nn.Module, data: RotatedClouds) -> Learner:
    """A network as it is, trained with cross-entropy."""
    return Learner(network, data.labels, looked_up(data.points), training_inputs=data.for_training)


def canonicalized(
    network: nn.Module,
    data: RotatedClouds,
    search: Maximizer,
    *,
    training_search: Maximizer | None = None,
    forms: float | None = None,
    loss: Criterion = one_vs_rest,
    seed: int = 0,
) -> Learner:
    """A network under rotations, trained one-vs-rest unless another loss is named."""
    model = Canonicalized(network, Rotations(), search, training_search=training_search, seed=seed)
    inputs, objective = looked_up(data.points), Objective(model, loss=loss, forms=forms)
    return Learner(model, data.labels, inputs, loss, data.for_training, objective)


def rotated_clouds(
    data: ModelNet,
    *,
    seed: int,
    copies: int = 1,
    fixed: bool = False,
    axis: Axis | None = None,
    expansion: int = 1,
    whole: bool = False,
) -> RotatedClouds:
    """Training and test clouds, the latter rotated once and for all.

    Args:
        seed: determines all poses; those of the test clouds depend on nothing else.
        copies: of every test cloud, each in a pose of its own.
        fixed: turn the training clouds once and for all too.
        axis: turn training clouds about this axis only.
        expansion: copies of every training cloud, each rotated on its own; an epoch takes one of each at random.
        whole: an epoch takes all copies.
    """
    generator = torch.Generator().manual_seed(seed)
    test = randomly_rotated(data.test.points.repeat(copies, 1, 1), generator)
    train = data.train.points.repeat(expansion, 1, 1) if expansion > 1 else data.train.points
    points = torch.cat([randomly_rotated(train, generator, axis=axis) if fixed else train, test])
    index, first = torch.arange(len(points)), len(train)
    once = first if whole else len(data.train.labels)
    labels = torch.cat([data.train.labels.repeat(expansion), data.test.labels.repeat(copies)])
    split = shortened(DataSplit(index[:once], index[:0], index[first:]))
    return RotatedClouds(points, labels, split, len(data.class_names), fixed, axis, 1 if whole else expansion)


def randomly_rotated(points: Tensor, generator: torch.Generator | None = None, *, axis: Axis | None = None) -> Tensor:
    """Every cloud by a rotation of its own, or by one about an axis."""
    if axis is None:
        poses = SO3().sample(len(points), generator=generator)
    else:
        poses = rotations_about(axis, Circle().sample(len(points), generator=generator))
    return points @ poses.to(points).mT


@lru_cache(maxsize=2)
def modelnet(classes: Literal[40, 10], points: int) -> ModelNet:
    """The data set, read once per process."""
    return load_modelnet(classes, points)
