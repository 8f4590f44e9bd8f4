"""Networks on clouds in random poses: what a training sees, and what it is tested on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.core import Canonicalized, Maximizer, Objective, one_vs_rest
from adacanon.data.modelnet import ModelNet, load_modelnet
from adacanon.points import Rotations
from adacanon.spaces import SO3
from adacanon.training.loop import Parts

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class PosedClouds:
    """All clouds of a data set one after the other, those of the test part in poses that the seed determines.

    Attributes:
        fixed: whether the training clouds are in such poses too, and stay there.
    """

    points: Tensor
    labels: Tensor
    parts: Parts
    classes: int
    fixed: bool = False


@dataclass(frozen=True)
class CloudClassifier:
    """A network on clouds that are turned at random whenever they are trained on, unless they have fixed poses.

    Attributes:
        module: from clouds to scores.
        objective: from clouds, labels and the numbers of the clouds to the loss that is trained on.
        criterion: from scores and labels to the loss that is reported.
    """

    module: nn.Module
    data: PosedClouds
    objective: Callable[[Tensor, Tensor, Tensor], Tensor]
    criterion: Loss

    @property
    def labels(self) -> Tensor:
        return self.data.labels

    def scores(self, index: Tensor) -> Tensor:
        return self.module(self.data.points[index])

    def loss(self, index: Tensor) -> Tensor:
        clouds = self.data.points[index]
        return self.objective(clouds if self.data.fixed else turned(clouds), self.labels[index], index)


def plain(network: nn.Module, data: PosedClouds) -> CloudClassifier:
    """A network as it is, trained with cross-entropy."""

    def loss(points: Tensor, labels: Tensor, ids: Tensor) -> Tensor:
        return functional.cross_entropy(network(points), labels)

    return CloudClassifier(network, data, loss, functional.cross_entropy)


def canonicalized(
    network: nn.Module,
    data: PosedClouds,
    maximizer: Maximizer,
    *,
    in_training: Maximizer | None = None,
    forms: float | None = None,
    seed: int = 0,
) -> CloudClassifier:
    """A network under rotations, trained one-vs-rest."""
    model = Canonicalized(network, Rotations(), maximizer, in_training=in_training, seed=seed)
    return CloudClassifier(model, data, Objective(model, forms=forms), one_vs_rest)


def posed(data: ModelNet, *, seed: int, copies: int = 1, fixed: bool = False) -> PosedClouds:
    """Both parts, the test clouds turned once and for all, in as many copies as asked for; ``fixed`` turns the training
    clouds once and for all too.
    """
    generator = torch.Generator().manual_seed(seed)
    test = turned(data.test.points.repeat(copies, 1, 1), generator)
    points = torch.cat([turned(data.train.points, generator) if fixed else data.train.points, test])
    index = torch.arange(len(points))
    first = len(data.train.labels)
    labels = torch.cat([data.train.labels, data.test.labels.repeat(copies)])
    return PosedClouds(points, labels, Parts(index[:first], index[:0], index[first:]), len(data.class_names), fixed)


def turned(points: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Every cloud by a rotation of its own."""
    return points @ SO3().sample(len(points), generator=generator).to(points).mT


@lru_cache(maxsize=2)
def modelnet(classes: Literal[40, 10], points: int) -> ModelNet:
    """The data set, read once per process."""
    return load_modelnet(classes, points)
