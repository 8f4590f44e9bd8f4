"""What smoke runs came to, in words and as JSON."""

import json
from typing import Any

from adacanon.reports.smoke_report import as_json, by_row, by_table, json_text, notes_of


def trial(row: str, status: str = "ok", megabytes: int = 1024, **other: Any) -> dict[str, Any]:
    found = {"table": "tu", "row": row, "column": "PTC", "status": status, "reason": "", "seconds": 2.0, "steps": 2}
    return {
        **found,
        "processor_seconds": 1.5,
        "megabytes": megabytes,
        "grown": 10,
        "parameters": 1200,
        "notes": (),
    } | other


TRIALS = [trial("GIN"), trial("PNA", megabytes=3072), trial("GCN", "no data", 0), trial("MLP", "failed", 512)]


def test_a_table_is_told_by_its_largest_run_and_says_what_was_not_tried() -> None:
    (row, other) = by_table(TRIALS, {"tu": 9, "toy": 2})
    counts = {"runs": 9, "tried": 4, "starts": 2, "failed": 1, "data not at hand": 1, "stopped": 0}
    assert row == {"table": "tu", **counts, "processor seconds": 6, "peak GB": "3.00", "of": "PNA"}
    assert (other["runs"], other["tried"], other["peak GB"]) == (2, 0, "–")


def test_a_line_has_no_figures_without_data() -> None:
    _, gin, _, gcn, _ = by_row(TRIALS)
    assert gin == ("GIN", "PTC", "starts", "2.0", "1.00", "2", "1,200")
    assert gcn == ("GCN", "PTC", "data not at hand", "–", "–", "–", "–")


def test_the_file_can_be_read_and_has_a_line_for_every_run() -> None:
    machine = {"cpu": "a processor", "threads": 1, "torch": "2"}
    text = json_text(as_json(TRIALS, planned={"tu": 4}, preset="paper", machine=machine))
    found = json.loads(text)
    assert [run["row"] for run in found["runs"]] == ["GIN", "PNA", "GCN", "MLP"]
    assert found["rows"][0]["tried"] == 4
    assert sum(line.startswith('{"table"') for line in text.splitlines()) == 4


def test_notes_are_said_once() -> None:
    assert notes_of([trial("GIN", notes=("points are repeated",)), trial("PNA", notes=("points are repeated",))]) == [
        "tu: points are repeated"
    ]
