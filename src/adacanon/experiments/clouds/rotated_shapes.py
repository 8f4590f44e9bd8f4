"""Networks on the parts of shapes in random poses: what a training sees, and what it is tested on."""

from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.core import Canonicalized, NegativeEntropy, Objective
from adacanon.core.family import Searches
from adacanon.data.shapenet import ShapeNetParts, load_shapenet, shapenet_statistics
from adacanon.experiments.clouds.rotated_clouds import randomly_rotated
from adacanon.points import Rotations, Unpacked
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit
from adacanon.training.part_metrics import category_mean, predicted_parts, shape_ious
from adacanon.training.smoke import is_smoke, note, shortened


@dataclass(frozen=True)
class RotatedShapes:
    """Training, validation and test shapes one after the other, the last in poses that the seed determines.

    Attributes:
        labels: the part of every point.
        categories: of the shapes, by number.
        own: which parts a category has, (categories, parts).
        split: training and validation shapes are trained on together: nothing is chosen.
        fixed: whether the training shapes are in such poses too, and stay there.
    """

    points: Tensor
    labels: Tensor
    categories: Tensor
    own: Tensor
    split: DataSplit
    fixed: bool = False

    def inputs(self, index: Tensor) -> tuple[tuple[Tensor, Tensor]]:
        """Points and one-hot categories of some shapes, one argument of a network."""
        return (self._with_categories(self.points[index], index),)

    def for_training(self, index: Tensor) -> tuple[tuple[Tensor, Tensor]]:
        """The same in the poses in which shapes are seen next."""
        points = self.points[index]
        return (self._with_categories(points if self.fixed else randomly_rotated(points), index),)

    def _with_categories(self, points: Tensor, index: Tensor) -> tuple[Tensor, Tensor]:
        return points, functional.one_hot(self.categories[index], len(self.own)).to(points.dtype)


def plain_finder(network: nn.Module, data: RotatedShapes) -> Learner:
    """A network of points and categories as it is: it names the part of every point."""
    return Learner(Unpacked(network), data.labels, data.inputs, points_cross_entropy, data.for_training)


def canonicalized_finder(
    network: nn.Module, data: RotatedShapes, searches: Searches, *, temperature: float = 0.0, seed: int = 0
) -> Learner:
    """A network under rotations: one form per shape, that of the smallest entropy over its points; with a temperature
    the answers of all forms, blended.
    """
    evaluation, training = searches
    model = Canonicalized(
        Unpacked(network),
        Rotations(),
        evaluation,
        prior=NegativeEntropy(),
        temperature=temperature,
        training_search=training,
        seed=seed,
    )
    objective = Objective(model, loss=points_cross_entropy)
    return Learner(model, data.labels, data.inputs, points_cross_entropy, data.for_training, objective)


def points_cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    """The mean over all points of all shapes."""
    return functional.cross_entropy(scores.flatten(0, 1), labels.flatten())


@torch.no_grad()
def part_figures(finder: Learner, data: RotatedShapes, index: Tensor, *, batch: int) -> dict[str, float]:
    """In percent: the mean IoU over categories, over shapes, and the share of points that are named rightly."""
    finder.module.eval()
    categories = data.categories[index]
    own = data.own[categories]
    found = torch.cat([predicted_parts(finder.scores(i), data.own[data.categories[i]]) for i in index.split(batch)])
    ious = shape_ious(found, data.labels[index], own)
    return {
        "miou": 100 * category_mean(ious, categories),
        "shape_miou": 100 * float(ious.mean()),
        "point_accuracy": 100 * float((found == data.labels[index]).double().mean()),
    }


def rotated_shapes(data: ShapeNetParts, *, seed: int, fixed: bool = False, held_out: bool = False) -> RotatedShapes:
    """All shapes, those of the test part rotated once and for all.

    Args:
        fixed: do the same to the training shapes.
        held_out: train on the training part alone, and put the validation part in the place of the test part.
    """
    generator = torch.Generator().manual_seed(seed)
    *seen, last = (data.train, data.validation) if held_out else (data.train, data.validation, data.test)
    test = randomly_rotated(last.points, generator)
    train = torch.cat([part.points for part in seen])
    points = torch.cat([randomly_rotated(train, generator) if fixed else train, test])
    shapes = (*seen, last)
    labels, categories = (torch.cat([getattr(part, name) for part in shapes]) for name in ("labels", "categories"))
    index, first = torch.arange(len(points)), len(train)
    split = shortened(DataSplit(index[:first], index[:0], index[first:]))
    return RotatedShapes(points, labels, categories, data.parts, split, fixed)


@lru_cache(maxsize=1)
def shapenet(points: int) -> ShapeNetParts:
    """The data set, read once per process. A smoke run takes points twice where the file has fewer than it needs."""
    found = shapenet_statistics()
    if not is_smoke() or found is None or found.points >= points:
        return load_shapenet(points)
    note(f"points are repeated: the file holds {found.points} of the {points}")
    data, again = load_shapenet(found.points), torch.arange(points) % found.points
    train, validation, test = (
        replace(part, points=part.points[:, again], labels=part.labels[:, again])
        for part in (data.train, data.validation, data.test)
    )
    return replace(data, train=train, validation=validation, test=test)
