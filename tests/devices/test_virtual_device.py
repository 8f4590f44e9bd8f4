"""Models follow their inputs to another device: nothing of the CPU is mixed in, answers and gradients stay the same.

All cases run in one process of their own (``run_cases``), because the virtual device changes torch for its process.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

import adacanon
from cases.on_any_device.table import CASES
from cases.on_any_device.wrong_models import WRONG
from cases.virtual_device import TO_CPU
from devices.allowed_copies import allowed_copies, is_allowed

LIBRARY, TESTS = Path(adacanon.__file__).parents[1], Path(__file__).parents[1]
OUTSIDE = "outside the library"
"""What the cases themselves move."""
MODULE = "cases.on_any_device.wrong_models"

FOUND = {
    "MakesATensor": "MixedDevicesError: aten.mm.default expected all tensors on one device",
    "ComputesOnTheCPU": f"copied {TO_CPU} in {MODULE}.ComputesOnTheCPU.transform",
    "ComputesWithNumpy": "RuntimeError: .numpy() is not supported",
    "ReadsNumbers": f"copied {TO_CPU} in {MODULE}.ReadsNumbers.transform",
    "IndexesFromTheCPU": "MixedDevicesError: aten.index.Tensor expected all tensors on one device",
    "IndexesWithAList": "MixedDevicesError: A list is an index on the CPU",
    "DrawsOnTheDevice": "expected a generator of the virtual device",
    "DiffersElsewhere": "['evaluation']: Tensor-likes are not close!",
    "KeepsATensor": "MixedDevicesError: aten.mul.Tensor expected all tensors on one device",
    "AnswersOnTheCPU": "['evaluation'] is on cpu",
}
"""The fault of every wrong model, as it is reported."""


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What every case gave on the virtual device; computed once, also if tests run in several processes."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    lines = folder / "virtual_device.jsonl"
    with FileLock(folder / "virtual_device.lock"):
        if not lines.exists():
            lines.write_text(printed(cache=tmp_path_factory.mktemp("cache")))
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    return {report["case"]: report for report in found}


def printed(*, cache: Path) -> str:
    """The lines of all cases, from a process of their own."""
    path = os.pathsep.join([str(LIBRARY), str(TESTS)])
    environment = {**os.environ, "PYTHONPATH": path, "ADACANON_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "devices.run_cases"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def faults(report: dict[str, Any]) -> list[str]:
    """What differs from the CPU, and copies that are not allowed."""
    allowed = allowed_copies()
    copies = [
        (way, place) for way, place in report["moves"] if place != OUTSIDE and not is_allowed(way, place, allowed)
    ]
    return report["problems"] + [f"copied {way} in {place}" for way, place in copies]


@pytest.mark.parametrize("name", CASES)
def test_the_case_stays_on_its_device_with_the_answers_of_the_cpu(name: str, reports: dict[str, Any]) -> None:
    found = faults(reports[name])
    assert not found, "\n".join([*found, *reports[name].get("traceback", [])])


@pytest.mark.parametrize("name", WRONG)
def test_a_model_that_leaves_its_device_is_caught(name: str, reports: dict[str, Any]) -> None:
    expected = FOUND[name.removeprefix("wrong ")]
    assert any(expected in fault for fault in faults(reports[name]))


def test_every_allowed_copy_is_made_by_some_case(reports: dict[str, Any]) -> None:
    made = {tuple(move) for report in reports.values() for move in report["moves"]}
    allowed = allowed_copies()
    assert allowed
    assert not {one for one in allowed if not any(is_allowed(*copy, {one}) for copy in made)}


def test_every_case_ran(reports: dict[str, Any]) -> None:
    assert set(reports) == set(CASES) | set(WRONG)
    assert len(CASES) > 200
