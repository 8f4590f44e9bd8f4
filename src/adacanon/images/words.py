"""Transformations of images in words."""

import math
from collections.abc import Sequence

from adacanon.core.pictures import UNCHANGED


def turn_in_words(angle: float) -> str:
    """An angle in radians, anticlockwise.

    Example:
        >>> turn_in_words(math.pi / 2), turn_in_words(-0.5), turn_in_words(0.0)
        ('turned by 90° anticlockwise', 'turned by 29° clockwise', 'as it is')
    """
    degrees = round(math.degrees(angle))
    if degrees == 0:
        return UNCHANGED
    return f"turned by {abs(degrees)}° {'anticlockwise' if degrees > 0 else 'clockwise'}"


def shift_in_words(x: float, y: float) -> str:
    """Pixels to the right and down.

    Example:
        >>> shift_in_words(3.0, -1.5), shift_in_words(0.0, 0.01)
        ('shifted by 3.0 pixels to the right and 1.5 pixels up', 'as it is')
    """
    directions = ((x, "to the right", "to the left"), (y, "down", "up"))
    parts = [f"{abs(n):.1f} pixels {plus if n > 0 else minus}" for n, plus, minus in directions if abs(n) >= 0.05]
    return f"shifted by {' and '.join(parts)}" if parts else UNCHANGED


def size_in_words(factor: float) -> str:
    """A dilation by its factor.

    Example:
        >>> size_in_words(1.25), size_in_words(0.8), size_in_words(1.0)
        ('enlarged to 125 %', 'shrunk to 80 %', 'as it is')
    """
    percent = round(100 * factor)
    return UNCHANGED if percent == 100 else f"{'enlarged' if percent > 100 else 'shrunk'} to {percent} %"


def map_in_words(linear: Sequence[Sequence[float]], shift: Sequence[float], side: int) -> str:
    """An affine map: where it takes one pixel to the right and one down, and the shift in pixels of a side.

    Example:
        >>> map_in_words([[1.0, 0.25], [0.0, 1.0]], [0.0, 0.0], side=32)
        'slanted and stretched: right becomes (1.00, 0.00), down becomes (0.25, 1.00)'
        >>> map_in_words([[1.0, 0.0], [0.0, 1.0]], [0.125, 0.0], side=32)
        'shifted by 4.0 pixels to the right'
    """
    (a, b), (c, d) = linear
    moved = shift_in_words(shift[0] * side, shift[1] * side)
    if max(abs(a - 1), abs(b), abs(c), abs(d - 1)) < 0.005:
        return moved
    right, down = (f"({x + 0.0:.2f}, {y + 0.0:.2f})" for x, y in ((a, c), (b, d)))
    slanted = f"slanted and stretched: right becomes {right}, down becomes {down}"
    return slanted if moved == UNCHANGED else f"{slanted}; {moved}"


def mirror_in_words(horizontal: bool, vertical: bool) -> str:
    """Which sides a reflection exchanges.

    Example:
        >>> mirror_in_words(True, False), mirror_in_words(True, True), mirror_in_words(False, False)
        ('mirrored left to right', 'mirrored left to right and top to bottom', 'as it is')
    """
    parts = ["left to right"] * horizontal + ["top to bottom"] * vertical
    return f"mirrored {' and '.join(parts)}" if parts else UNCHANGED


def window_in_words(top: int, left: int, rows: int, columns: int, whole: tuple[int, int]) -> str:
    """A window of pixels in an image of (height, width), counted from 0.

    Example:
        >>> window_in_words(3, 5, 24, 24, (32, 32)), window_in_words(0, 0, 32, 32, (32, 32))
        ('window of 24 × 24 pixels from row 3, column 5', 'the whole image')
    """
    if (rows, columns) == whole:
        return "the whole image"
    return f"window of {rows} × {columns} pixels from row {top}, column {left}"


def rectangle_in_words(left: float, top: float, right: float, bottom: float) -> str:
    """A rectangle by its shares of width and height.

    Example:
        >>> rectangle_in_words(0.1, 0.0, 0.8, 1.0)
        'cut to 10 % to 80 % of the width and 0 % to 100 % of the height'
    """
    if (round(100 * left), round(100 * top), round(100 * right), round(100 * bottom)) == (0, 0, 100, 100):
        return "the whole image"
    across, down = (f"{100 * a:.0f} % to {100 * b:.0f} %" for a, b in ((left, right), (top, bottom)))
    return f"cut to {across} of the width and {down} of the height"
