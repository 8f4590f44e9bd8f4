"""What several commands share: options, threads, names, and how failures are told."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from adacanon.errors import InputError
from adacanon.runs.runner import Failure

Preset = Literal["cpu", "paper", "full"]
Place = Literal["local", "ray"]
Device = Literal["auto", "cpu", "cuda", "mps"]
Precision = Literal["32", "bf16", "16"]
RESULTS = Path("results")
MOST = 10**9
"""Seconds or GB; more cannot be meant."""


def threads_of(environment: Mapping[str, str]) -> int:
    """Two, or what the usual variable says."""
    named = environment.get("OMP_NUM_THREADS", "")
    return int(named) if named.isdecimal() else 2


THREADS = threads_of(os.environ)


def set_threads(threads: int) -> None:
    """The threads of torch."""
    import torch

    if threads < 1:
        raise InputError(f"At least one thread is needed, got threads={threads}")
    torch.set_num_threads(threads)


def check_amount(option: str, amount: float | None, *, or_zero: bool = False) -> None:
    """Refuse seconds or GB that mean nothing, where they are given.

    Example:
        >>> check_amount("--most-memory", 0.0)
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: --most-memory takes a number above zero, at most 1,000,000,000, got 0
    """
    zero = or_zero and amount == 0
    if amount is not None and not zero and not 0 < amount <= MOST:  # so that NaN is refused, too
        raise InputError(f"{option} takes {'zero or ' * or_zero}a number above zero, at most {MOST:,}, got {amount:g}")


def names_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words at spaces or commas; without any, all are meant, but never by a name that is empty."""
    names = tuple(name.strip() for word in words for name in word.split(",") if name.strip())
    if words and not names:
        raise InputError("Expected names of rows or columns, got an empty one. Hint: leave the option out for all")
    return names


def report_failures(failures: list[Failure]) -> int:
    """One line for runs that failed for the same reason."""
    runs: dict[str, list[str]] = {}
    for run, reason in failures:
        runs.setdefault(reason, []).append(run)
    for reason, (first, *others) in runs.items():
        more = f" and {len(others)} more run{'s' * (len(others) > 1)}" * bool(others)
        print(f"failed: {first}{more}: {reason}", file=sys.stderr)
    return 1 if failures else 0
