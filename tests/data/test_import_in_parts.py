"""Releases of many files are read in parts: by several processes as by one, and no file twice after a stop."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adacanon.cli import main
from adacanon.data import official_modelnet, official_qm9, official_shapenet
from adacanon.data.importing import import_folder
from adacanon.errors import DataError
from adacanon.runs.executors import LocalProcesses
from adacanon.runs.executors.executor import calls_on
from cases.official_folders import resampled, shapenet
from cases.official_molecules import official as molecules

RELEASES: dict[str, Callable[[Path], Path]] = {
    "modelnet": resampled,
    "shapenet": lambda folder: (folder.mkdir(), shapenet(folder))[1],  # type: ignore[func-returns-value]
    "qm9": partial(molecules, count=9),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
    for module, size in ((official_modelnet, 12), (official_shapenet, 5), (official_qm9, 4)):
        monkeypatch.setattr(module, "PART", size)
    monkeypatch.setattr(official_qm9, "read_qm9", partial(official_qm9.read_qm9, validation=1, test=2))


class StoppedError(Exception):
    """Somebody has stopped the import."""


class Counted:
    """Calls functions here, writes down which files they were given, and stops before the call of a number."""

    def __init__(self, stop: int = 1000) -> None:
        self.stop, self.files = stop, list[list[str]]()

    def __call__(self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for files, *others in calls:
            if len(self.files) == self.stop:
                raise StoppedError
            self.files.append([file.name for file in files])
            yield function(files, *others)


def arrays(file: Path) -> dict[str, np.ndarray]:
    with np.load(file) as archive:
        return {key: archive[key] for key in archive.files}


def parts(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache").rglob("import-*"))


def assert_equal(ours: Path, theirs: Path) -> None:
    one, other = arrays(ours), arrays(theirs)
    assert list(one) == list(other)
    for key, values in one.items():
        assert values.dtype == other[key].dtype
        np.testing.assert_array_equal(values, other[key])


@pytest.mark.parametrize("release", RELEASES)
def test_parts_are_as_good_as_the_whole(release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RELEASES[release](tmp_path / "official")
    in_parts = import_folder(folder, tmp_path / "parts", points=5)
    for module in (official_modelnet, official_shapenet, official_qm9):
        monkeypatch.setattr(module, "PART", 1000)
    assert_equal(in_parts.file, import_folder(folder, tmp_path / "whole", points=5).file)
    assert not parts(tmp_path)


def test_processes_import_what_one_process_imports(tmp_path: Path) -> None:
    folders = {release: make(tmp_path / release) for release, make in RELEASES.items()}
    with LocalProcesses(2) as executor:
        for release, folder in folders.items():
            done = import_folder(folder, tmp_path / "two" / release, points=5, in_order=calls_on(executor))
            assert_equal(done.file, import_folder(folder, tmp_path / "one" / release, points=5).file)
    assert not parts(tmp_path)


@pytest.mark.parametrize("release", RELEASES)
def test_an_import_that_is_stopped_goes_on_and_reads_each_part_once(release: str, tmp_path: Path) -> None:
    folder = RELEASES[release](tmp_path / "official")
    before, after, told = Counted(stop=2), Counted(), list[tuple[int, int]]()
    with pytest.raises(StoppedError):
        import_folder(folder, tmp_path / "data", points=5, in_order=before)
    assert len(parts(tmp_path)) == 2
    done = import_folder(
        folder, tmp_path / "data", points=5, in_order=after, on_progress=lambda *step: told.append(step)
    )
    names = [name for part in before.files + after.files for name in part]
    assert len(names) == len(set(names)) == told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert not parts(tmp_path)
    assert_equal(done.file, import_folder(folder, tmp_path / "anew", points=5).file)


def test_a_file_that_was_changed_meanwhile_is_read_anew(tmp_path: Path) -> None:
    folder, after = molecules(tmp_path / "official", count=9), Counted()
    with pytest.raises(StoppedError):
        import_folder(folder, tmp_path / "data", in_order=Counted(stop=2))
    changed = folder / "dsgdb9nsd_000006.xyz"
    time = changed.stat().st_mtime_ns
    changed.write_text(changed.read_text().replace("0.9775", "0.9776"))
    os.utime(changed, ns=(time + 1000, time + 1000))
    done = import_folder(folder, tmp_path / "data", in_order=after)
    assert [[int(name[10:16]) for name in part] for part in after.files] == [[5, 6, 7, 8], [9]]
    assert np.float32(0.9776) in arrays(done.file)["positions"]
    assert not parts(tmp_path)


@pytest.mark.parametrize("other", ["another folder", "another number of points"])
def test_parts_of_another_import_are_left_alone(other: str, tmp_path: Path) -> None:
    folder, after = resampled(tmp_path / "official"), Counted()
    with pytest.raises(StoppedError):
        import_folder(folder, tmp_path / "data", points=5, in_order=Counted(stop=2))
    kept = parts(tmp_path)
    second = resampled(tmp_path / "copy") if other == "another folder" else folder
    import_folder(second, tmp_path / "data", points=5 if other == "another folder" else 4, in_order=after)
    assert sum(map(len, after.files)) == 80
    assert parts(tmp_path) == kept


def test_a_damaged_part_is_set_aside_and_read_again(tmp_path: Path) -> None:
    folder, after = molecules(tmp_path / "official", count=9), Counted()
    with pytest.raises(StoppedError):
        import_folder(folder, tmp_path / "data", in_order=Counted(stop=2))
    content = parts(tmp_path)[0].read_bytes()
    parts(tmp_path)[0].write_bytes(content[:200] + b"x" + content[201:])
    with pytest.warns(UserWarning, match="cannot be used"):
        done = import_folder(folder, tmp_path / "data", in_order=after)
    assert [len(part) for part in after.files] == [4, 1]
    assert_equal(done.file, import_folder(folder, tmp_path / "anew").file)


def test_a_faulty_file_is_named_wherever_it_is_read(tmp_path: Path) -> None:
    folder = molecules(tmp_path / "official", count=9)
    (folder / "dsgdb9nsd_000007.xyz").write_text("5\n")
    with LocalProcesses(2) as executor:
        for in_order in (starmap, calls_on(executor)):
            with pytest.raises(DataError, match=re.escape(f"{folder / 'dsgdb9nsd_000007.xyz'}: expected the layout")):
                import_folder(folder, tmp_path / "data", in_order=in_order)
    assert [file.name.split("-")[-2] for file in parts(tmp_path)] == ["0"]


def test_the_command_imports_with_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = resampled(tmp_path / "official")
    words = ["data", "import", str(folder), "--points", "5", "--output"]
    assert main([*words, str(tmp_path / "two"), "--jobs", "2"]) == 0
    assert "40 train, 40 test shapes" in capsys.readouterr().out
    assert main([*words, str(tmp_path / "one")]) == 0
    one, two = (next((tmp_path / name).rglob("*.npz")) for name in ("one", "two"))
    assert_equal(one, two)


def test_options_of_clusters_need_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "import", str(tmp_path), "--output", str(tmp_path), "--address", "node1:6379"]) != 0
    assert "--executor ray" in capsys.readouterr().err
