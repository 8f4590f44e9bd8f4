"""Scenes of houses, chests and stones: pictures with the class of every pixel, drawn at any angle."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.data.convex_shapes import ConvexShapes, hexagons, rectangles, triangles, turns
from adacanon.data.draws import Draws
from adacanon.errors import InputError, ShapeError

SCENE_CLASSES = ("background", "wall", "roof", "door", "body", "lid")
BACKGROUND, WALL, ROOF, DOOR, BODY, LID = range(6)
WAVES = 6
TILT = math.pi / 18


@dataclass(frozen=True)
class Layer:
    """One shape of every scene, with its grey (scenes,) and the class of its pixels."""

    shapes: ConvexShapes
    grey: Tensor
    label: int


@dataclass(frozen=True)
class Scenes:
    """Descriptions of scenes on the unit disc; :meth:`draw` makes pictures and masks of them, upright or turned.

    A chest is symmetric. Which of its halves is the lid can be told only by which way is up, and that is told by the
    house beside it. No grey belongs to a class.

    Attributes:
        layers: in the order in which they are painted.
        ground: the mean grey of the background, (scenes,).
        waves: frequency (x, y), phase and height of the waves that make the background uneven, (scenes, waves, 4).

    Example:
        >>> scenes = random_scenes(3, generator=torch.Generator().manual_seed(0))
        >>> images, labels = scenes.draw(torch.tensor([0.0, 0.5, 3.0]))
        >>> images.shape, labels.shape, labels.unique().tolist()
        (torch.Size([3, 1, 40, 40]), torch.Size([3, 40, 40]), [0, 1, 2, 3, 4, 5])
    """

    layers: tuple[Layer, ...]
    ground: Tensor
    waves: Tensor

    def __len__(self) -> int:
        return len(self.ground)

    def draw(
        self, angles: Tensor | None = None, *, index: Tensor | None = None, side: int = 40
    ) -> tuple[Tensor, Tensor]:
        r"""Pictures (n, 1, side, side) with greys in [0, 1], and the classes of their pixels (n, side, side).

        The scene turned anticlockwise by :math:`\theta` has at x the grey and the class that the scene has at
        :math:`R_{-\theta}x`. Both are computed there, so that nothing is interpolated. Edges are smoothed over one
        pixel; a pixel has the class at its centre. Outside of the disc everything is black background.

        Args:
            angles: one for each scene that is drawn; upright if left out.
            index: which scenes; all if left out.
        """
        index = torch.arange(len(self)) if index is None else index
        angles = torch.zeros(len(index)) if angles is None else angles
        if angles.shape != index.shape:
            raise ShapeError(f"Expected one angle for each of {len(index)} scenes, got {tuple(angles.shape)}")
        pixels = pixel_centres(side)
        places = pixels @ turns(angles)  # row vectors: the product with R turns them back
        images = self._background(places, index)
        labels = torch.zeros(images.shape, dtype=torch.int64)
        for layer in self.layers:
            distance = layer.shapes.distance(places, index)
            cover = (0.5 - distance * side / 2).clamp(0, 1)
            images = images + cover * (layer.grey[index].unsqueeze(1) - images)
            labels = labels.masked_fill(distance < 0, layer.label)
        outside = pixels.norm(dim=-1) > 1
        images, labels = images.masked_fill(outside, 0.0), labels.masked_fill(outside, BACKGROUND)
        return images.reshape(-1, 1, side, side), labels.reshape(-1, side, side)

    def _background(self, places: Tensor, index: Tensor) -> Tensor:
        frequency, phase, height = self.waves[index].split((2, 1, 1), dim=-1)
        waves = (places @ frequency.mT + phase.mT).sin() * height.mT
        return (self.ground[index].unsqueeze(1) + waves.sum(-1)).clamp(0, 1)


def pixel_centres(side: int) -> Tensor:
    """Places (x, y) of the pixels, row by row, (side², 2); y points upwards, and the inscribed disc has radius 1.

    Example:
        >>> pixel_centres(2).tolist()
        [[-0.5, 0.5], [0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]]
    """
    steps = (torch.arange(side) + 0.5) * 2 / side - 1
    y, x = torch.meshgrid(-steps, steps, indexing="ij")
    return torch.stack([x, y], -1).flatten(0, 1)


def random_scenes(samples: int, *, generator: torch.Generator) -> Scenes:
    """A house, two chests, a stone and a beam in every scene; sizes, places and greys are drawn.

    House and chests stand upright up to ten degrees. Stone and beam lie at any angle and count as background.

    Example:
        >>> len(random_scenes(5, generator=torch.Generator().manual_seed(0)))
        5
    """
    if samples < 1:
        raise InputError(f"samples must be a positive number of scenes, got {samples}")
    draws = Draws(samples, generator)
    ground, direction = draws.between(0.3, 0.7), draws.between(0, 2 * math.pi)
    third = 2 * math.pi / 3
    layers = [_stone(draws, ground), _beam(draws, ground)]
    for angle in (direction + third, direction - third):
        layers += _chest(draws, ground, _polar(draws.between(0.5, 0.62), angle + draws.between(-0.25, 0.25)))
    layers += _house(draws, ground, _polar(draws.between(0.36, 0.46), direction))
    frequency = _polar(draws.between(4, 16, WAVES), draws.between(0, 2 * math.pi, WAVES))
    phase, height = draws.between(0, 2 * math.pi, WAVES, 1), draws.between(0, 0.05, WAVES, 1)
    return Scenes(tuple(layers), ground, torch.cat([frequency, phase, height], -1))


def _greys(draws: Draws, ground: Tensor) -> tuple[Tensor, Tensor]:
    """Two that differ from the background by 0.2 or more, and from each other by 0.1; either may be the darker."""
    near, far = ground + draws.between(0.2, 0.45), ground + draws.between(0.55, 0.8)
    swapped = draws.chance(0.5)
    return torch.where(swapped, far, near) % 1, torch.where(swapped, near, far) % 1


def _house(draws: Draws, ground: Tensor, centre: Tensor) -> list[Layer]:
    """A wall with a roof upon it and a door at its foot, which has the grey of the roof."""
    width, wall, roof = draws.between(0.52, 0.72), draws.between(0.36, 0.52), draws.between(0.28, 0.4)
    door, height = width * draws.between(0.4, 0.55), wall * draws.between(0.5, 0.7)
    foot, aside = -(wall + roof) / 2, (width - door) / 2 * draws.between(-0.7, 0.7)
    wall_grey, other_grey = _greys(draws, ground)
    tilt = draws.between(-TILT, TILT)
    parts = (
        (rectangles(torch.zeros_like(wall), foot + wall / 2, width, wall), wall_grey, WALL),
        (triangles(foot + wall, 1.15 * width, roof), other_grey, ROOF),
        (rectangles(aside, foot + height / 2, door, height), other_grey, DOOR),
    )
    return [Layer(shapes.placed(centre, tilt), grey, label) for shapes, grey, label in parts]


def _chest(draws: Draws, ground: Tensor, centre: Tensor) -> list[Layer]:
    """Two equal halves, one upon the other."""
    width, half, zero = draws.between(0.4, 0.54), draws.between(0.24, 0.32), torch.zeros(draws.samples)
    tilt = draws.between(-TILT, TILT)
    parts = zip((-half / 2, half / 2), _greys(draws, ground), (BODY, LID), strict=True)
    return [Layer(rectangles(zero, y, width, half).placed(centre, tilt), grey, label) for y, grey, label in parts]


def _stone(draws: Draws, ground: Tensor) -> Layer:
    return _lying(draws, ground, hexagons(draws.between(0.14, 0.26)))


def _beam(draws: Draws, ground: Tensor) -> Layer:
    zero = torch.zeros(draws.samples)
    return _lying(draws, ground, rectangles(zero, zero, draws.between(0.3, 0.6), draws.between(0.08, 0.16)))


def _lying(draws: Draws, ground: Tensor, shapes: ConvexShapes) -> Layer:
    """Anywhere, at any angle."""
    centre = _polar(draws.between(0.1, 0.85), draws.between(0, 2 * math.pi))
    return Layer(shapes.placed(centre, draws.between(0, 2 * math.pi)), _greys(draws, ground)[0], BACKGROUND)


def _polar(radius: Tensor, direction: Tensor) -> Tensor:
    return torch.stack([radius * direction.cos(), radius * direction.sin()], -1)
