"""The families that fit some inputs, and for each an order of candidates whose first ones are a fair search."""

from collections.abc import Mapping

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.pytree import Tree, map_tensors
from adacanon.core.space import Space
from adacanon.errors import ShapeError, UnknownNameError
from adacanon.images import Dilations, Reflections, Translations, Windows
from adacanon.images import Rotations as ImageRotations
from adacanon.images.resampling import Outside
from adacanon.points import Rotations as CloudRotations
from adacanon.spaces.box import Box
from adacanon.spaces.circle import Circle
from adacanon.spaces.finite import Finite

CLOUDS: dict[str, Family] = {"rotation": CloudRotations()}
MEANINGS = {
    "rotation": "turned by any angle",
    "reflection": "left and right exchanged, or not",
    "translation": "shifted by up to an eighth of the side",
    "dilation": "smaller or larger by up to a quarter",
    "truncation": "cut to a square window of at least half the side, and resized",
}


def families_of_images(outside: Outside) -> dict[str, Family]:
    """By name; what lies outside an image is the same for all of them."""
    return {
        "rotation": ImageRotations(outside),
        "reflection": Reflections(outside=outside),
        "translation": Translations(0.125, outside),
        "dilation": Dilations(0.8, 1.25, outside),
        "truncation": Windows(levels=None),
    }


def applicable(inputs: Tensor, names: tuple[str, ...] = (), *, outside: Outside = "reflection") -> Mapping[str, Family]:
    """The families for images (samples, channels, height, width) or clouds (samples, points, 3), all or those named."""
    if inputs.dim() == 4:
        known = families_of_images(outside)
    elif inputs.dim() == 3 and inputs.shape[-1] == 3:
        known = CLOUDS
    else:
        raise ShapeError(
            "The doctor knows images of shape (samples, channels, height, width) and clouds of shape (samples, points, "
            f"3), got {tuple(inputs.shape)}. Hint: for other inputs give the families, families={{'name': family}}"
        )
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnknownNameError(f"Families for these inputs are {', '.join(known)}; got {', '.join(unknown)}")
    return {name: known[name] for name in names or known}


def ordered_candidates(space: Space, count: int) -> Tree:
    """At most ``count`` points, the identity first, ordered so that the first few are spread out too.

    Finite sets have no more points than elements. On the circle, the first 4, 16 and 64 are equally spaced.
    """
    if isinstance(space, Circle):
        return space.project(2 * torch.pi * radical_inverse(count))
    if isinstance(space, Finite):
        others = 1 + torch.randperm(space.size - 1, generator=torch.Generator().manual_seed(0))
        return torch.cat([space.identity().reshape(1), others])[:count]
    identity = map_tensors(lambda leaf: leaf.unsqueeze(0), space.identity())
    if count == 1:
        return identity
    points = space.cover(count - 1)
    if not isinstance(space, Box):  # the first points of its covering sets are spread out already
        order = torch.randperm(count - 1, generator=torch.Generator().manual_seed(0))
        points = map_tensors(lambda leaf: leaf[order], points)
    return map_tensors(lambda first, rest: torch.cat([first.to(rest), rest]), identity, points)


def radical_inverse(count: int) -> Tensor:
    """The first terms 0, 1/2, 1/4, 3/4, 1/8, ... of van der Corput's sequence: binary digits in reverse order.

    Example:
        >>> radical_inverse(5)
        tensor([0.0000, 0.5000, 0.2500, 0.7500, 0.1250], dtype=torch.float64)
    """
    number, value, digit = torch.arange(count), torch.zeros(count, dtype=torch.float64), 0.5
    while bool((number > 0).any()):
        value += digit * (number % 2)
        number, digit = number // 2, digit / 2
    return value
