"""Records as lines of JSON: torn lines, broken lines, full disks, several writers."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adacanon.errors import DataError
from adacanon.training.records import append_record, read_records
from cases.full_disk import files_limited_to


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "results" / "records.jsonl"


def test_what_was_appended_is_read_back(file: Path) -> None:
    records = [{"a": 1}, {"b": [1.5, None], "c": {"d": "ä"}}]
    assert read_records(file) == []
    for record in records:
        append_record(file, record)
    assert read_records(file) == records


def test_a_torn_last_line_is_set_aside_and_reported(file: Path) -> None:
    append_record(file, {"a": 1})
    with file.open("a") as stream:
        stream.write('{"a": 2')
    with pytest.warns(UserWarning, match="torn"):
        assert read_records(file) == [{"a": 1}]
    with pytest.warns(UserWarning, match="torn"):
        append_record(file, {"a": 3})
    assert file.with_name("records.jsonl.torn").read_text() == '{"a": 2\n'
    assert read_records(file) == [{"a": 1}, {"a": 3}]


def test_a_file_that_holds_nothing_but_a_torn_line_starts_anew(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"a"')
    with pytest.warns(UserWarning, match="torn"):
        append_record(file, {"a": 1})
    assert read_records(file) == [{"a": 1}]


def test_a_broken_line_in_the_middle_names_file_and_line(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"a": 1}\nnot json\n{"a": 2}\n')
    with pytest.raises(DataError, match=r"records.jsonl, line 2"):
        read_records(file)


def test_a_number_that_json_does_not_have_is_refused_before_anything_is_written(file: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        append_record(file, {"a": float("nan")})
    assert not file.exists()


@pytest.mark.parametrize("room", [0, 7])
def test_on_a_full_disk_the_file_stays_as_it_was_and_the_record_is_told(file: Path, room: int) -> None:
    append_record(file, {"a": 1})
    before = file.read_bytes()
    with files_limited_to(len(before) + room), pytest.raises(DataError, match="Hint: make room on the disk") as caught:
        append_record(file, {"a": 2, "long": "x" * 100})
    assert '{"a": 2, "long": "xxx' in str(caught.value)
    assert file.read_bytes() == before
    append_record(file, {"a": 3})
    assert read_records(file) == [{"a": 1}, {"a": 3}]


def test_a_file_in_place_of_the_folder_gets_the_same_error(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("in the way")
    with pytest.raises(DataError, match=r"could not be added to .*results/records.jsonl"):
        append_record(tmp_path / "results" / "records.jsonl", {"a": 1})


def test_writers_side_by_side_neither_tear_nor_lose_lines(file: Path) -> None:
    """Every writer opens the file for itself, as processes do."""
    records = [{"number": number, "long": "x" * 6000} for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda record: append_record(file, record), records))
    assert not file.with_name("records.jsonl.torn").exists()
    assert sorted(read_records(file), key=lambda record: record["number"]) == records
    assert json.loads(file.read_text().splitlines()[0])["long"] == "x" * 6000
