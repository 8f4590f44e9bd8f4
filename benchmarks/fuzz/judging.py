"""How a case ends: with the right answer, with a named refusal, or as a finding."""

import os
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import torch

from adacanon.errors import AdacanonError
from benchmarks.fuzz.draw import Draw

Outcome = Literal["right", "refused", "raw exception", "silent wrong answer", "state changed", "hang"]
OUTCOMES: tuple[Outcome, ...] = ("right", "refused", "raw exception", "silent wrong answer", "state changed", "hang")
FINDINGS = OUTCOMES[2:]

Kind = Callable[[Draw], None]
"""One case: it returns if every law held, and raises otherwise."""


class SilentlyWrongError(Exception):
    """Something was answered, and the answer breaks a law or differs from the oracle."""


class StateChangedError(Exception):
    """Something was changed that belongs to the caller."""


class RefusedError(Exception):
    """A refusal that is documented and does not come from adacanon's own errors, such as torch's on a wrong key."""


WAITING = 15
"""How many times longer a case may wait than compute: other processes may need the machine."""


class HangError(BaseException):
    """The time of a case is over. Not an Exception: nothing may catch it on its way."""


@dataclass(frozen=True)
class Verdict:
    """Of one case; the words say what happened, where it is a finding."""

    outcome: Outcome
    words: str = ""


def judged(kind: Kind, draw: Draw, *, seconds: float) -> Verdict:
    """Run a case. Whatever it raises is looked at here, so that the campaign goes on."""
    before = _surroundings()
    try:
        with _limited(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict = _run(kind, draw)
    except HangError:
        return Verdict("hang", f"no end after {seconds:g} s of computing or {WAITING * seconds:g} s of waiting")
    changed = [name for name, value in _surroundings().items() if not _same(before[name], value)]
    if changed:
        _restore(before)
        return Verdict("state changed", f"changed: {', '.join(changed)}")
    return verdict


def _run(kind: Kind, draw: Draw) -> Verdict:
    try:
        kind(draw)
    except (AdacanonError, RefusedError) as error:
        return Verdict("refused", type(error).__name__)
    except SilentlyWrongError as error:
        return Verdict("silent wrong answer", str(error))
    except StateChangedError as error:
        return Verdict("state changed", str(error))
    except Exception as error:  # the finding that the campaign looks for
        return Verdict("raw exception", _told(error))
    return Verdict("right")


def _told(error: Exception) -> str:
    """The error, and the last place in adacanon that it went through."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f"{os.sep}adacanon{os.sep}" in f.filename]
    place = f" at {frames[-1].filename.rpartition('adacanon' + os.sep)[2]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {str(error)[:200]}{place}"


def _surroundings() -> dict[str, object]:
    """What no call may change."""
    return {
        "random state": torch.get_rng_state(),
        "gradient mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "default type": torch.get_default_dtype(),
        "threads": torch.get_num_threads(),
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }


def _same(a: object, b: object) -> bool:
    return torch.equal(a, b) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) else a == b


def _restore(before: dict[str, object]) -> None:
    """So that one finding is not counted again by all cases that follow."""
    torch.set_rng_state(before["random state"])  # type: ignore[arg-type]
    torch.set_num_threads(before["threads"])  # type: ignore[arg-type]
    torch.set_default_dtype(before["default type"])  # type: ignore[arg-type]


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise HangError

    timers = (signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, WAITING * seconds)
    old = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, limit in timers:
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, old, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
