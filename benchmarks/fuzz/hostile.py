"""Values of the wrong kind, and other spellings of the right ones."""

import math
from typing import Any

import numpy as np
import torch

from benchmarks.fuzz.draw import Draw

VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    -(10**12),
    10**12,
    2**63,
    2.5,
    1.0,
    0.0,
    -0.5,
    1e39,
    1e-320,
    math.inf,
    -math.inf,
    math.nan,
    1j,
    "",
    "3",
    "x",
    b"x",
    (),
    [],
    [1, 2],
    (1, 2.5, "a"),
    [None],
    {},
    {"a": 1},
    {1, 2},
    object(),
    int,
    len,
    np.int64(-3),
    np.float32(2.5),
    np.array([]),
    np.array([1.5, 2.5]),
    np.array("x"),
    torch.tensor(2.5),
    torch.tensor([]),
    torch.tensor([1, 2]),
    torch.tensor(math.nan),
    torch.tensor(True),
    torch.nn.Identity(),
    range(3),
)


def hostile(draw: Draw) -> Any:
    return draw.pick(VALUES)


def spellings(value: int) -> tuple[Any, ...]:
    """The same whole number of numpy and torch, which must be taken like Python's."""
    return np.int64(value), np.int32(value), np.uint8(value), torch.tensor(value)
