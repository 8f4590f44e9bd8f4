"""What was reported as written is there after a loss of power, and what was not is whole or absent."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from benchmarks.speed.power_loss import forgetful_disk, lose_power

from adacanon import files
from adacanon.checked_files import opened_checked, write_checked
from adacanon.files import write_whole
from adacanon.training.checkpoint import load_checkpoint, save_checkpoint
from adacanon.training.records import append_record, read_records


class PowerLossError(BaseException):
    """The machine is off."""


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    (tmp_path / "disk").mkdir()
    return tmp_path / "disk"


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return tmp_path / "memory"


def cut_off(disk: Path, memory: Path, work: Callable[[], object], step: int) -> bool:
    """Lose power at the given call into the system; whether the work was through before it."""
    calls = iter(range(10**6))

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            if next(calls) >= step:
                raise PowerLossError
            return real(*arguments, **options)

        return call

    with forgetful_disk(disk, memory), pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "replace", "rename", "unlink", "mkdir"):
            patch.setattr(os, name, counted(getattr(os, name)))
        try:
            work()
        except PowerLossError:
            done = False
        else:
            done = True
    lose_power(disk, memory)
    files._FORCED.clear()  # the next process has forced nothing
    return done


def moments(disk: Path, memory: Path, work: Callable[[], object]) -> Iterator[bool]:
    """Lose power at the first call, at the second, and so on, until the work is through."""
    for step in range(200):
        done = cut_off(disk, memory, work, step)
        yield done
        if done:
            return
    pytest.fail("the work never ended")


class TestTheModel:
    """It notices what is missing: each of the three steps of a durable replacement."""

    def test_content_that_was_not_forced_is_lost(self, disk: Path, memory: Path) -> None:
        with forgetful_disk(disk, memory):
            (disk / "part").write_bytes(b"new")
            (disk / "part").replace(disk / "file")
            descriptor = os.open(disk, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)
        lose_power(disk, memory)
        assert (disk / "file").read_bytes() == b""

    def test_a_name_that_was_not_forced_is_lost(self, disk: Path, memory: Path) -> None:
        (disk / "file").write_bytes(b"old")
        with forgetful_disk(disk, memory):
            with (disk / "part").open("wb") as stream:
                stream.write(b"new")
                stream.flush()
                os.fsync(stream.fileno())
            (disk / "part").replace(disk / "file")
        lose_power(disk, memory)
        assert (disk / "file").read_bytes() == b"old"
        assert os.listdir(disk) == ["file"]


class TestWrittenWhole:
    def test_a_file_is_the_old_or_the_new_one_at_every_moment_and_the_new_one_at_the_end(
        self, disk: Path, memory: Path
    ) -> None:
        file = disk / "file"
        for done in moments(disk, memory, lambda: write_whole(file, b"new")):
            assert not file.exists() or file.read_bytes() == b"new"
            assert file.exists() or not done
            if not done:
                file.unlink(missing_ok=True)

    def test_the_folders_above_a_new_file_are_there_too(self, disk: Path, memory: Path) -> None:
        file = disk / "one" / "two" / "file"
        for done in moments(disk, memory, lambda: write_whole(file, b"new")):
            assert not file.exists() or file.read_bytes() == b"new"
            assert file.exists() or not done

    def test_a_checksum_comes_with_its_content(self, disk: Path, memory: Path) -> None:
        file = disk / "file"
        for done in moments(disk, memory, lambda: write_checked(file, bytes(5000))):
            if done or file.exists():
                with opened_checked(file) as stream:
                    assert stream.read(5000) == bytes(5000)

    def test_a_checkpoint_that_was_saved_is_loaded(self, disk: Path, memory: Path) -> None:
        file = disk / "checkpoints" / "run.pt"
        for done in moments(disk, memory, lambda: save_checkpoint(file, {"x": torch.ones(3)})):
            state = load_checkpoint(file)
            assert state is not None or not done
            assert state is None or state["x"].tolist() == [1, 1, 1]


class TestRecords:
    def test_a_folder_that_others_have_made_survives_too(self, disk: Path, memory: Path) -> None:
        def work() -> None:
            (disk / "results").mkdir(exist_ok=True)
            append_record(disk / "results" / "table.jsonl", {"key": 1}, once="key")

        for done in moments(disk, memory, work):
            assert read_records(disk / "results" / "table.jsonl") or not done

    def test_a_record_that_was_reported_as_added_is_there(self, disk: Path, memory: Path) -> None:
        file = disk / "results" / "table.jsonl"
        for number in range(3):
            for done in moments(disk, memory, lambda number=number: append_record(file, {"key": number}, once="key")):
                keys = [record["key"] for record in read_records(file)]
                assert keys[:number] == list(range(number))
                assert len(keys) > number or not done
