"""Committed records under new names: keys follow from content, nothing is lost, and figures stay as they are."""

import json
from pathlib import Path

import pytest
from benchmarks.records import compare
from benchmarks.records.carry_over import RENAMES, Renames, carried_over, carry_over_records, rewrite
from benchmarks.records.carry_over import carry_over_published as published

from adacanon.runs.run import Run
from adacanon.training.records import Record, append_record, read_records

RESULTS = Path(__file__).parents[2] / "results"
NEW = Renames(
    tables={"old": "new"},
    rows={"A": "B"},
    table_rows={"new": {"C": "D"}},
    settings={"draws": "candidates"},
    values={"Search(samples=3)": {"candidates": 3}},
)


def record_of(table: str, row: str, settings: dict, **others: str) -> Record:
    run = Run.of(table, row, "accuracy", 0, settings)
    named = {"key": run.key, "table": table, "row": row, "column": "accuracy", "split": 0, "settings": settings}
    return {**named, "metrics": {"accuracy": 50.0}, **others}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    source = record_of("base", "A", {"draws": 3})
    append_record(tmp_path / "base.jsonl", source)
    append_record(tmp_path / "base.jsonl", record_of("base", "C", {"epochs": 2}))
    settings = {"method": "A", "network": {"draws": 3}, "search": "Search(samples=3)"}
    append_record(tmp_path / "old.jsonl", record_of("old", "C", settings, taken_over_from=source["key"]))
    return tmp_path


def test_names_change_and_keys_follow(results: Path) -> None:
    untouched = (results / "base.jsonl").read_text().splitlines()[1]
    assert carry_over_records(results, NEW) == 2
    base, other = read_records(results / "base.jsonl")
    assert base == record_of("base", "B", {"candidates": 3})
    assert (results / "base.jsonl").read_text().splitlines()[1] == untouched
    assert other["row"] == "C"  # a row of another table
    (record,) = read_records(results / "new.jsonl")
    settings = {"method": "B", "network": {"candidates": 3}, "search": {"candidates": 3}}
    assert record == record_of("new", "D", settings, taken_over_from=base["key"])
    assert not (results / "old.jsonl").exists()


def test_a_second_call_changes_nothing(results: Path) -> None:
    carry_over_records(results, NEW)
    before = {file.name: file.read_bytes() for file in results.iterdir()}
    assert carry_over_records(results, NEW) == 0
    assert {file.name: file.read_bytes() for file in results.iterdir()} == before


def test_other_files_keep_their_form(tmp_path: Path) -> None:
    file = tmp_path / "published.json"
    file.write_text(json.dumps({"old": {"C": {"x": [1.0]}}, "base": {"A": {}, "C": {}}}, indent=1) + "\n")
    assert rewrite(file, published, NEW)
    assert file.read_text() == json.dumps({"new": {"D": {"x": [1.0]}}, "base": {"B": {}, "C": {}}}, indent=1) + "\n"
    assert not rewrite(file, published, NEW)
    assert not rewrite(tmp_path / "absent.json", published, NEW)


def test_the_key_of_every_committed_record_follows_from_its_content() -> None:
    records = [record for file in RESULTS.glob("*.jsonl") for record in read_records(file)]
    assert len(records) > 2000
    assert [record["key"] for record in records if carried_over(record, Renames())["key"] != record["key"]] == []


def test_the_committed_records_have_their_new_names() -> None:
    records = [record for file in RESULTS.glob("*.jsonl") for record in read_records(file)]
    assert [record["key"] for record in records if carried_over(record, RENAMES) != record] == []
    assert {record["table"] for file in RESULTS.glob("*.jsonl") for record in read_records(file)} == {
        file.stem for file in RESULTS.glob("*.jsonl")
    }


class TestComparison:
    def test_new_tables_and_rows_are_named_and_not_compared(self) -> None:
        before = {"t": {"cpu": {"A": {"x": {"mean": 1.0}}}}}
        now = {"t": {"cpu": {"A": {"x": {"mean": 1.0}}, "B": {"x": {"mean": 2.0}}}}, "u": {"cpu": {}}}
        assert list(compare.differences(before, compare.known_rows(before, now))) == []
        assert compare.new_rows(before, now) == ["u", "t: B"]
        gone = {"t": {"cpu": {"B": {"x": {"mean": 2.0}}}}}
        assert list(compare.differences(before, compare.known_rows(before, gone)))

    def test_every_figure_that_differs_is_named(self) -> None:
        before = {"tu": {"cpu": {"GIN": {"MUTAG": {"mean": 80.0, "n": 3}}}}}
        after = {"tu": {"cpu": {"GIN": {"MUTAG": {"mean": 80.5, "n": 3}}, "GCN": {}}}}
        assert list(compare.differences(before, before)) == []
        assert list(compare.differences(before, after)) == [
            "tu / cpu / GIN / MUTAG / mean: 80.0 before, 80.5 now",
            "tu / cpu / GCN: absent before, {} now",
        ]
        assert compare.figures(before) == 2

    def test_names_are_carried_over_first(self) -> None:
        before = {"old": {"cpu": {"C": {"x": {"n": 1}}}}, "base": {"cpu": {"A": {}, "C": {}}}}
        expected = {"new": {"cpu": {"D": {"x": {"n": 1}}}}, "base": {"cpu": {"B": {}, "C": {}}}}
        assert compare.renamed(before, NEW) == expected

    @pytest.mark.parametrize("change", [0.0, 1.0])
    def test_it_fails_if_and_only_if_a_figure_differs(
        self, change: float, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        figures = {"tu": {"cpu": {"GIN": {"MUTAG": {"mean": 80.0}}}}}
        now = {"tu": {"cpu": {"GIN": {"MUTAG": {"mean": 80.0 + change}}}}}
        monkeypatch.setattr(compare, "reports_at", lambda revision: figures)
        monkeypatch.setattr(compare, "reports_in", lambda folder: now)
        assert compare.main(["--before", "HEAD"]) == (change > 0)
        assert f"1 figures of 1 tables compared, {int(change)} differ" in capsys.readouterr().out
