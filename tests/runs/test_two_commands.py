"""Two commands on one table, as processes: they share its runs, and one goes on where the other was killed."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from adacanon.training.records import read_records
from cases import shared_table
from cases.shared_table import EPOCHS, RUNS

PARTS = ("claims", "checkpoints")


def started(results: Path, *names: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, str(shared_table.__file__), str(results), *names])


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def wait_until(condition: Callable[[], bool]) -> None:
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + 60
        time.sleep(0.005)


def epochs(results: Path) -> Counter[str]:
    """How often each epoch of each run was trained."""
    log = results / "log"
    return Counter(log.read_text().splitlines() if log.exists() else [])


def splits(results: Path) -> list[int]:
    return sorted(record["split"] for record in read_records(results / "tiny.jsonl"))


def test_no_run_is_trained_twice_and_every_record_is_there_once(tmp_path: Path) -> None:
    commands = [started(tmp_path, *names) for names in (("one", "two"), ("two", "one"))]
    assert [command.wait(120) for command in commands] == [0, 0]
    assert splits(tmp_path) == list(range(RUNS))
    assert set(epochs(tmp_path).values()) == {1}
    assert len(epochs(tmp_path)) == RUNS * EPOCHS
    assert not any(list((tmp_path / part).iterdir()) for part in PARTS if (tmp_path / part).exists())


def test_the_run_of_a_command_that_is_killed_is_taken_over_from_its_checkpoint(tmp_path: Path) -> None:
    killed = started(tmp_path, "one")
    wait_until(lambda: epochs(tmp_path)["1 9"] == 1)  # in the middle of the second run
    killed.kill()
    killed.wait()
    assert list((tmp_path / "claims").glob("*.claim"))
    assert started(tmp_path, "two").wait(120) == 0
    assert splits(tmp_path) == list(range(RUNS))
    trained = epochs(tmp_path)
    assert len(trained) == RUNS * EPOCHS
    assert sum(trained.values()) <= RUNS * EPOCHS + 2  # no more than what came after the last checkpoint
    assert not (tmp_path / "claims").exists() or not list((tmp_path / "claims").glob("*.claim"))
