"""A run that is killed and started again ends with the record of an undisturbed one.

The same on a run of a real table: ``python -m benchmarks.speed.kill_and_resume``.
"""

import sys
from pathlib import Path

import pytest
from benchmarks.speed.kill_and_resume import Comparison, adacanon_run, compare

from cases import tiny_table


def test_kills_at_random_moments_leave_no_trace_in_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    found = compare(lambda results: [sys.executable, str(tiny_table.__file__), str(results)], kills=2)
    assert found.kills >= 1  # on a busy machine a training may end before it is hit
    assert found.agree
    assert found.killed["metrics"]["validation_accuracy"] > 80


def test_records_that_differ_in_more_than_time_do_not_agree() -> None:
    record = {"key": "a", "metrics": {"accuracy": 50.0}, "seconds": 1.0}
    assert Comparison(record, record | {"seconds": 2.0}, 1).agree
    assert not Comparison(record, record | {"metrics": {"accuracy": 51.0}}, 1).agree


def test_the_command_is_one_that_adacanon_understands(tmp_path: Path) -> None:
    words = adacanon_run("tu", "A-NLSF", "MUTAG")(tmp_path)
    assert words[1:5] == ["-m", "adacanon.cli", "run", "tu"]
    assert words[-2:] == ["--results", str(tmp_path)]
