"""The average of an image over the cells of a rectangle, pixel by pixel in exact fractions."""

from fractions import Fraction

import numpy as np

Interval = tuple[Fraction, Fraction]


def area_average(image: np.ndarray, rectangle: list[float]) -> np.ndarray:
    """image (height, width), rectangle left, top, right, bottom -> (height, width)"""
    height, width = image.shape
    left, top, right, bottom = map(Fraction, rectangle)
    rows = [cell(top, bottom, i, height) for i in range(height)]
    columns = [cell(left, right, j, width) for j in range(width)]
    return np.array([[float(mean(image, row, column)) for column in columns] for row in rows])


def cell(low: Fraction, high: Fraction, index: int, count: int) -> Interval:
    """Part number ``index`` of ``count`` equal parts of [low, high]."""
    return low + (high - low) * index / count, low + (high - low) * (index + 1) / count


def mean(image: np.ndarray, row: Interval, column: Interval) -> Fraction:
    height, width = image.shape
    total = Fraction(0)
    for i in range(height):
        for j in range(width):
            area = common(row, i, height) * common(column, j, width)
            total += area * Fraction(float(image[i, j]))
    return total / ((row[1] - row[0]) * (column[1] - column[0]))


def common(interval: Interval, index: int, count: int) -> Fraction:
    """How much of an interval lies in pixel ``index`` of ``count``."""
    low, high = max(interval[0], Fraction(index, count)), min(interval[1], Fraction(index + 1, count))
    return max(high - low, Fraction(0))
