"""Answers per pixel from one shared form, or blended over forms: one image, one angle and one class at a time."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from oracles.warp import warp


def turned(image: np.ndarray, angle: float) -> np.ndarray:
    """image (channels, side, side) anticlockwise, with zeros where nothing was."""
    cos, sin = math.cos(angle), math.sin(angle)
    return warp(image, np.array([[cos, sin, 0.0], [-sin, cos, 0.0]]), "zero")


def on_disc(image: np.ndarray) -> np.ndarray:
    side = image.shape[-1]
    rows, columns = np.mgrid[:side, :side] + 0.5 - side / 2
    return image * (rows**2 + columns**2 <= (side / 2) ** 2)


def certainty(scores: np.ndarray) -> float:
    """Minus the mean entropy over pixels of scores (classes, side, side)."""
    total = 0.0
    for pixel in scores.reshape(len(scores), -1).T:
        powers = [math.exp(score - max(pixel)) for score in pixel]
        for power in powers:
            p = power / sum(powers)
            total += p * math.log(p) if p > 0 else 0.0
    return total / scores[0].size


def forms(network: Callable[[Tensor], Tensor], image: Tensor, angles: Sequence[float]) -> list[np.ndarray]:
    """The scores of the network on the turned image, (classes, side, side), for every angle."""
    views = [torch.from_numpy(turned(on_disc(image.numpy()), angle)) for angle in angles]
    return [network(view.unsqueeze(0))[0].detach().numpy() for view in views]


def blend(scores: Sequence[np.ndarray], angles: Sequence[float], temperature: float) -> np.ndarray:
    """The mean of the scores, turned back, weighted in proportion to exp(certainty / temperature). Forms count where
    they have the pixel.
    """
    sure = [certainty(form) for form in scores]
    if temperature == 0:
        weights = [float(i == int(np.argmax(sure))) for i in range(len(sure))]
    else:
        powers = [math.exp((c - max(sure)) / temperature) for c in sure]
        weights = [power / sum(powers) for power in powers]
    total, share = np.zeros_like(scores[0]), np.zeros_like(scores[0])
    for weight, form, angle in zip(weights, scores, angles, strict=True):
        total += weight * turned(form, -angle)
        share += weight * turned(np.ones_like(form), -angle)
    return np.where(share > 0, total / np.where(share > 0, share, 1.0), 0.0)
