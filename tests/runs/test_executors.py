"""Executors of this machine: what is left is ended, and what cannot be had is refused by name."""

import math
import socket
import threading
import time
from concurrent.futures import CancelledError, ProcessPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch

from adacanon.errors import DataError, InputError
from adacanon.runs.claims import Claims, claims
from adacanon.runs.executors import LocalProcesses, WorkerLostError, executor_named, follow, ray_cluster
from adacanon.runs.executors import ray_address as address_of
from adacanon.runs.executors.executor import in_order
from adacanon.runs.executors.ranks import Ranks
from adacanon.runs.executors.ray_address import ClusterError, check_listening
from adacanon.runs.run import Outcome, Run
from adacanon.training.fabric_engine import ProcessesDisagreeError
from adacanon.training.hardware import Hardware


class TestProcesses:
    def test_a_thread_that_is_late_starts_nothing_that_would_be_waited_for(self) -> None:
        processes, entered = LocalProcesses(1), threading.Event()
        pool = processes._pool

        def late() -> ProcessPoolExecutor:
            entered.set()
            time.sleep(0.5)
            return pool()

        processes._pool = late  # type: ignore[method-assign]
        begin = time.monotonic()
        with processes:
            future = processes.submit(time.sleep, 100)
            entered.wait()
        assert time.monotonic() - begin < 50
        with pytest.raises((WorkerLostError, CancelledError)):
            future.result()

    def test_answers_come_in_the_order_of_the_calls(self) -> None:
        with LocalProcesses(2) as processes:
            assert list(in_order(processes, abs, [(-i,) for i in range(9)])) == list(range(9))


class TestFollowers:
    def test_one_whose_leader_has_ended_says_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The leader has said why; that its connection is gone is no news."""

        class Left:
            rank = 1

            def tell(self, message: object) -> Any:
                run = Run.of("tiny", "A", "accuracy", 0, {})
                return (lambda: Outcome(run, None, "RuntimeError: connection closed by peer")), ()

            def agree(self, failure: str) -> None:
                raise ProcessesDisagreeError("Another process of the training has ended")

        ranks = object.__new__(Ranks)
        ranks.engine = Left()  # type: ignore[assignment]
        assert follow(ranks) == 0
        assert capsys.readouterr().err == ""


SETTINGS_OF_A_SERVER = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""With which whoever speaks HTTP/2 begins."""


class TestAddresses:
    @pytest.mark.parametrize("address", ["node1", ":6379", "node1:", "node1:port", "node1:99999", "ray://node1:10001"])
    def test_one_that_is_none_is_refused(self, address: str) -> None:
        with pytest.raises(InputError, match="HOST:PORT or auto, got"):
            check_listening(address)

    def test_where_nobody_listens_that_is_said_at_once(self) -> None:
        with pytest.raises(ClusterError, match=r"No Ray cluster answers at 127\.0\.0\.1:1 .*refused.*Hint: ray start"):
            check_listening("127.0.0.1:1")

    def test_who_says_nothing_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(address_of, "SECONDS_TO_ANSWER", 0.2)
        with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ClusterError, match="timed out"):
            check_listening(f"127.0.0.1:{silent.getsockname()[1]}")

    def test_a_web_server_is_no_cluster(self) -> None:
        with HTTPServer(("127.0.0.1", 0), _Quiet) as server:
            threading.Thread(target=server.handle_request, daemon=True).start()
            with pytest.raises(ClusterError, match="is no head of a Ray cluster"):
                check_listening(f"127.0.0.1:{server.server_port}")

    @pytest.mark.parametrize(
        ("answers", "accepted"),
        [
            ((SETTINGS_OF_A_SERVER, b"\x0bgrpc-status\x010"), True),
            ((SETTINGS_OF_A_SERVER, b"\x0bgrpc-status", b"\x02", b"16"), True),
            ((SETTINGS_OF_A_SERVER, b"\x0bgrpc-status\x0212"), False),
            ((SETTINGS_OF_A_SERVER,), False),
            ((b"+PONG\r\n",), False),
        ],
        ids=["a head", "a head that wants a token", "another service", "one that hangs up", "another protocol"],
    )
    def test_only_who_knows_the_calls_of_a_head_is_one(self, answers: tuple[bytes, ...], accepted: bool) -> None:
        """Ray itself waits for a quarter of an hour for others that speak HTTP/2, such as its own workers."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            threading.Thread(target=_answer, args=(server, answers), daemon=True).start()
            address = f"127.0.0.1:{server.getsockname()[1]}"
            if accepted:
                return check_listening(address)
            with pytest.raises(ClusterError, match="is no head of a Ray cluster"):
                check_listening(address)
        return None

    def test_one_that_speaks_and_never_answers_is_not_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(address_of, "SECONDS_TO_ANSWER", 0.2)
        gone = threading.Event()
        with socket.create_server(("127.0.0.1", 0)) as server:
            arguments = (server, (SETTINGS_OF_A_SERVER,), gone)
            threading.Thread(target=_answer, args=arguments, daemon=True).start()
            with pytest.raises(ClusterError, match="timed out"):
                check_listening(f"127.0.0.1:{server.getsockname()[1]}")
            gone.set()


def _answer(server: socket.socket, parts: tuple[bytes, ...], until: threading.Event | None = None) -> None:
    """Say some bytes, one after the other, to one client; then hang up, or wait."""
    connection, _ = server.accept()
    with connection:
        connection.recv(4096)
        for part in parts:
            connection.sendall(part)
            time.sleep(0.05)
        if until is not None:
            until.wait(20)


class _Quiet(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_run_that_needs_more_processors_than_this_machine_has_is_refused() -> None:
    pytest.importorskip("ray")
    with pytest.raises(ClusterError, match=r"a run shall have 4096\. Hint: lower --cpus-per-run"):
        executor_named("ray", cpus=4096)


class TestWhatNoClusterHas:
    """It is refused before a cluster is looked for, which takes seconds to start."""

    @pytest.fixture(autouse=True)
    def _no_cluster(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("ray")
        for name in ("_start", "_join"):
            monkeypatch.setattr(ray_cluster, name, lambda *arguments: pytest.fail("a cluster was looked for"))

    @pytest.mark.parametrize("address", ["", "node1:6379"])
    @pytest.mark.parametrize(
        "hardware",
        [Hardware(devices=0), Hardware(nodes=-1), Hardware("tpu"), Hardware(precision="8"), Hardware(precision="16")],
        ids=repr,
    )
    def test_hardware(self, hardware: Hardware, address: str) -> None:
        with pytest.raises(InputError):
            executor_named("ray", address=address, hardware=hardware)

    def test_a_device_that_the_machine_of_its_own_cluster_does_not_have(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(InputError, match="The device cuda was asked for"):
            executor_named("ray", hardware=Hardware("cuda"))

    @pytest.mark.parametrize("asked", [{"cpus": 0.0}, {"cpus": math.nan}, {"gpus": -1.0}, {"gpus": math.nan}], ids=str)
    def test_processors(self, asked: dict[str, float]) -> None:
        with pytest.raises(InputError, match=r"A run needs processors, got --cpus-per-run .*Hint"):
            executor_named("ray", address="node1:6379", **asked)


class TestFolderOfClaims:
    @pytest.mark.parametrize("error", [FileNotFoundError, FileExistsError])
    def test_one_that_another_command_removes_is_made_again(
        self, error: type[OSError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write, lost = claims.write_whole, [True, True]

        def removed_meanwhile(path: Path, content: bytes) -> None:
            if lost:
                lost.pop()
                raise error(2, "while the folder was made", str(path))
            write(path, content)

        monkeypatch.setattr(claims, "write_whole", removed_meanwhile)
        with Claims(tmp_path) as ours:
            assert ours.take("run")
        assert not lost

    def test_one_that_cannot_be_made_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "claims").write_text("a file in the place of the folder")
        with pytest.raises(DataError, match=r"Nothing can be written to .*claims"), Claims(tmp_path):
            pass
