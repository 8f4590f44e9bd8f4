"""Smoke runs: the whole way of a run in its full sizes, on no more samples than two steps and one evaluation need.

A process that makes a smoke run says so once (:func:`smoke`). Where tables divide their data, and where they would
compute for hours before the first step, they ask the functions of this file, which change nothing in any other run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from torch import Tensor

from adacanon.training.loop import DataSplit

STEPS = 2
"""Optimizer steps of a training."""


@dataclass(frozen=True)
class Smoke:
    """What is known of the smoke run of this process.

    Attributes:
        batch: of a training step; None where a step takes all samples.
        notes: how its data differ from those of the real run, beside their number.
    """

    batch: int | None
    notes: list[str] = field(default_factory=list)


_CURRENT: ContextVar[Smoke | None] = ContextVar("smoke", default=None)


@contextmanager
def smoke(batch: int | None) -> Iterator[Smoke]:
    """Make the runs inside the block smoke runs. Tables keep data for later runs: use a process of its own.

    Example:
        >>> split = DataSplit(torch.arange(100), torch.arange(100, 150), torch.arange(150, 200))
        >>> with smoke(batch=16):
        ...     short = shortened(split)
        >>> len(short.train), len(short.validation), len(short.test)
        (32, 16, 16)
        >>> shortened(split) is split
        True
    """
    token = _CURRENT.set(Smoke(batch))
    try:
        current = _CURRENT.get()
        assert current is not None
        yield current
    finally:
        _CURRENT.reset(token)


def shortened(split: DataSplit) -> DataSplit:
    """In a smoke run: two batches for training, repeated samples if there are fewer, and one batch of each other part.
    Otherwise the split itself.
    """
    current = _CURRENT.get()
    if current is None or current.batch is None:
        return split
    count = STEPS * current.batch
    train = split.train.repeat(-(-count // max(1, len(split.train))))[:count]
    return DataSplit(train, one_batch(split.validation), one_batch(split.test))


def one_batch(index: Tensor, *, batch: int | None = None) -> Tensor:
    """In a smoke run: a batch of these samples, evenly from all of them, so that classes which stand one after another
    are all there. Otherwise the samples themselves.

    Args:
        batch: of the evaluation, if other than that of the training.

    Example:
        >>> with smoke(batch=3):
        ...     one_batch(torch.arange(9)), one_batch(torch.arange(2))
        (tensor([0, 3, 6]), tensor([0, 1]))
    """
    current = _CURRENT.get()
    if current is None or current.batch is None:
        return index
    count = min(len(index), batch or current.batch)
    return index[torch.arange(count) * len(index) // max(1, count)]


def at_most(count: int, few: int) -> int:
    """In a smoke run at most a few; otherwise all.

    Example:
        >>> at_most(8000, 4)
        8000
    """
    return count if _CURRENT.get() is None else min(count, few)


def is_smoke() -> bool:
    """Whether this is a smoke run."""
    return _CURRENT.get() is not None


def note(text: str) -> None:
    """Say how the data of a smoke run differ from those of the real run, beside their number."""
    current = _CURRENT.get()
    if current is not None and text not in current.notes:
        current.notes.append(text)
