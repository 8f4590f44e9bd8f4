"""A results folder that cannot be used: the command names it before anything is trained."""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adacanon.cli import main
from adacanon.experiments.catalogue import TABLES
from adacanon.runs import tuning
from adacanon.runs.executors import Executor, ThisProcess
from adacanon.runs.run import Run, TrainingControl
from cases.full_disk import files_limited_to
from cases.tiny_table import TINY
from cases.unprivileged import without_privileges


def never(run: Run, control: TrainingControl) -> dict[str, float]:
    pytest.fail("trained, and its record cannot be kept")


def unprepared(runs: list[Run], *, executor: Executor, show: bool) -> None:
    pytest.fail("prepared, and no record can be kept")


COMMANDS = [["run", "tiny"], ["tune", "tiny", "--trials", "2"]]


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    table = replace(TINY, execute=never, prepare=unprepared, search_space=lambda row: {"learning_rate": [0.1, 0.01]})
    monkeypatch.setitem(TABLES, "tiny", table)


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that everybody can reach, other than those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o555)
        yield Path(name)


@pytest.mark.parametrize("words", COMMANDS)
class TestUnusable:
    def refused(self, words: list[str], results: Path, capsys: pytest.CaptureFixture[str]) -> str:
        assert main([*words, "--results", str(results)]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"DataError: Records cannot be written to {results}")
        assert "nothing was trained. Hint: make room on the disk, or name another folder with --results" in told
        return told

    def test_a_file_in_its_place(self, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "results").write_text("a file")
        self.refused(words, tmp_path / "results", capsys)

    def test_one_that_may_not_be_written(
        self, words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with without_privileges():
            assert "Permission denied" in self.refused(words, folder, capsys)
        assert list(folder.iterdir()) == []

    def test_a_full_disk(self, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with files_limited_to(1000):
            self.refused(words, tmp_path, capsys)


def test_a_study_that_is_stopped_leaves_no_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: object) -> None:
        assert list((tmp_path / "claims").iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning, "progress_line", stop)
    table = replace(TABLES["tiny"], execute=TINY.execute, prepare=None)
    with pytest.raises(KeyboardInterrupt) as stopped:
        tuning.tune(table, ("A",), ("accuracy",), tmp_path / "tiny-tuning.jsonl", executor=ThisProcess(), trials=2)
    assert not (tmp_path / "claims").exists(), stopped  # what was raised still knows the frames in which it was
    assert len([json.loads(line) for line in (tmp_path / "tiny-tuning.jsonl").read_text().splitlines()]) == 1


def test_a_report_that_cannot_be_written_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with without_privileges():
        assert main(["report", "tiny", "--results", str(folder), "--output", str(folder / "tiny.html")]) == 2
    assert capsys.readouterr().err.startswith(f"DataError: Reports cannot be written to {folder}/tiny.html (Permission")
    assert list(folder.iterdir()) == []
