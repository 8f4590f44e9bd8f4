"""What an executor is: a place that calls functions."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import starmap
from typing import Any, Protocol, TypeVar

from adacanon.errors import AdacanonError, InputError
from adacanon.training.hardware import Hardware

T = TypeVar("T")


class Executor(Protocol):
    """Calls functions of modules, some at a time. A context manager; what still runs when it is left is ended.

    Attributes:
        inside: whether functions are called in this process, so that they may be given closures.
        elsewhere: whether functions may be called on other machines.
        hardware: what runs are computed on.
    """

    inside: bool
    elsewhere: bool
    hardware: Hardware

    def capacity(self) -> int:
        """How many calls can be under way at a time; it may change while a cluster grows or shrinks."""

    def submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        """Call a function. Its errors come out of the future, and a :class:`WorkerLostError` where workers die."""

    def __enter__(self) -> "Executor": ...

    def __exit__(self, *error: object) -> None: ...


class WorkerLostError(AdacanonError, RuntimeError):
    """The processes that worked at a call have died, each time it was tried.

    Example:
        >>> raise WorkerLostError("its process died")
        Traceback (most recent call last):
            ...
        adacanon.runs.executors.executor.WorkerLostError: its process died
    """


def check_jobs(jobs: int | None) -> None:
    """Refuse fewer than one run at a time; None is for the executor to choose.

    Example:
        >>> check_jobs(0)
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: At least one run is done at a time, got jobs=0
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"At least one run is done at a time, got jobs={jobs}")


def in_order(executor: Executor, function: Callable[..., T], calls: Iterable[tuple[Any, ...]]) -> Iterator[T]:
    """The answers of a function for several arguments, in their order.

    Twice as many calls as fit are under way: workers have no pause, and no long queue of arguments is kept.

    Example:
        >>> from adacanon.runs.executors import ThisProcess
        >>> list(in_order(ThisProcess(), pow, [(2, 3), (3, 2)]))
        [8, 9]
    """
    under_way: list[Future[T]] = []
    for arguments in calls:
        under_way.append(executor.submit(function, *arguments))
        while len(under_way) >= (1 if executor.inside else 2 * executor.capacity()):
            yield under_way.pop(0).result()
    for future in under_way:
        yield future.result()


def calls_on(executor: Executor) -> Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterator[Any]]:
    """What :func:`in_order` does on an executor, as a function that knows nothing of executors.

    Example:
        >>> from adacanon.runs.executors import ThisProcess
        >>> list(calls_on(ThisProcess())(pow, [(2, 3), (3, 2)]))
        [8, 9]
    """
    return starmap if executor.inside else partial(in_order, executor)
