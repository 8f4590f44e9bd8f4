"""Torus grids by enumeration: all automorphisms, and all balls with what they hold."""

from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor

Ball = tuple[tuple[tuple[int, int], tuple[float, ...]], ...]
"""Steps from the centre, and the values there, for all nodes of a ball."""


def automorphisms(size: int) -> Iterator[tuple[int, Tensor]]:
    """All of them, as orders of the nodes, each with the number of quarter turns it takes, or -1 for a reflection; a
    torus of side five or more has no others.
    """
    grid = torch.arange(size * size).reshape(size, size)
    for turns in range(4):
        for flipped in (False, True):
            turned = grid.rot90(turns).flip(0) if flipped else grid.rot90(turns)
            for x in range(size):
                for y in range(size):
                    yield -1 if flipped else turns, turned.roll((x, y), (0, 1)).flatten()


def balls(grid: Tensor, radius: int) -> Counter[Ball]:
    """The balls around all nodes of a grid (size, size, channels), counted up to turns and reflections about their
    centres. Two grids with the same balls look the same to everything that sees one ball at a time.
    """
    size = len(grid)
    steps = [
        (x, y) for x in range(-radius, radius + 1) for y in range(-radius, radius + 1) if abs(x) + abs(y) <= radius
    ]
    values = [[tuple(node) for node in row] for row in grid.tolist()]
    found: Counter[Ball] = Counter()
    for i in range(size):
        for j in range(size):
            ball = {(x, y): values[(i + x) % size][(j + y) % size] for x, y in steps}
            found[min(_turned(ball))] += 1
    return found


def _turned(ball: dict[tuple[int, int], tuple[float, ...]]) -> Iterator[Ball]:
    for flip in (1, -1):
        for a, b, c, d in ((1, 0, 0, 1), (0, -1, 1, 0), (-1, 0, 0, -1), (0, 1, -1, 0)):
            yield tuple(sorted(((flip * (a * x + b * y), c * x + d * y), value) for (x, y), value in ball.items()))
