"""Processes of this machine, each with one thread.

Models this small gain little from a second thread and much from a second process. Every process has a pool of the
standard library for itself: when it dies, its call is known, and its neighbours go on.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from adacanon.runs.executors.executor import WorkerLostError, check_jobs
from adacanon.training.hardware import Hardware

T = TypeVar("T")
ATTEMPTS = 2
DIED = "its process died, perhaps for lack of memory; the same command goes on from its checkpoint"


class LocalProcesses:
    """Some processes that end with the block: at once if it is left early, by an error or a stop.

    Args:
        jobs: calls at a time.

    Example:
        >>> with LocalProcesses(2) as processes:
        ...     processes.capacity()
        2
    """

    inside = False
    elsewhere = False
    hardware = Hardware()

    def __init__(self, jobs: int) -> None:
        check_jobs(jobs)
        self.jobs = jobs
        self._others = set(multiprocessing.active_children())
        self._threads = ThreadPoolExecutor(jobs)
        self._own = threading.local()
        self._pools: list[ProcessPoolExecutor] = []
        self._closed = False
        self._starting = threading.Lock()

    def capacity(self) -> int:
        return self.jobs

    def submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        return self._threads.submit(self._called, function, arguments)

    def _called(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        for _ in range(ATTEMPTS):
            try:
                return self._started(function, arguments).result()
            except BrokenProcessPool:
                self._own.pool = None
        raise WorkerLostError(DIED)

    def _started(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> "Future[T]":
        """The call in a process of this thread. None starts once the block is left, which ends those there are."""
        with self._starting:
            if self._closed:
                raise WorkerLostError(DIED)
            return self._pool().submit(function, *arguments)

    def _pool(self) -> ProcessPoolExecutor:
        """The pool of this thread."""
        if getattr(self._own, "pool", None) is None:
            context = multiprocessing.get_context("spawn")
            self._own.pool = ProcessPoolExecutor(1, mp_context=context, initializer=_prepare_process)
            self._pools.append(self._own.pool)
        return self._own.pool

    def __enter__(self) -> "LocalProcesses":
        return self

    def __exit__(self, *error: object) -> None:
        with self._starting:
            self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - self._others:  # what runs has its checkpoint
            process.terminate()
        for pool in self._pools:
            pool.shutdown(wait=True, cancel_futures=True)
        self._threads.shutdown(wait=True)


def _prepare_process() -> None:
    """One thread; an interrupt from the keyboard reaches all processes, and the first one answers it for all."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """When the command itself is killed, nobody is left to take a record, and nobody would end this process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
