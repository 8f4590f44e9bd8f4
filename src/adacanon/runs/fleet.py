"""A fleet: runs that are claimed, computed by an executor, and recorded by one writer, this process."""

import os
import socket
import sys
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from adacanon.errors import DataError
from adacanon.runs.claims import Claims
from adacanon.runs.executors import Executor, WorkerLostError
from adacanon.runs.run import Outcome, Run, Training, attempt, checkpoint_of
from adacanon.training.checkpoint import remove_checkpoint
from adacanon.training.loop import OnEpoch, TrainingControl
from adacanon.training.records import Record, append_record, read_records

SECONDS_BETWEEN_LOOKS = 1.0
"""How often the records and claims of other commands are looked at."""


class Work(Protocol):
    """Runs to do. More of them may follow from the outcomes of others, as in a study."""

    def ready(self) -> Sequence[Run]:
        """Runs that can start and have not been given out before."""

    def tell(self, outcome: Outcome) -> None:
        """How a run ended."""


class Listed:
    """Runs that are known from the beginning.

    Example:
        >>> work = Listed([Run.of("toy", "GIN", "accuracy", 0, {})])
        >>> len(work.ready()), len(work.ready())
        (1, 0)
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = list(runs)

    def ready(self) -> Sequence[Run]:
        runs, self._runs = self._runs, []
        return runs

    def tell(self, outcome: Outcome) -> None:
        pass


class Fleet:
    """Does some work until nothing is left, together with other commands on the same file of records.

    Args:
        training: a function of a module, where the executor has other processes.
        file: of the records; checkpoints and claims are beside it.
        executor: where runs are computed.
        checkpoint_every: time between two checkpoints of a run.
        on_epoch: from a run to what its epochs call, where runs are computed in this process.
    """

    def __init__(
        self,
        training: Training,
        file: Path,
        executor: Executor,
        *,
        checkpoint_every: float = 10.0,
        on_epoch: Callable[[Run], OnEpoch] | None = None,
    ) -> None:
        self.training, self.executor, self.on_epoch = training, executor, on_epoch
        self.file = file.resolve()
        self.checkpoints = self.file.parent / "checkpoints"
        self.checkpoint_every = checkpoint_every
        self.waiting: list[Run] = []
        self.running: dict[Future[Outcome], Run] = {}
        self._known = KnownRecords(self.file)
        self._named: set[str] = set()

    def outcomes(self, work: Work) -> Generator[Outcome, None, None]:
        """Outcomes as they come; records are on the disk before they are told."""
        check_writable(self.file)
        with Claims(self.file.parent) as claims:
            self.waiting.extend(work.ready())
            while self.waiting or self.running:
                for outcome in [*self._start(claims), *self._ended(claims)]:
                    work.tell(outcome)
                    yield outcome
                self.waiting.extend(work.ready())

    def _start(self, claims: Claims) -> list[Outcome]:
        """Submit as many runs as there is room for. What others have finished is read from the records."""
        found: list[Outcome] = []
        room = self.executor.capacity()
        for run in list(self.waiting):
            if len(self.running) >= room:
                break
            record = self._known.record(run)
            if record is None and claims.take(run.key):
                record = self._known.record(run)  # finished between the two looks
                if record is None:
                    self.waiting.remove(run)
                    self.running[self._submitted(run)] = run
                    continue
                claims.release(run.key)
            if record is not None:
                self.waiting.remove(run)
                found.append(Outcome(run, record, ""))
        return found

    def _submitted(self, run: Run) -> "Future[Outcome]":
        checkpoint = checkpoint_of(run, self.checkpoints)
        control = TrainingControl(checkpoint, self.checkpoint_every, hardware=self.executor.hardware)
        if not self.executor.inside:
            where = self.executor.elsewhere
            return self.executor.submit(_attempted, self.training, run, control, where)
        if self.on_epoch is not None:
            control = replace(control, on_epoch=self.on_epoch(run))
        return self.executor.submit(attempt, self.training, run, control)

    def _ended(self, claims: Claims) -> list[Outcome]:
        if not self.running:
            if self.waiting:
                self._say_who_has(claims)
                time.sleep(SECONDS_BETWEEN_LOOKS)
            return []
        done, _ = wait(self.running, timeout=SECONDS_BETWEEN_LOOKS, return_when=FIRST_COMPLETED)
        return [self._recorded(self.running.pop(future), future, claims) for future in done]

    def _say_who_has(self, claims: Claims) -> None:
        """Once for every owner that is waited for."""
        for holder in sorted({claims.holder(run.key) for run in self.waiting} - self._named):
            print(f"Waiting for runs that {holder} has claimed", file=sys.stderr)
            self._named.add(holder)

    def _recorded(self, run: Run, future: "Future[Outcome]", claims: Claims) -> Outcome:
        try:
            outcome = future.result()
        except WorkerLostError as error:
            outcome = Outcome(run, None, str(error))
        if outcome.record is not None:
            if not append_record(self.file, outcome.record, once="key"):
                outcome = Outcome(run, self._known.record(run), "")  # another command was faster
            remove_checkpoint(checkpoint_of(run, self.checkpoints))
        claims.release(run.key)
        return outcome


class KnownRecords:
    """The records of a file by their keys, read again when the file has changed."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._state: tuple[int, int] | None = None
        self._records: dict[str, Record] = {}

    def record(self, run: Run) -> Record | None:
        """The record of a run, if there is one now."""
        state = self._look()
        if state != self._state:
            self._records = {record.get("key", ""): record for record in read_records(self.file)}
            self._state = state
        return self._records.get(run.key)

    def _look(self) -> tuple[int, int] | None:
        """By opening the file: shared disks answer with the present state then, and not always without."""
        try:
            with self.file.open("rb") as stream:
                state = os.fstat(stream.fileno())
        except FileNotFoundError:
            return None
        return state.st_size, state.st_mtime_ns


def check_writable(file: Path) -> None:
    """Refuse a folder of results that is full or cannot be written to, before hours are spent on a training."""
    probe = file.parent / "checkpoints" / f"{os.getpid()}.{socket.gethostname()}.probe"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab"):
            pass
        try:
            with probe.open("wb") as stream:  # with a buffer, which writes all of it or raises
                stream.write(b"\0" * 65536)
                stream.flush()
                os.fsync(stream.fileno())
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(
            f"Records cannot be written to {file} ({error}); nothing was trained. "
            "Hint: make room on the disk, or name another folder with --results"
        ) from error


def _attempted(training: Training, run: Run, control: TrainingControl, elsewhere: bool) -> Outcome:
    outcome = attempt(training, run, control)
    if outcome.failure and elsewhere:
        return outcome._replace(failure=f"{outcome.failure} (on {socket.gethostname()})")
    return outcome
