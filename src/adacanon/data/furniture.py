"""Furniture made of boxes and cylinders: a set of shapes in eight classes that needs no download."""

from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.data.arrays import normalised
from adacanon.data.draws import Draws
from adacanon.data.pieces import MAKERS
from adacanon.data.solids import Solids, one_after_another
from adacanon.errors import InputError, ShapeError


@dataclass(frozen=True)
class Furniture:
    """Descriptions of upright shapes; :meth:`draw` makes point clouds of them.

    Attributes:
        solids: the boxes and cylinders of every shape.
        labels: (shapes,), the place of a shape's class in ``class_names``.
        class_names: in the order of the labels.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> furniture = random_furniture(16, generator=generator)
        >>> clouds, labels = furniture.draw(256, generator=generator)
        >>> clouds.shape, [furniture.class_names[label] for label in labels[:3]]
        (torch.Size([16, 256, 3]), ['stool', 'bookshelf', 'chair'])
    """

    solids: Solids
    labels: Tensor
    class_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def draw(
        self, points: int = 256, *, index: Tensor | None = None, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Clouds (n, points, 3), centred in the unit ball, and their labels (n,).

        The points are uniform by area on the surfaces of all boxes and cylinders. "Up" is the second axis, and what
        has a front looks along the third.

        Args:
            index: which shapes; all if left out.
        """
        if points < 1:
            raise ShapeError(f"A cloud needs at least one point, got points={points}")
        index = torch.arange(len(self)) if index is None else index
        return normalised(self.solids[index].surface(points, generator=generator)), self.labels[index]


def random_furniture(samples: int, *, generator: torch.Generator) -> Furniture:
    """Shapes of eight classes, as many of each as possible, in random order and with random proportions.

    Width, height and depth have the same distribution in every class, so that they say nothing about the class. The
    kinds within a class differ: chairs with and without arms, tables on legs and on a pole.

    Example:
        >>> furniture = random_furniture(8, generator=torch.Generator().manual_seed(0))
        >>> sorted(furniture.class_names[label] for label in furniture.labels)
        ['bed', 'bench', 'bookshelf', 'chair', 'lamp', 'sofa', 'stool', 'table']
    """
    if samples < 1:
        raise InputError(f"samples must be a positive number of shapes, got {samples}")
    labels = torch.arange(samples) % len(MAKERS)
    counts = torch.bincount(labels, minlength=len(MAKERS)).tolist()
    made = [make(Draws(count, generator)) for make, count in zip(MAKERS.values(), counts, strict=True) if count]
    order = torch.randperm(samples, generator=generator)
    return Furniture(one_after_another(made)[order], labels.sort().values[order], tuple(MAKERS))
