"""The toy problem, records, reports and the command."""

import json
import math
from pathlib import Path

import pytest
import torch

from adacanon.cli import main
from adacanon.data.grid_orientation import grid_orientation, grid_orientation_strict, torus_edges
from adacanon.errors import DataError, InputError
from adacanon.experiments.run import Run, Table, complete, missing, relevant
from adacanon.experiments.runner import run_missing, summary_of
from adacanon.experiments.tables import TABLES, published
from adacanon.experiments.toy import ROWS, TOY, build, settings, task_coefficients, task_of
from adacanon.reports.render import to_html, to_markdown
from adacanon.reports.summary import summarise
from adacanon.training.loop import accuracy, fit, stratified_folds
from adacanon.training.records import append_record, read_records


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class TestGridOrientation:
    def test_the_torus_is_four_regular_and_undirected(self) -> None:
        edges = torus_edges(5)
        assert torch.bincount(edges[0]).tolist() == [4] * 25
        pairs = set(map(tuple, edges.T.tolist()))
        assert pairs == {(b, a) for a, b in pairs}
        assert len(pairs) == 100

    def test_without_noise_the_signals_are_the_papers(self) -> None:
        task = grid_orientation(10, size=8, period=4, noise=0.0, generator=stream())
        x, y = torch.arange(64) // 8, torch.arange(64) % 8
        left = torch.sin(2 * math.pi * x / 4) * (x < 4)
        along = {0: x, 1: y}
        for signal, label in zip(task.signals, task.labels.tolist(), strict=True):
            torch.testing.assert_close(signal[:, 0], left)
            torch.testing.assert_close(signal[:, 1], torch.sin(2 * math.pi * along[label] / 4) * (x >= 4))

    def test_the_classes_are_balanced_and_the_noise_has_its_deviation(self) -> None:
        task = grid_orientation(400, noise=0.3, generator=stream())
        assert task.labels.double().mean() == 0.5
        clean = grid_orientation(400, noise=0.0, generator=stream())
        left = (task.signals - clean.signals)[:, :800, 0]
        assert abs(float(left.std()) - 0.3) < 0.01
        assert bool((task.signals[:, 800:, 0] == 0).all())

    def test_in_the_strict_task_the_energy_of_each_channel_says_nothing(self) -> None:
        """Without noise, band energies per channel are equal in both classes; in the original task they are not."""
        strict = self.energies(grid_orientation_strict(4, size=24, period=8, noise=0.0, generator=stream()))
        torch.testing.assert_close(strict[0], strict[1], atol=1e-5, rtol=1e-5)
        original = self.energies(grid_orientation(4, size=24, period=12, noise=0.0, generator=stream()))
        assert float((original[0] - original[1]).abs().max()) > 0.1 * float(original.max())

    def test_in_the_strict_task_the_relation_of_the_channels_says_it(self) -> None:
        task = grid_orientation_strict(4, size=24, period=8, noise=0.0, generator=stream())
        grams = task_coefficients(task, 8, 0.5).grams()
        cross = [grams[task.labels == label][0, :, 0, 1] for label in (0, 1)]
        assert float((cross[0] - cross[1]).abs().max()) > 0.1 * float(grams.abs().max())

    @staticmethod
    def energies(task) -> torch.Tensor:  # type: ignore[no-untyped-def]
        grams = task_coefficients(task, 8, 0.5).grams().diagonal(dim1=-2, dim2=-1)
        return torch.stack([grams[task.labels == label][0] for label in (0, 1)])

    def test_windows_that_do_not_fit_are_refused(self) -> None:
        with pytest.raises(InputError, match="do not fit"):
            grid_orientation_strict(4, size=10, period=8, generator=stream())


class TestTraining:
    def test_folds_are_a_partition_with_equal_classes(self) -> None:
        labels = torch.arange(60) % 2
        folds = stratified_folds(labels, 5, generator=stream())
        assert sorted(torch.cat([test for _, test in folds]).tolist()) == list(range(60))
        for train, test in folds:
            assert not set(train.tolist()) & set(test.tolist())
            assert labels[test].double().mean() == 0.5

    @pytest.mark.parametrize("row", ["Energy MLP", "Gram MLP", "A-NLSF"])
    def test_spectral_methods_solve_a_small_toy_problem(self, row: str) -> None:
        run = Run.of("toy", row, "accuracy", 0, settings("toy", row, "demo") | {"samples": 100, "epochs": 12})
        task, options = task_of(run), run.options()
        torch.manual_seed(0)
        train, test = stratified_folds(task.labels, 5, generator=stream())[0]
        learner = build(row, task, options, train=train, seed=0)
        fit(learner, train, epochs=25, batch=20, learning_rate=1e-3, generator=stream())
        assert accuracy(learner, test, task.labels, batch=50) >= 95

    @pytest.mark.parametrize("row", ROWS)
    def test_a_run_gives_the_same_metrics_twice(self, row: str) -> None:
        tiny = {"samples": 20, "size": 8, "period": 4, "folds": 2, "epochs": 1, "hidden": 8}
        run = Run.of("toy", row, "accuracy", 1, settings("toy", row, "demo") | tiny)
        first = TOY.execute(run, lambda epoch, loss: None)
        torch.randn(7)
        assert TOY.execute(run, lambda epoch, loss: None) == first


class TestRecords:
    def test_a_torn_last_line_is_set_aside_and_reported(self, tmp_path: Path) -> None:
        file = tmp_path / "records.jsonl"
        append_record(file, {"a": 1})
        with file.open("a") as stream:
            stream.write('{"a": 2')
        with pytest.warns(UserWarning, match="torn"):
            assert read_records(file) == [{"a": 1}]
        with pytest.warns(UserWarning, match="torn"):
            append_record(file, {"a": 3})
        assert (tmp_path / "records.jsonl.torn").read_text() == '{"a": 2\n'
        assert read_records(file) == [{"a": 1}, {"a": 3}]

    def test_a_broken_line_in_the_middle_names_file_and_line(self, tmp_path: Path) -> None:
        file = tmp_path / "records.jsonl"
        file.write_text('{"a": 1}\nnot json\n{"a": 2}\n')
        with pytest.raises(DataError, match=r"records.jsonl, line 2"):
            read_records(file)

    def test_equal_settings_have_equal_keys_and_any_change_another(self) -> None:
        a = Run.of("toy", "GIN", "accuracy", 0, {"x": 1, "y": 2})
        assert a.key == Run.of("toy", "GIN", "accuracy", 0, {"y": 2, "x": 1}).key
        others = [("toy", "GIN", 1, {"x": 1, "y": 2}), ("toy", "GCN", 0, {"x": 1, "y": 2}), ("toy", "GIN", 0, {"x": 2})]
        assert all(a.key != Run.of(table, row, "accuracy", split, s).key for table, row, split, s in others)


def tiny_table(execute) -> Table:  # type: ignore[no-untyped-def]
    return Table(
        "tiny", "A table", ("A", "B"), ("accuracy",), lambda row: 2, 2, lambda row, preset: {"epochs": 1}, execute
    )


class TestRuns:
    def test_what_has_a_record_is_not_run_again(self, tmp_path: Path) -> None:
        calls: list[str] = []

        def execute(run, on_epoch) -> dict[str, float]:  # type: ignore[no-untyped-def]
            calls.append(run.row)
            return {"accuracy": 50.0 + run.split}

        table, file = tiny_table(execute), tmp_path / "tiny.jsonl"
        runs = table.runs()
        complete(table, runs[0], file)
        assert len(missing(runs, file)) == 3
        assert run_missing(table, runs, file, show=False) == []
        assert run_missing(table, runs, file, show=False) == []
        assert calls == ["A", "A", "B", "B"]
        assert len(relevant(runs[:2], file)) == 2

    def test_a_failing_run_does_not_lose_the_others(self, tmp_path: Path) -> None:
        def execute(run, on_epoch) -> dict[str, float]:  # type: ignore[no-untyped-def]
            if run.row == "A" and run.split == 0:
                raise IndexError("out of range")
            return {"accuracy": 1.0 if run.row == "B" else math.nan}

        table, file = tiny_table(execute), tmp_path / "tiny.jsonl"
        failures = run_missing(table, table.runs(), file, show=False)
        assert len(failures) == 2
        assert "out of range" in failures[0]
        assert "accuracy not finite" in failures[1]
        assert [record["row"] for record in read_records(file)] == ["B", "B"]
        summary = summary_of(table, table.runs(), file)
        assert summary.missing() == ["A / accuracy: 0 of 2"]


class TestReports:
    records = tuple(
        {"row": "A", "column": "x", "metrics": {"accuracy": value}, "seconds": 3600} for value in (90.0, 92.0, 97.0)
    )

    def summary(self):  # type: ignore[no-untyped-def]
        expected = {("A", "x"): 3, ("<B>", "x"): 1}
        return summarise("Title", self.records, expected=expected, published={"A": {"x": [95.0, 0.5]}})

    def test_figures_are_means_deviations_and_standard_errors(self) -> None:
        cell = self.summary().cells["A"]["x"]
        assert cell.mean == pytest.approx(93.0)
        assert cell.std == pytest.approx(math.sqrt(13))
        assert cell.sem == pytest.approx(math.sqrt(13 / 3))
        assert cell.difference == pytest.approx(-2.0)
        assert self.summary().hours == 3

    def test_json_has_the_promised_shape(self) -> None:
        assert set(self.summary().as_json()["A"]["x"]) == {"paper", "mean", "std", "sem", "n"}
        assert self.summary().as_json()["<B>"]["x"] == {"paper": None, "mean": None, "std": None, "sem": None, "n": 0}

    def test_missing_runs_are_named_in_every_format(self) -> None:
        assert "<B> / x: 0 of 1" in to_markdown(self.summary())
        page = to_html(self.summary())
        assert "&lt;B&gt; / x: 0 of 1" in page
        assert "<B>" not in page

    def test_the_papers_numbers_belong_to_tables_that_exist(self) -> None:
        assert published("toy")["A-NLSF"]["accuracy"] == [99.38, 0.2]
        assert set(TABLES) == {"toy", "toy-strict"}


class TestCommand:
    def test_help_names_every_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            main(["--help"])
        assert stopped.value.code == 0
        printed = capsys.readouterr().out
        assert all(name in printed for name in ("demo", "list", "run", "report"))

    def test_unknown_names_get_a_message_and_exit_code_two(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["report", "table-9"]) == 2
        assert "Tables are toy, toy-strict; got 'table-9'" in capsys.readouterr().err
        assert main(["run", "toy", "--rows", "GIN,GINN"]) == 2
        assert "got GINN" in capsys.readouterr().err
        assert main(["report", "toy", "--splits", "11"]) == 2
        assert "splits 1 to 10, got 11" in capsys.readouterr().err

    @pytest.mark.parametrize(("name", "begin"), [("a.md", "# Grid"), ("a.html", "<!doctype"), ("a.json", "{")])
    def test_the_name_of_the_output_file_tells_its_format(self, name: str, begin: str, tmp_path: Path) -> None:
        assert main(["report", "toy", "--output", str(tmp_path / name), "--results", str(tmp_path)]) == 0
        assert (tmp_path / name).read_text().startswith(begin)

    def test_report_prints_json(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert main(["report", "toy", "--json", "--results", str(tmp_path)]) == 0
        figures = json.loads(capsys.readouterr().out)
        assert figures["A-NLSF"]["accuracy"]["paper"] == 99.38
        assert figures["A-NLSF"]["accuracy"]["n"] == 0

    def test_list_counts_records(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert main(["list", "--results", str(tmp_path)]) == 0
        assert "0 of 10 runs" in capsys.readouterr().out


class TestCommittedResults:
    results = Path(__file__).parents[1] / "results"

    @pytest.mark.parametrize("name", list(TABLES))
    def test_every_committed_record_belongs_to_a_run_of_its_table(self, name: str) -> None:
        keys = {run.key for run in TABLES[name].runs()}
        records = read_records(self.results / f"{name}.jsonl")
        assert records
        assert {record["key"] for record in records} <= keys
        assert len({record["key"] for record in records}) == len(records)
