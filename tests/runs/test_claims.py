"""Claims on runs: one command at a time trains a run, and what a dead command has claimed is taken over."""

import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from adacanon.errors import DataError
from adacanon.runs.claims import Claims
from adacanon.runs.claims.claims import _linked
from adacanon.runs.claims.owner import Owner
from adacanon.runs.executors import executor_named
from adacanon.runs.fleet import Fleet, Listed, check_writable
from adacanon.runs.run import Run
from adacanon.training.loop import TrainingControl
from adacanon.training.records import read_records

RUNS = [Run.of("tiny", "row", "column", split, {}) for split in range(4)]


def stranger() -> Owner:
    """A command on another machine, of which nothing is heard."""
    return Owner("0" * 32, "elsewhere", "another machine", 1, "1")


def test_a_claim_goes_to_the_next_once_it_is_given_back(tmp_path: Path) -> None:
    with Claims(tmp_path) as ours, Claims(tmp_path) as theirs:
        assert ours.take("run")
        assert not theirs.take("run")
        ours.release("run")
        assert theirs.take("run")
        assert not ours.take("run")
    assert not (tmp_path / "claims").exists()


def test_a_silent_owner_elsewhere_is_waited_for_and_then_replaced(tmp_path: Path) -> None:
    with Claims(tmp_path, stale_after=0.2) as ours:
        _linked(tmp_path / "claims" / "run.0.claim", stranger())
        assert not ours.take("run")
        time.sleep(0.25)
        assert ours.take("run")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"{}", b'{"token": 3}', b"\xff\xfe"], ids=repr)
def test_a_damaged_claim_is_waited_for_and_then_replaced(content: bytes, tmp_path: Path) -> None:
    with Claims(tmp_path, stale_after=0.2) as ours:
        (tmp_path / "claims" / "run.0.claim").write_bytes(content)
        assert not ours.take("run")
        time.sleep(0.25)
        assert ours.take("run")


def test_a_copy_of_a_claim_is_none(tmp_path: Path) -> None:
    with Claims(tmp_path) as ours:
        _linked(tmp_path / "claims" / "run.0.copy.claim", stranger())
        assert ours.take("run")


def test_an_owner_that_counts_keeps_its_claim(tmp_path: Path) -> None:
    with Claims(tmp_path, stale_after=0.3) as ours:
        _linked(tmp_path / "claims" / "run.0.claim", stranger())
        for count in range(4):
            (tmp_path / "claims" / f"{stranger().token}.owner").write_text(str(count))
            assert not ours.take("run")
            time.sleep(0.15)


def test_a_dead_owner_on_this_machine_is_replaced_at_once(tmp_path: Path) -> None:
    code = "import sys, os; from pathlib import Path; from adacanon.runs.claims import Claims\n"
    code += "Claims(Path(sys.argv[1])).__enter__().take('run'); os._exit(9)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert (tmp_path / "claims" / "run.0.claim").exists()
    with Claims(tmp_path) as ours:
        assert ours.take("run")


def test_two_commands_share_the_runs_of_a_table(tmp_path: Path) -> None:
    file, trained = tmp_path / "tiny.jsonl", []

    def training(run: Run, control: TrainingControl) -> dict[str, float]:
        trained.append(run.key)
        time.sleep(0.05)
        return {"accuracy": float(run.split), "seconds": 0.05}

    def command() -> None:
        with executor_named() as executor:
            ended.append(len(list(Fleet(training, file, executor).outcomes(Listed(RUNS)))))

    ended: list[int] = []
    commands = [Thread(target=command) for _ in range(2)]
    for thread in commands:
        thread.start()
    for thread in commands:
        thread.join()
    assert ended == [4, 4]
    assert sorted(trained) == sorted(run.key for run in RUNS)
    assert sorted(record["key"] for record in read_records(file)) == sorted(run.key for run in RUNS)


def test_who_is_waited_for_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Claims(tmp_path), executor_named("local", jobs=1) as executor:
        for run in RUNS:
            _linked(tmp_path / "claims" / f"{run.key}.0.claim", stranger())
        fleet = Fleet(lambda run, control: {}, tmp_path / "tiny.jsonl", executor)
        fleet.waiting.extend(RUNS)
        with Claims(tmp_path) as ours:
            assert fleet._ended(ours) == fleet._ended(ours) == []
    assert capsys.readouterr().err == "Waiting for runs that process 1 on elsewhere has claimed\n"


def test_a_results_folder_that_cannot_be_written_is_noticed_first(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file in the place of the folder")
    with pytest.raises(DataError, match="nothing was trained"):
        check_writable(tmp_path / "results" / "tiny.jsonl")


def test_an_address_without_a_cluster_is_named_quickly() -> None:
    pytest.importorskip("ray")
    from adacanon.runs.executors.ray_cluster import ClusterError

    started = time.monotonic()
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1:1"), executor_named("ray", address="127.0.0.1:1"):
        pass
    assert time.monotonic() - started < 60
