"""One row against the others: differences of pairs, not of means."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from adacanon.cli import main
from adacanon.errors import InputError
from adacanon.reports.paired import compared, comparison_html, comparison_lines, comparison_markdown
from adacanon.reports.terminal import show_comparison
from adacanon.runs.runner import comparison_of
from adacanon.training.records import append_record
from cases.tiny_table import TINY, tiny_run


def record(row: str, split: int, value: float, column: str = "x") -> dict[str, Any]:
    return {"row": row, "column": column, "split": split, "metrics": {"accuracy": value}}


RECORDS = [
    *(record("a", split, value) for split, value in enumerate((50.0, 60.0, 70.0))),
    *(record("b", split, value) for split, value in enumerate((49.0, 58.0, 67.0, 0.0))),
    record("c", 2, 71.0),
    record("c", 0, 5.0, "y"),
]


def test_a_difference_is_the_mean_over_the_splits_that_both_have_with_its_own_error() -> None:
    """The figures of a vary by 10 points, the differences to b by one: 1, 2 and 3."""
    found = compared(RECORDS, "a", ["a", "b", "c", "d"], ["x", "y"]).differences
    mean, sem, pairs, positive = found["b"]["x"]
    assert (mean, pairs, positive) == (2.0, 3, 3)
    assert sem == pytest.approx(1 / math.sqrt(3))
    assert found["c"] == {"x": (-1.0, None, 1, 0)}  # no error from one pair; the column y has no a
    assert list(found) == ["b", "c"]


def test_differences_are_shown_with_their_errors_and_missing_pairs() -> None:
    comparison = compared(RECORDS, "a", ["b", "c"], ["y", "x"], title="A < B")
    lines = (("a minus", "x"), ("b", "+2.00 ± 0.58"), ("c", "-1.00 (1 of 3 pairs)"))
    assert comparison_lines(comparison) == lines
    assert "| b | +2.00 ± 0.58 |" in comparison_markdown(comparison)
    page = comparison_html(comparison)
    assert "A &lt; B" in page
    assert "+2.00 ± 0.58" in page


def test_a_comparison_keeps_its_names_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    columns = [f"data set {i}" for i in range(9)]
    records = [record(row, split, 1.5 * split, column) for row in "ab" for split in range(3) for column in columns]
    show_comparison(compared(records, "a", ["b"], columns, title="Title"))
    printed = capsys.readouterr().out
    assert all(column in printed for column in columns)
    assert printed.count("│ b ") == printed.count("┃ method") > 1


def test_a_row_without_pairs_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tiny.jsonl"
    append_record(file, {**record("A", 0, 1.0, "accuracy"), "key": tiny_run("A", 0).key})
    with pytest.raises(InputError, match=r"B shares no split with another row .* Hint: adacanon run tiny"):
        comparison_of(TINY, TINY.runs(), file, "b")


@pytest.mark.parametrize("format", ["terminal", "markdown", "html", "json"])
def test_the_command_compares_a_row_in_every_format(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    results = Path(__file__).parents[2] / "results"
    assert main(["report", "toy", "--against", "a-nlsf", "--format", format, "--results", str(results)]) == 0
    printed = capsys.readouterr().out
    assert "Gram MLP" in printed
    assert "A-NLSF" in printed
    if format == "json":
        assert json.loads(printed)["Gram MLP"]["accuracy"]["pairs"] == 10
