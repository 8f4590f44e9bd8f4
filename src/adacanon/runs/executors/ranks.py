"""One run at a time in several processes that share its batches: data-parallel training.

The first process, of rank zero, is the command: it decides what is done, writes records and shows progress. The others
follow it.
"""

import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from adacanon.runs.executors.executor import Executor
from adacanon.training.engine import engine_of
from adacanon.training.fabric_engine import FabricEngine, ProcessesDisagreeError
from adacanon.training.hardware import Hardware
from adacanon.training.loop import TrainingControl

T = TypeVar("T")


class Ranks:
    """Calls a function in all processes, which then work at it together; its answer is that of this process.

    Args:
        hardware: with more than one process. Those of this machine are started here, by the same command.
    """

    inside = True
    elsewhere = False

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        engine = engine_of(hardware)
        assert isinstance(engine, FabricEngine)
        self.engine = engine

    def capacity(self) -> int:
        return 1

    def submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        self.engine.tell((function, tuple(map(_silenced, arguments))))
        answer = function(*arguments)
        self.engine.agree(failure_of(answer))
        future: Future[T] = Future()
        future.set_result(answer)
        return future

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:  # otherwise the others may be in the middle of a run, and end when this process does
            self.engine.tell(None)


def is_follower(executor: Executor) -> bool:
    """Whether this process was started to follow another one.

    Example:
        >>> from adacanon.runs.executors import ThisProcess
        >>> is_follower(ThisProcess())
        False
    """
    return isinstance(executor, Ranks) and not executor.engine.main


def follow(executor: Executor) -> int:
    """Do what the first process tells, until it says that nothing is left. Returns the exit code of the process."""
    assert isinstance(executor, Ranks)
    engine = executor.engine
    with suppress(ProcessesDisagreeError):  # the first process says so, if it is still there
        while (told := engine.tell(None)) is not None:
            function, arguments = told
            failure = failure_of(function(*arguments))
            engine.agree(failure)  # or ends: a run that fails because the others have ended is no news
            if failure:
                print(f"process {engine.rank}: {failure}", file=sys.stderr, flush=True)
    return 0


def failure_of(answer: object) -> str:
    """Why a run has no record, if it has none."""
    return getattr(answer, "failure", "")


def _silenced(argument: Any) -> Any:
    """Progress is shown by the first process alone."""
    return argument.silenced() if isinstance(argument, TrainingControl) else argument
