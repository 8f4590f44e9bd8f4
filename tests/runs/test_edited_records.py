"""Records that somebody edited: figures do not move to another cell, and what is missing is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from adacanon.errors import DataError
from adacanon.reports.summary import figure_of
from adacanon.runs.run import Run, missing, relevant

RUN = Run("tiny", "A", "accuracy", 0, '{"epochs": 2}')
RECORD = {"key": RUN.key, "row": "A", "column": "accuracy", "split": 0, "metrics": {"accuracy": 1.0}, "seconds": 1.0}


def written(folder: Path, **changes: Any) -> Path:
    file = folder / "tiny.jsonl"
    file.write_text(json.dumps({**RECORD, **changes}) + "\n")
    return file


def test_a_record_as_it_was_written_is_read(tmp_path: Path) -> None:
    assert relevant([RUN], written(tmp_path)) == [RECORD]


@pytest.mark.parametrize("changes", [{"row": "B"}, {"column": "loss"}, {"split": 1}, {"metrics": None}, {"row": [1]}])
def test_a_record_of_another_cell_than_its_key_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="must name A, accuracy and split 0"):
        relevant([RUN], written(tmp_path, **changes))


def test_a_key_that_is_no_text_is_that_of_no_run(tmp_path: Path) -> None:
    assert missing([RUN], written(tmp_path, key=[1])) == [RUN]


@pytest.mark.parametrize("value", [None, "1", True, float("nan"), float("inf"), [1.0]])
def test_a_figure_is_a_finite_number(value: Any) -> None:
    with pytest.raises(DataError, match="must hold 'accuracy' as a finite number"):
        figure_of({"accuracy": value}, "accuracy")
