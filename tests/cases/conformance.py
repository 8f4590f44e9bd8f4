"""Models with answers of every kind, which the conformance table runs in every way and on every device."""

import copy
import math
from typing import Any

import torch
from torch import Tensor

from adacanon import (
    Canonicalized,
    Confidence,
    EqualWeights,
    LargestScore,
    LogSumExp,
    NegativeEntropy,
    RandomSearch,
)
from adacanon.images import Rotations as Turns
from adacanon.points import Rotations
from cases.image_cases import images
from cases.networks import cloud_network, clouds

SINGLE = torch.float32

ANSWERS: dict[str, tuple[Any, ...]] = {
    "largest score": (cloud_network(3), Rotations(), LargestScore(), "invariant"),
    "log-sum-exp": (cloud_network(3), Rotations(), LogSumExp(), "invariant"),
    "scalars": (cloud_network(2), Rotations(), Confidence(), "invariant"),
    "scores per point": (torch.nn.Linear(3, 5), Rotations(), NegativeEntropy(), "invariant"),
    "vectors": (cloud_network(7), Rotations(), Confidence(), "vectors"),
    "a vector per point": (torch.nn.Linear(3, 4), Rotations(), Confidence(), "vectors"),
    "a mean of vectors": (cloud_network(3), Rotations(), EqualWeights(), "vectors"),
    "poses": (cloud_network(10), Rotations(), Confidence(), "rotations"),
    "maps": (torch.nn.Conv2d(2, 3, 3, padding=1), Turns(), NegativeEntropy(axis=1), "maps"),
    "maps with a confidence": (torch.nn.Conv2d(2, 3, 3, padding=1), Turns(), Confidence(axis=1), "maps"),
}

TEMPERATURES = [(name, t) for name in ANSWERS for t in (0.0, 0.5, math.inf) if t or name != "a mean of vectors"]
"""Without a temperature, equal weights have no best form."""


def answering(name: str, temperature: float, candidates: int = 20) -> Canonicalized:
    """A model with answers of this kind, in single precision and in evaluation mode."""
    network, family, prior, kind = ANSWERS[name]
    options = {"prior": prior, "answers": kind, "temperature": temperature}
    return Canonicalized(copy.deepcopy(network).float(), family, RandomSearch(candidates), **options).eval()


def inputs_of(name: str) -> Tensor:
    """What such a model takes."""
    return images(3, 2, 6, 6, dtype=SINGLE) if isinstance(ANSWERS[name][1], Turns) else clouds(dtype=SINGLE)
