"""Affine maps of images by scipy: one channel at a time, in pixels."""

import numpy as np
from scipy.ndimage import map_coordinates

MODES = {"zero": "grid-constant", "border": "nearest", "reflection": "reflect"}


def warp(image: np.ndarray, matrix: np.ndarray, outside: str) -> np.ndarray:
    """image (channels, height, width), matrix (2, 3) on (x, y) from the centre in units of the shorter side."""
    _, height, width = image.shape
    short = min(height, width)
    rows, columns = np.mgrid[:height, :width]
    target = np.stack([columns + 0.5 - width / 2, rows + 0.5 - height / 2]).reshape(2, -1) / short
    x, y = np.linalg.solve(matrix[:, :2], target - matrix[:, 2:]) * short
    places = np.stack([y + height / 2 - 0.5, x + width / 2 - 0.5])
    channels = [map_coordinates(channel, places, order=1, mode=MODES[outside]) for channel in image]
    return np.stack(channels).reshape(image.shape)
