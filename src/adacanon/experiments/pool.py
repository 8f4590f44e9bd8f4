"""Several runs side by side, each in a process with one thread.

Models this small gain little from a second thread and much from a second process. The standard library's pool is
used: when a process dies, its run must be named, and the others must go on.
"""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import NamedTuple

from adacanon.experiments.run import Run, Sitting, execute
from adacanon.training.records import Record


class Outcome(NamedTuple):
    """A run with its record, or with the reason why it has none."""

    run: Run
    record: Record | None
    failure: str


def in_processes(todo: list[Run], folder: Path, *, jobs: int, seconds_between: float = 10.0) -> Iterator[Outcome]:
    """Outcomes as they come.

    When a process dies, all that ran beside it are broken off too, and nobody knows which one it was. They are run
    again one at a time: the one that dies then is the culprit, and the rest is run side by side once more.
    """
    suspects: list[Run] = []
    while todo:
        left: list[Run] = []
        for outcome in _pooled(todo, folder, jobs, seconds_between):
            if outcome.failure == _DIED:
                left.append(outcome.run)
            else:
                yield outcome
        left.sort(key=todo.index)  # those that ran are among the first
        suspects, todo = left[: 2 * jobs], left[2 * jobs :]
        for run in suspects:
            yield from _pooled([run], folder, 1, seconds_between)


_DIED = "its process died, perhaps for lack of memory; the same command goes on from its checkpoint"


def _pooled(todo: list[Run], folder: Path, jobs: int, seconds_between: float) -> Iterator[Outcome]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_one_thread) as pool:
        futures = {pool.submit(_outcome, run, folder / f"{run.key}.pt", seconds_between): run for run in todo}
        try:
            for future in as_completed(futures):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield Outcome(futures[future], None, _DIED)
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def _outcome(run: Run, checkpoint: Path, seconds_between: float) -> Outcome:
    from adacanon.experiments.runner import FAILURES
    from adacanon.experiments.tables import table_named

    try:
        return Outcome(run, execute(table_named(run.table), run, Sitting(checkpoint, seconds_between)), "")
    except FAILURES as error:
        return Outcome(run, None, f"{type(error).__name__}: {error}")
