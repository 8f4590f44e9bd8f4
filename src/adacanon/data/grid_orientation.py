"""The grid signal orientation task (paper: appendix "Illustrative Toy Problems: Grid Signal Orientation Tasks")."""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from adacanon.errors import InputError


class TorusTask(Protocol):
    """Two-channel signals on one torus grid, in two classes."""

    @property
    def signals(self) -> Tensor:
        """(samples, nodes, 2)"""

    @property
    def labels(self) -> Tensor:
        """(samples,)"""

    @property
    def edge_index(self) -> Tensor:
        """(2, 4 * nodes), every edge in both directions."""

    @property
    def size(self) -> int:
        """Nodes in a row."""


@dataclass(frozen=True)
class GridOrientation:
    """Two-channel signals on one torus grid; node (x, y) has index x * size + y.

    Attributes:
        signals: (samples, nodes, 2)
        labels: 0 if both channels oscillate along x, 1 if the second oscillates along y.
        edge_index: (2, 4 * nodes), every edge in both directions.

    Example:
        >>> task = grid_orientation(4, size=8, period=4, generator=torch.Generator().manual_seed(0))
        >>> task.signals.shape, sorted(task.labels.tolist())
        (torch.Size([4, 64, 2]), [0, 0, 1, 1])
    """

    signals: Tensor
    labels: Tensor
    edge_index: Tensor
    size: int


def grid_orientation(
    samples: int = 1000, *, size: int = 40, period: int = 20, noise: float = 0.1, generator: torch.Generator
) -> GridOrientation:
    r"""Channel 1 is :math:`\sin(2\pi x/T)` on the left half, channel 2 is :math:`\sin(2\pi x/T)` (class 0) or
    :math:`\sin(2\pi y/T)` (class 1) on the right half, each with Gaussian noise of deviation sigma on its support.

    Example:
        >>> task = grid_orientation(4, size=8, period=4, generator=torch.Generator().manual_seed(0))
        >>> task.signals.shape, task.edge_index.shape
        (torch.Size([4, 64, 2]), torch.Size([2, 256]))
    """
    x, _ = _coordinates(size)
    return _task(samples, size, period, noise, (x < size // 2, x >= size // 2), (0, 0, 0), generator)


def grid_orientation_strict(
    samples: int = 1000, *, size: int = 40, period: int = 12, noise: float = 0.1, generator: torch.Generator
) -> GridOrientation:
    r"""The same task on two disjoint square windows whose side is one period.

    In the original task the second channel of class 1 is cut off at the boundary of its half and that of class 0 is
    not, so that a count of local patterns tells the classes apart. A square window holding one full period looks the
    same along x and along y: each channel alone carries no information, and only the relation between the two
    channels does.

    Example:
        >>> task = grid_orientation_strict(4, size=8, period=4, generator=torch.Generator().manual_seed(0))
        >>> task.signals.shape
        torch.Size([4, 64, 2])
    """
    x, y = _coordinates(size)
    x0, x1, y0 = size // 4 - period // 2, 3 * size // 4 - period // 2, size // 2 - period // 2
    if min(x0, y0) < 0 or x0 + period > x1 or x1 + period > size:
        raise InputError(f"Two windows of side {period} do not fit on a grid of side {size}. Hint: period <= size / 2")
    rows = (y >= y0) & (y < y0 + period)
    windows = ((x >= x0) & (x < x0 + period) & rows, (x >= x1) & (x < x1 + period) & rows)
    return _task(samples, size, period, noise, windows, (x0, x1, y0), generator)


def torus_edges(size: int) -> Tensor:
    """Each node of a size x size torus with its four neighbours, (2, 4 * size²).

    Example:
        >>> torus_edges(3).shape
        torch.Size([2, 36])
    """
    x, y = _coordinates(size)
    steps = ((1, 0), (-1, 0), (0, 1), (0, -1))
    targets = [((x + dx) % size) * size + (y + dy) % size for dx, dy in steps]
    return torch.stack([torch.arange(size * size).repeat(4), torch.cat(targets)])


def _coordinates(size: int) -> tuple[Tensor, Tensor]:
    index = torch.arange(size * size)
    return index // size, index % size


def _task(
    samples: int,
    size: int,
    period: int,
    noise: float,
    supports: tuple[Tensor, Tensor],
    origin: tuple[int, int, int],
    generator: torch.Generator,
) -> GridOrientation:
    if samples < 2 or size < 3 or period < 2 or noise < 0:
        raise InputError(
            f"The task needs samples >= 2, size >= 3, period >= 2, noise >= 0, got {samples}, {size}, {period}, {noise}"
        )
    x, y = _coordinates(size)
    x0, x1, y0 = origin
    labels = (torch.arange(samples) % 2)[torch.randperm(samples, generator=generator)]
    first = _wave(x - x0, period).expand(samples, -1)
    second = torch.where(labels[:, None] == 0, _wave(x - x1, period), _wave(y - y0, period))
    clean = torch.stack([first, second], dim=-1)
    noisy = clean + noise * torch.randn(clean.shape, generator=generator)
    return GridOrientation(noisy * torch.stack(supports, dim=-1), labels, torus_edges(size), size)


def _wave(position: Tensor, period: int) -> Tensor:
    return torch.sin(2 * math.pi * position / period)
