"""Runs on a Ray cluster of two nodes on this machine, whose records are those of one process.

The same with a real table: ``python -m benchmarks.speed.fleets``.
"""

import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.frame.two_nodes import is_alive, lines_of, two_nodes, wait_until

from adacanon.errors import DataError
from adacanon.runs.choices import read_choices
from adacanon.runs.executors import Executor, LocalProcesses, ThisProcess, executor_named
from adacanon.runs.run import Run
from adacanon.runs.runner import run_missing
from adacanon.runs.tuning import tune
from adacanon.training.records import Record, read_records
from cases.tiny_table import TINY, tiny_run

pytest.importorskip("ray")
EPOCHS, HELD = 6, 3
SPACE = {"learning_rate": [0.1, 0.01, 0.001], "weight_decay": [0.0, 0.1]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with two_nodes() as nodes:
        yield nodes


def without_time(file: Path) -> list[Record]:
    return sorted(({**record, "seconds": None} for record in read_records(file)), key=lambda record: record["key"])


def held_run(row: str, folder: Path) -> Run:
    """It notes its epochs, and waits after some of them until it may go on."""
    log, sign = str(folder / f"{row}.log"), str(folder / "sign")
    return tiny_run(row, 0, epochs=EPOCHS, log=log, hold=HELD, sign=sign)


def choices(executor: Executor, folder: Path) -> tuple[Any, list[Record]]:
    """Of a small study, and its trials."""
    table = replace(TINY, search_space=lambda row: SPACE)
    with executor:
        tune(table, ("A",), ("accuracy",), folder / "tiny-tuning.jsonl", executor=executor, trials=8)
    return read_choices(folder), without_time(folder / "tiny-tuning.jsonl")


def test_studies_choose_the_same_in_processes_and_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    found = choices(ThisProcess(), tmp_path / "one")
    assert len(found[1]) == 8
    assert choices(LocalProcesses(2), tmp_path / "processes") == found
    assert choices(executor_named("ray", address=cluster.address), tmp_path / "ray") == found


def test_more_processors_than_any_node_has_are_refused(cluster: Any) -> None:
    with pytest.raises(ConnectionError, match=r"2 processors and 0 .*nodes have 1 and 0, 1 and 0.*--cpus-per-run"):
        executor_named("ray", address=cluster.address, cpus=2.0)


def test_another_port_of_a_cluster_is_refused_at_once(cluster: Any) -> None:
    """It speaks the same protocol; Ray itself waited for a quarter of an hour."""
    host = cluster.address.partition(":")[0]
    begin = time.monotonic()
    with pytest.raises(ConnectionError, match="is no head of a Ray cluster"):
        executor_named("ray", address=f"{host}:{cluster.head_node.node_manager_port}")
    assert time.monotonic() - begin < 30


def test_a_worker_without_the_data_is_named(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADACANON_DATA", str(tmp_path / "nowhere"))
    with executor_named("ray", address=cluster.address) as executor:
        expected = f"ADACANON_DATA is {tmp_path}/nowhere, .*on the node {socket.gethostname()}. Hint: share"
        with pytest.raises(DataError, match=expected):
            run_missing(TINY, [tiny_run("A", 0)], tmp_path / "tiny.jsonl", executor=executor, show=False)
    assert read_records(tmp_path / "tiny.jsonl") == []


def test_a_program_keeps_its_own_answer_to_a_request_to_end(cluster: Any) -> None:
    before = signal.signal(signal.SIGTERM, end := lambda number, frame: None)
    try:
        with executor_named("ray", address=cluster.address):
            assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)


def test_errors_come_as_they_were_raised(cluster: Any, tmp_path: Path) -> None:
    runs = [tiny_run("A", 0, end="raises"), tiny_run("B", 0)]
    with executor_named("ray", address=cluster.address) as executor:
        failures = run_missing(TINY, runs, tmp_path / "tiny.jsonl", executor=executor, show=False)
    assert [failure.reason for failure in failures] == [f"IndexError: out of range (on {socket.gethostname()})"]
    assert [record["row"] for record in read_records(tmp_path / "tiny.jsonl")] == ["B"]


def test_a_node_that_is_lost_costs_what_came_after_the_last_checkpoint(cluster: Any, tmp_path: Path) -> None:
    """The last test: the node does not come back."""
    runs = [held_run("A", tmp_path), held_run("B", tmp_path), tiny_run("A", 1)]
    logs = [tmp_path / "A.log", tmp_path / "B.log"]
    file = tmp_path / "tiny.jsonl"

    def lose_a_node() -> None:
        wait_until(lambda: all(str(HELD) in lines_of(log) for log in logs))
        workers = [int(log.with_suffix(".process").read_text()) for log in logs]
        cluster.remove_node(*cluster.worker_nodes, allow_graceful=False)
        wait_until(lambda: not all(map(is_alive, workers)))
        (tmp_path / "sign").touch()

    with ThreadPoolExecutor(1) as thread, executor_named("ray", address=cluster.address) as executor:
        lost = thread.submit(lose_a_node)
        assert run_missing(TINY, runs, file, executor=executor, show=False, checkpoint_every=0.0) == []
        lost.result()
    undisturbed, again = (list(map(str, epochs)) for epochs in (_from(1), [*range(1, HELD + 1), *_from(HELD)]))
    assert sorted(map(lines_of, logs)) == sorted([undisturbed, again])
    alone = tmp_path / "alone" / "tiny.jsonl"
    assert run_missing(TINY, runs, alone, show=False) == []
    assert without_time(file) == without_time(alone)
    assert len(read_records(file)) == 3
    assert not os.listdir(tmp_path / "checkpoints")


def _from(epoch: int) -> range:
    return range(epoch, EPOCHS + 1)
