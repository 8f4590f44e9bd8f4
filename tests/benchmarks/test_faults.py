"""Work that meets a fault goes on to the same result; the whole campaign is ``python -m benchmarks.speed.faults``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.speed.faults import DISKS, KILLS, cases


def test_caches_survive_every_kind_of_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own: it forks, which a process with threads should not."""
    monkeypatch.setenv("PYTHONPATH", ":".join(sys.path))
    file = tmp_path / "faults.json"
    words = ["--threads", "1", "--kills", "12", "--disks", "8", "--works", "caches", "--json", str(file)]
    subprocess.run([sys.executable, "-m", "benchmarks.speed.faults", *words], check=True, stdout=subprocess.DEVNULL)
    rows = json.loads(file.read_text())["rows"]
    assert {row["fault"] for row in rows} == {*KILLS, *DISKS}
    assert all(row["identical"] == row["faults"] == 1 for row in rows)


def test_a_campaign_has_as_many_faults_as_asked_for() -> None:
    assert len(cases(100, 32)) == 132
    assert {fault for _, fault in cases(100, 0)} == set(KILLS)


def test_the_committed_campaign_had_a_hundred_kills_and_identical_results() -> None:
    rows = json.loads((Path(__file__).parents[2] / "results" / "benchmarks" / "faults.json").read_text())["rows"]
    assert sum(row["faults"] for row in rows if row["fault"] in KILLS) == 100
    assert all(row["identical"] == row["faults"] for row in rows)
