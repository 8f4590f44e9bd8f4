"""Trained networks for ``benchmarks.searches.cascade``: small trainings, kept in the cache folder.

Shapes and digits of three kinds: those that a network is trained on, and a ranker after it; further training samples,
on which settings of the cascade were chosen; and test samples, which are only reported on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core import Canonicalized, Objective
from adacanon.experiments.clouds.rotated_clouds import modelnet, rotated_clouds
from adacanon.experiments.images.rotated_digits import FAMILY, SmallCNN, mnist, randomly_rotated
from adacanon.folders import cache_folder
from adacanon.maximizers import AnchoredSearch, Calibration, CoarseToFine, GridSearch, RandomSearch
from adacanon.points import DGCNN, PointNet, Rotations
from adacanon.runs.run import Run
from adacanon.spaces import SO3
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, train
from adacanon.training.schedule import Schedule

ANGLES = 48
EVERY = 4
"""Of the training samples, one in so many is for settings; the others train the network, and a ranker after it."""


@dataclass(frozen=True)
class Subject:
    """A trained model with its full search, and samples.

    Attributes:
        samples: with labels beside them.
        split: what it was trained on, what settings are chosen on, and what is reported.
        turned: the same samples in other poses.
    """

    model: Canonicalized
    samples: Tensor
    labels: Tensor
    split: DataSplit
    turned: Callable[[Tensor], Tensor]


def clouds_of(network: nn.Module, name: str, *, classes: int, stages: Sequence[tuple[int, int, float]]) -> Subject:
    """A network under the 24 rotations into principal axes. It is trained with cross-entropy on two forms of a cloud,
    which are found on views of 32 points.

    Args:
        stages: of the training, one after the other: points of a cloud, epochs, learning rate.
    """
    every, calibration = AnchoredSearch(24), Calibration(inputs=4)
    on_views = CoarseToFine(every, 32, contenders=0, pilot=False, low_precision=False, calibration=calibration)
    model = Canonicalized(network, Rotations(), every, training_search=on_views)
    for number, (points, epochs, rate) in enumerate(stages, start=1):
        data = rotated_clouds(modelnet(classes, points), seed=0, fixed=True)
        split = _split(data.split)
        settings = {"classes": classes, "stages": list(stages), "stage": number, "for settings": EVERY}
        schedule = Schedule(epochs, 32, rate, cosine=True)
        _train(model, name, settings, schedule, data.points, data.labels, split)
    return Subject(model.eval(), data.points, data.labels, split, _turned)


def digits(*, epochs: int = 8) -> Subject:
    """A small network under 48 angles, trained on upright digits with 12 random angles."""
    data = mnist()
    train_images, test = (FAMILY.prepare(part.scaled()) for part in (data.train, data.test))
    images = torch.cat([train_images, randomly_rotated(test, torch.Generator().manual_seed(0))])
    labels = torch.cat([data.train.labels, data.test.labels])
    index, first = torch.arange(len(images)), len(train_images)
    split = _split(DataSplit(index[:first], index[:0], index[first:]))
    model = Canonicalized(seeded(lambda: SmallCNN(10)), FAMILY, GridSearch(ANGLES), training_search=RandomSearch(12))
    _train(
        model,
        "AC-CNN",
        {"epochs": epochs, "for settings": EVERY},
        Schedule(epochs, 64, 2e-3, cosine=True),
        images,
        labels,
        split,
    )
    generator = torch.Generator().manual_seed(1)
    return Subject(model.eval(), images, labels, split, lambda some: randomly_rotated(some, generator))


def pointnet(*, points: int = 1024, few: int = 128, epochs: int = 12, last: int = 1) -> Subject:
    """PointNet of the published size on ModelNet40: most epochs on some of the points, the last one on all."""
    stages = ((few, epochs, 1e-3), (points, last, 3e-4))
    return clouds_of(seeded(lambda: PointNet(40)), "AC-PointNet", classes=40, stages=stages)


def dgcnn(*, points: int = 128, epochs: int = 2, k: int = 10) -> Subject:
    """DGCNN of the published size on ModelNet10."""
    network = seeded(lambda: DGCNN(10, k=k))
    return clouds_of(network, "AC-DGCNN", classes=10, stages=((points, epochs, 1e-3),))


def _train(
    model: Canonicalized,
    name: str,
    settings: dict[str, Any],
    schedule: Schedule,
    samples: Tensor,
    labels: Tensor,
    split: DataSplit,
) -> None:
    """A training that was interrupted goes on; nothing is chosen by it."""
    run = Run.of("cascade", name, "benchmarks", 0, settings)
    path = cache_folder() / "benchmarks" / f"{run.key}.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    learner = Learner(model, labels, looked_up(samples), objective=Objective(model, forms=2.0))
    control = TrainingControl(
        path, on_epoch=lambda epoch, loss: print(f"  {name}, epoch {epoch}: {loss:.3f}", flush=True)
    )
    nothing = DataSplit(split.train, split.train[:0], split.train[:0])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        train(learner, nothing, schedule, generator=torch.Generator().manual_seed(0), control=control)


def _split(whole: DataSplit) -> DataSplit:
    for_settings = torch.arange(len(whole.train)) % EVERY == 1
    return DataSplit(whole.train[~for_settings], whole.train[for_settings], whole.test)


def _turned(clouds: Tensor) -> Tensor:
    poses = SO3().sample(len(clouds), generator=torch.Generator().manual_seed(7))
    return clouds @ poses.to(clouds).mT


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make()
