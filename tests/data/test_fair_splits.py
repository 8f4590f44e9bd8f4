"""Published folds: read as they are, refused when they do not divide the graphs."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from adacanon.data.fair_splits import load_fair_splits, read_fair_splits
from adacanon.errors import DataError


def fold(test: list[int], train: list[int], validation: list[int]) -> dict[str, Any]:
    return {"test": test, "model_selection": [{"train": train, "validation": validation}]}


GOOD = [fold([0, 1], [2, 4], [3]), fold([2, 3, 4], [0], [1])]


def written(tmp_path: Path, content: Any) -> Path:
    file = tmp_path / "folds.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_folds_are_read_as_they_are(tmp_path: Path) -> None:
    first, second = read_fair_splits(written(tmp_path, GOOD), graphs=5)
    assert first.train.tolist() == [2, 4]
    assert first.validation.tolist() == [3]
    assert second.test.tolist() == [2, 3, 4]


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ([fold([0, 1], [1, 2, 4], [3]), GOOD[1]], "fold 0: expected every graph 0..4 once"),
        ([GOOD[0], fold([2, 3], [0, 4], [1])], "all test parts"),
        ([GOOD[0], fold([2, 3, 5], [0], [1])], "fold 1"),
        ([{"test": [0]}], "model_selection"),
        ("no json", "expected a list of folds"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: Any, match: str) -> None:
    with pytest.raises(DataError, match=match):
        read_fair_splits(written(tmp_path, content), graphs=5)


def test_missing_folds_say_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
    with pytest.raises(DataError, match="gnn-comparison"):
        load_fair_splits("NCI1", graphs=4110)
    (tmp_path / "TUDataset" / "fair_splits").mkdir(parents=True)
    (tmp_path / "TUDataset" / "fair_splits" / "NCI1_splits.json").write_text(json.dumps(GOOD))
    assert torch.equal(load_fair_splits("NCI1", graphs=5)[0].test, torch.tensor([0, 1]))
