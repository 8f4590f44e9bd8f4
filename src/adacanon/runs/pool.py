"""Several runs side by side, each in a process with one thread.

Models this small gain little from a second thread and much from a second process. The standard library's pool is
used: when a process dies, its run must be named, and the others must go on.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from adacanon.runs.run import Outcome, Run, Training, attempt, checkpoint_of
from adacanon.training.loop import TrainingControl


def in_processes(
    training: Training, todo: list[Run], folder: Path, *, jobs: int, checkpoint_every: float = 10.0
) -> Generator[Outcome, None, None]:
    """Outcomes as they come.

    When a process dies, all that ran beside it are broken off too, and nobody knows which one it was. They are run
    again one at a time: the one that dies then is the culprit, and the rest is run side by side once more.
    """
    while todo:
        left: list[Run] = []
        for outcome in _pooled(training, todo, folder, jobs, checkpoint_every):
            if outcome.failure == _DIED:
                left.append(outcome.run)
            else:
                yield outcome
        left.sort(key=todo.index)  # those that ran are the first
        suspects, todo = left[:jobs], left[jobs:]
        for run in suspects:
            yield from _pooled(training, [run], folder, 1, checkpoint_every)


_DIED = "its process died, perhaps for lack of memory; the same command goes on from its checkpoint"


def _pooled(training: Training, todo: list[Run], folder: Path, jobs: int, checkpoint_every: float) -> Iterator[Outcome]:
    with process_pool(jobs) as pool:
        futures = {pool.submit(_outcome, training, run, folder, checkpoint_every): run for run in todo}
        for future in as_completed(futures):
            try:
                yield future.result()
            except BrokenProcessPool:
                yield Outcome(futures[future], None, _DIED)


@contextmanager
def process_pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes with one thread each, which end with the block: at once if it is left early, by an error or a stop."""
    others, finished = set(multiprocessing.active_children()), False
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare_process) as pool:
        try:
            yield pool
            finished = True
        finally:
            if not finished:  # what runs has its checkpoint
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


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


def _outcome(training: Training, run: Run, folder: Path, checkpoint_every: float) -> Outcome:
    return attempt(training, run, TrainingControl(checkpoint_of(run, folder), checkpoint_every))
