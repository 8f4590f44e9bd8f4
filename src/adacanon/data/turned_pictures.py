"""Pictures on a torus grid, each shown twice: is the second copy turned by a quarter turn against the first?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.data.grid_orientation import torus_edges
from adacanon.errors import InputError, ShapeError


@dataclass(frozen=True)
class TurnedPictures:
    """Two-channel signals on one torus grid; node (x, y) has index x * size + y.

    Attributes:
        signals: (samples, nodes, 2), a copy of the picture in each channel and zeros elsewhere.
        labels: 0 if the second copy is moved, 1 if it is moved and turned; samples 2i and 2i + 1 show picture i.
        edge_index: (2, 4 * nodes), every edge in both directions.

    Example:
        >>> pictures = torch.rand(3, 4, 4, generator=torch.Generator().manual_seed(0))
        >>> task = turned_pictures(pictures, size=12, generator=torch.Generator().manual_seed(0))
        >>> task.signals.shape, task.labels.tolist()
        (torch.Size([6, 144, 2]), [0, 1, 0, 1, 0, 1])
    """

    signals: Tensor
    labels: Tensor
    edge_index: Tensor
    size: int


def turned_pictures(pictures: Tensor, *, size: int, noise: float = 0.0, generator: torch.Generator) -> TurnedPictures:
    """Two samples for every square picture (count, side, side), one of each class.

    The copies stand in windows that are half the torus apart in both directions, so that their distance is the largest
    possible (:func:`steps_between`). Pictures are brought to mean zero and deviation one. The second copy has Gaussian
    noise, the same in both classes, and is turned with it. Each sample is then moved by a random automorphism of the
    torus of its own: one of eight turns and reflections, and any translation.

    Args:
        noise: deviation of the noise; that of the picture is one.

    Example:
        >>> generator = torch.Generator().manual_seed(0)
        >>> task = turned_pictures(torch.rand(2, 4, 4, generator=generator), size=12, noise=0.5, generator=generator)
        >>> (task.signals != 0).sum(1).tolist()
        [[16, 16], [16, 16], [16, 16], [16, 16]]
    """
    first = normalised_pictures(pictures)
    steps_between(size, first.shape[-1])
    drawn = torch.randn(first.shape, dtype=first.dtype, generator=generator)
    second = normalised_pictures(first + noise * normalised_pictures(drawn))
    both = [paired(first, second.rot90(turns, (1, 2)), size) for turns in (0, 1)]
    moved = torch.stack([_moved(grid, generator) for grid in torch.stack(both, dim=1).flatten(0, 1)])
    labels = torch.arange(2).repeat(len(first))
    return TurnedPictures(moved.flatten(1, 2), labels, torus_edges(size), size)


def paired(first: Tensor, second: Tensor, size: int) -> Tensor:
    """Grids (count, size, size, 2) with pictures (count, side, side) in two windows, one for each channel."""
    side, half = first.shape[-1], size // 2
    grids = first.new_zeros(len(first), size, size, 2)
    grids[:, :side, :side, 0] = first
    grids[:, half : half + side, half : half + side, 1] = second
    return grids


def normalised_pictures(pictures: Tensor) -> Tensor:
    """Pictures with mean zero and deviation one; a picture of one colour is refused."""
    if pictures.dim() != 3 or pictures.shape[1] != pictures.shape[2]:
        raise ShapeError(f"Pictures are squares (count, side, side), got {tuple(pictures.shape)}")
    centred = pictures - pictures.mean((1, 2), keepdim=True)
    deviation = centred.square().mean((1, 2), keepdim=True).sqrt()
    if not bool((deviation > 0).all()):
        raise InputError("A picture of one colour looks the same turned. Hint: leave it out")
    return centred / deviation


def steps_between(size: int, side: int) -> int:
    """Steps on the torus between two windows of this side that are half the torus apart in both directions.

    Example:
        >>> steps_between(24, 8)
        10
    """
    if size % 2 or not 1 < side < size // 2:
        raise InputError(f"The torus needs an even size of more than two sides of a picture, got {size} and {side}")
    return 2 * (size // 2 - side + 1)


def _moved(grid: Tensor, generator: torch.Generator) -> Tensor:
    """A grid (size, size, channels) under a random automorphism of the torus."""

    def draw(count: int) -> int:
        return int(torch.randint(count, (), generator=generator))

    turned = grid.rot90(draw(4), (0, 1))
    turned = turned.flip(0) if draw(2) else turned
    return turned.roll((draw(len(grid)), draw(len(grid))), (0, 1))
