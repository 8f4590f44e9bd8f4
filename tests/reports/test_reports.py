"""From records to figures and pages; what is committed belongs to the tables as they are."""

import math
from pathlib import Path

import pytest

from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.reports.render import lines, to_html, to_markdown
from adacanon.reports.summary import Summary, summarise
from adacanon.reports.terminal import show_summary
from adacanon.runs.run import Run
from adacanon.training.records import Record, read_records

RESULTS = Path(__file__).parents[2] / "results"


class TestReports:
    records = tuple(
        {"row": "A", "column": "x", "metrics": {"accuracy": value, "epochs": 100.0}, "seconds": 3600}
        for value in (90.0, 92.0, 97.0)
    )

    def summary(self, extra_metrics: tuple[tuple[str, str], ...] = ()) -> Summary:
        expected = {("A", "x"): 3, ("<B>", "x"): 1}
        return summarise(
            "Title", self.records, expected=expected, published={"A": {"x": [95.0, 0.5]}}, extra_metrics=extra_metrics
        )

    def test_figures_are_means_deviations_and_standard_errors(self) -> None:
        cell = self.summary().cells["A"]["x"]
        assert cell.mean == pytest.approx(93.0)
        assert cell.std == pytest.approx(math.sqrt(13))
        assert cell.sem == pytest.approx(math.sqrt(13 / 3))
        assert cell.difference == pytest.approx(-2.0)
        assert self.summary().hours == 3

    def test_figures_of_another_task_are_not_subtracted(self) -> None:
        paper = {"A": {"x": [95.0, 0.5]}}
        summary = summarise("Title", self.records, expected={("A", "x"): 3}, published=paper, comparable=False)
        assert summary.cells["A"]["x"].paper == 95.0
        assert summary.cells["A"]["x"].difference is None
        for name in ("modelnet", "modelnet-z", "modelnet-backbones", "shapenet"):
            row = TABLES[name].row_names[0]
            cpu, whole = (TABLES[name].settings_of(row, "", preset) for preset in ("cpu", "paper"))
            assert [TABLES[name].comparable(options) for options in (cpu, whole)] == [False, True]

    def test_further_metrics_are_means_under_their_headings(self) -> None:
        summary = self.summary(extra_metrics=(("epochs", "epochs"), ("unknown", "not there")))
        headings, *rows = lines(summary)
        assert headings[-2:] == ("runs", "epochs")
        assert [row[-1] for row in rows] == ["100.00", "–"]

    def test_fields_that_no_cell_has_are_left_out(self) -> None:
        records = [{"row": "A", "column": "x", "metrics": {"accuracy": 1.0}, "seconds": 1}]
        summary = summarise("Title", records, expected={("A", "x"): 1}, published={}, extra_metrics=(("loss", "loss"),))
        assert lines(summary) == (("method", "ours", "runs"), ("A", "1.00", "1/1"))
        empty = summarise("Title", [], expected={("A", "x"): 1, ("A", "y"): 1}, published={})
        assert lines(empty)[0] == ("method", "column", "ours", "runs")

    @pytest.mark.parametrize("width", [60, 80, 200])
    def test_every_figure_is_legible_on_a_narrow_terminal(
        self, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", str(width))
        extra_metrics = tuple((f"m{i}", f"metric {i}") for i in range(9))
        name = "A method with a long name"
        metrics = {"accuracy": 93.25, **{f"m{i}": i + 0.25 for i in range(9)}}
        records = [{"row": name, "column": "x", "metrics": metrics, "seconds": 1}]
        show_summary(summarise("Title", records, expected={(name, "x"): 1}, published={}, extra_metrics=extra_metrics))
        printed = capsys.readouterr().out
        assert all(f" {value:.2f} " in printed for value in metrics.values())
        assert all(heading in printed for _, heading in extra_metrics)
        assert printed.count(name) == {60: 5, 80: 3, 200: 1}[width]
        assert max(map(len, printed.splitlines())) <= width

    @pytest.mark.parametrize("width", [60, 80])
    def test_long_names_are_folded_and_figures_are_not(
        self, width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", str(width))
        row, columns = "a row whose name is longer than half of a narrow terminal", ("a column", "another one")
        records = [{"row": row, "column": c, "metrics": {"accuracy": 93.25}, "seconds": 1} for c in columns]
        show_summary(summarise("Title", records, expected=dict.fromkeys(((row, c) for c in columns), 1), published={}))
        printed = capsys.readouterr().out
        assert printed.count(" 93.25 ") == 2
        assert "…" not in printed
        assert max(map(len, printed.splitlines())) <= width

    @pytest.mark.parametrize(
        ("value", "shown"), [(93.0, "93.00"), (0.5, "0.50"), (0.0217, "0.022"), (1e-9, "0.00"), (68691.0, "68,691")]
    )
    def test_small_figures_show_two_digits_and_large_ones_no_decimals(self, value: float, shown: str) -> None:
        records = [{"row": "A", "column": "x", "metrics": {"accuracy": value}, "seconds": 1}]
        _, row = lines(summarise("Title", records, expected={("A", "x"): 1}, published={}))
        assert row[1] == shown

    def test_json_has_the_promised_shape(self) -> None:
        found = self.summary(extra_metrics=(("epochs", "epochs run"),)).as_json()
        assert set(found["A"]["x"]) == {"paper", "mean", "std", "sem", "n", "expected", "epochs run"}
        nothing = dict.fromkeys(("paper", "mean", "std", "sem", "epochs run"))
        assert found["<B>"]["x"] == {**nothing, "n": 0, "expected": 1}

    def test_missing_runs_are_named_in_every_format(self) -> None:
        assert "<B> / x: 0 of 1" in to_markdown(self.summary())
        page = to_html(self.summary())
        assert "&lt;B&gt; / x: 0 of 1" in page
        assert "<B>" not in page

    def test_links_and_code_of_notes_work_on_pages(self) -> None:
        note = "How it was chosen is in [clouds](../docs/clouds.md), 2 < 3; `adacanon run <table>` makes it."
        page = to_html(summarise("Title", [], expected={}, published={}, notes=(note,)))
        assert '<a href="../docs/clouds.md">clouds</a>, 2 &lt; 3; <code>adacanon run &lt;table&gt;</code>' in page


class TestPublished:
    def test_the_papers_figures_are_found_by_table_row_and_column(self) -> None:
        assert TABLES["toy"].published["A-NLSF"]["accuracy"] == [99.38, 0.2]
        assert TABLES["tu"].published["A-NLSF"]["MUTAG"] == [87.94, 0.9]
        assert TABLES["toy-strict"].published == {}

    @pytest.mark.parametrize("name", list(TABLES))
    def test_the_papers_columns_are_columns_of_the_table(self, name: str) -> None:
        columns = {column for row in TABLES[name].published.values() for column in row}
        assert columns <= set(TABLES[name].columns)


def committed(pattern: str) -> list[str]:
    return sorted(file.stem for file in RESULTS.glob(pattern))


def rebuilt(record: Record) -> Run:
    return Run.of(record["table"], record["row"], record["column"], record["split"], record["settings"])


class TestCommittedResults:
    def test_some_results_are_committed_and_all_belong_to_a_table(self) -> None:
        names = committed("*.jsonl")
        assert names
        assert {name.removesuffix("-tuning") for name in names} <= set(TABLES)

    @pytest.mark.parametrize("name", committed("*.jsonl"))
    def test_every_key_is_that_of_its_record_and_there_is_one_record_each(self, name: str) -> None:
        records = read_records(RESULTS / f"{name}.jsonl")
        assert records
        assert [record["key"] for record in records] == [rebuilt(record).key for record in records]
        assert {record["table"] for record in records} == {name}
        assert len({record["key"] for record in records}) == len(records)

    @pytest.mark.parametrize("name", [name for name in TABLES if (RESULTS / f"{name}.jsonl").exists()])
    def test_every_committed_record_belongs_to_a_run_of_its_table(self, name: str) -> None:
        table = table_named(name, RESULTS)
        keys = {run.key for preset in table.presets for run in table.runs(preset=preset)}
        assert {record["key"] for record in read_records(RESULTS / f"{name}.jsonl")} <= keys
