"""One call at a time, in this process."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from adacanon.training.hardware import Hardware

T = TypeVar("T")


class ThisProcess:
    """Calls a function when it is submitted, with the threads that torch has. An error is raised at once.

    Example:
        >>> ThisProcess().submit(max, 3, 5).result()
        5
    """

    inside = True
    elsewhere = False
    hardware = Hardware()

    def capacity(self) -> int:
        return 1

    def submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        future: Future[T] = Future()
        future.set_result(function(*arguments))
        return future

    def __enter__(self) -> "ThisProcess":
        return self

    def __exit__(self, *error: object) -> None:
        pass
