"""Laws of files that no other test noticed when they were broken (``make mutants``)."""

import os
import warnings
from pathlib import Path

import pytest
import torch

from adacanon import files
from adacanon.training import append_record, load_checkpoint, records, save_checkpoint


class Malicious:
    """Its pickle makes a folder, if anybody executes it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.marker),)


def test_a_checkpoint_that_is_a_program_is_set_aside_and_not_executed(tmp_path: Path) -> None:
    """Also if its checksum is right: who can write the file can compute it."""
    file, marker = tmp_path / "run.pt", tmp_path / "executed"
    save_checkpoint(file, {"model": Malicious(marker)})
    with pytest.warns(UserWarning, match="cannot be used"):
        assert load_checkpoint(file) is None
    assert not marker.exists()
    assert (tmp_path / "run.pt.broken").exists()


def test_a_warning_names_the_line_that_saved_the_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        save_checkpoint(tmp_path / "in the way" / "run.pt", {"weight": torch.zeros(1)})
    assert [Path(one.filename) for one in told] == [Path(__file__)]


def test_a_warning_of_a_torn_line_names_who_called(tmp_path: Path) -> None:
    file = tmp_path / "table.jsonl"
    file.write_text('{"a": 1}\n{"b"')
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        append_record(file, {"a": 2})
    assert [Path(one.filename) for one in told] == [Path(__file__)]


def test_folders_are_forced_to_the_disk_once_and_again_when_they_were_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[Path] = []
    monkeypatch.setattr(files, "sync_folder", forced.append)
    folder = tmp_path / "a" / "b"
    files.make_folder(folder)
    assert {tmp_path, tmp_path / "a"} <= set(forced)
    forced.clear()
    files.make_folder(folder)
    assert forced == []
    folder.rmdir()
    files.make_folder(folder)
    assert tmp_path / "a" in forced


@pytest.mark.parametrize(("status", "said"), [("", "0123456789"), (" M a.py", "0123456789 with changes")])
def test_a_record_says_whether_the_code_differs_from_its_commit(
    status: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "_git", lambda *words: "0123456789" if words[0] == "rev-parse" else status)
    assert records._commit() == said
