"""Smoke runs: full sizes, two steps, one evaluation batch, and nothing that stays."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from adacanon.cli import main
from adacanon.data.labelled_graphs import LabelledGraphs, Parts
from adacanon.experiments import catalogue
from adacanon.experiments.catalogue import TABLES
from adacanon.folders import cache_folder
from adacanon.runs.run import Run
from adacanon.runs.smoke import Cell, Trial, cells_of, smoke_settings, trial_of, tried
from adacanon.training.loop import DataSplit
from adacanon.training.smoke import at_most, is_smoke, one_batch, shortened, smoke
from cases.smoke_table import BATCH, SEEN, smoke_table

SIZES_STAY = (
    "points",
    "batch",
    "width",
    "layers",
    "hidden",
    "draws",
    "k",
    "levels",
    "input_size",
    "windows",
    "candidates",
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def first_cell(folder: Path, **options: object) -> Cell:
    cell = cells_of(smoke_table(folder))[0]
    return replace(cell, run=Run.of("smoky", "A", "first", 0, {**cell.run.options(), **options}))


def seen_in(folder: Path) -> dict[str, object]:
    return json.loads((folder / SEEN).read_text())


class TestOneRun:
    def test_two_full_steps_and_one_batch_of_every_evaluation(self, tmp_path: Path) -> None:
        cell = first_cell(tmp_path)
        trial = trial_of(cell.table.execute, cell.run, cell.batch)
        seen = seen_in(tmp_path)
        assert (trial.status, trial.reason, trial.steps, trial.parameters) == ("ok", "", 2, 8)
        assert seen["trained"] == [BATCH, BATCH]
        assert seen["evaluated"] == [
            BATCH,
            BATCH,
            BATCH,
        ]  # validation and test after the epoch, and the test at the end
        assert (seen["epochs"], seen["paths"]) == (1, 1)
        assert trial.notes == ("points are repeated",)
        assert trial.megabytes > 50

    def test_too_few_samples_are_repeated_so_that_batches_are_full(self, tmp_path: Path) -> None:
        cell = first_cell(tmp_path, samples=3)
        assert trial_of(cell.table.execute, cell.run, cell.batch).steps == 2
        assert seen_in(tmp_path)["trained"] == [BATCH, BATCH]

    def test_other_runs_are_not_changed_by_any_of_it(self) -> None:
        split = DataSplit(torch.arange(50), torch.arange(50, 60), torch.arange(60, 90))
        assert shortened(split) is split
        assert one_batch(split.test) is split.test
        assert at_most(7, 2) == 7
        with smoke(batch=4):
            assert is_smoke()
            assert at_most(7, 2) == 2
        assert not is_smoke()


class TestProcesses:
    @pytest.mark.usefixtures("own_cache")
    def test_failures_are_named_and_nothing_stays(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = cache_folder() / "OGB"
        data.mkdir(parents=True)
        table = smoke_table(tmp_path, end="raises")
        monkeypatch.setitem(catalogue.TABLES, "smoky", table)
        results, output = tmp_path / "results", tmp_path / "found.json"
        words = ["run", "smoky", "--smoke", "--preset", "paper", "--results", str(results), "--output", str(output)]
        assert main(words) == 1
        assert "failed: smoky, B, first: IndexError: out of range" in capsys.readouterr().err
        found = json.loads(output.read_text())
        assert [(run["row"], run["column"], run["status"]) for run in found["runs"]] == [
            ("A", "first", "ok"),
            ("B", "first", "failed"),
            ("A", "second", "ok"),
        ]
        assert found["rows"][0]["starts"] == 2
        assert not results.exists()
        assert list(cache_folder().rglob("*")) == [data]
        used = Path(str(seen_in(tmp_path)["cache"]))
        assert used != cache_folder()
        assert not used.exists()

    def test_missing_data_are_no_failure_and_equal_runs_are_made_once(self) -> None:
        table = smoke_table(end="no data")
        twin = replace(table, rows=(*table.rows, replace(table.rows[0], name="A again")))
        trials = list(tried(cells_of(twin, columns=("first",))))
        assert [trial.status for trial in trials] == ["ok", "no data", "ok"]
        assert "clouds.npz is missing" in trials[1].reason
        assert trials[2].notes[-1] == "the same run as smoky, A"
        assert [trial.steps for trial in trials] == [2, 0, 2]

    def test_a_row_whose_time_is_up_says_how_far_it_came_and_the_others_go_on(self) -> None:
        trials = list(tried(cells_of(smoke_table(end="goes on"), columns=("first",)), most_seconds=1))
        assert [(trial.row, trial.status, trial.steps) for trial in trials] == [
            ("A", "ok", 2),
            ("B", "stopped", 2),
        ]

    def test_what_still_runs_ends_with_the_command(self) -> None:
        trials = tried(cells_of(smoke_table(end="goes on"), columns=("first",)), most_seconds=40)
        assert next(trials).status == "ok"
        begin = time.monotonic()
        trials.close()
        assert time.monotonic() < begin + 20

    def test_a_row_that_needs_more_memory_than_it_may_take_fails_by_itself(self) -> None:
        cell = cells_of(smoke_table(end="wants 8 GB"), rows=("B",), columns=("first",))[0]
        (trial,) = tried([cell], most_memory=4)
        assert (trial.status, trial.steps) == ("failed", 2)
        assert "memory" in trial.reason

    def test_a_row_of_the_toy_table_starts_in_the_published_size(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["run", "toy", "--smoke", "--preset", "paper", "--rows", "MLP", "--threads", "1", "--json"]
        assert main([*words, "--results", str(tmp_path / "results")]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        assert (run["row"], run["status"], run["steps"]) == ("MLP", "ok", 2)
        assert run["parameters"] > 1000


class TestCommand:
    def test_options_of_smoke_runs_are_refused_without_them(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "toy", "--json"]) == 2
        assert "with --smoke only" in capsys.readouterr().err

    def test_a_command_that_was_stopped_goes_on_where_the_code_is_the_same(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("adacanon.commands.smoke.commit_of_code", lambda: "0123456789")
        file = tmp_path / "smoke.json"
        words = ["run", "toy", "--smoke", "--threads", "1", "--output", str(file), "--rows"]
        assert main([*words, "MLP"]) == 0
        first = json.loads(file.read_text())
        asked: list[list[str]] = []

        def trying(cells: Sequence[Cell], **options: object) -> Iterator[Trial]:
            asked.append([cell.run.row for cell in cells])
            return (Trial("toy", cell.run.row, "accuracy", "failed", "no memory", key=cell.run.key) for cell in cells)

        monkeypatch.setattr("adacanon.commands.smoke.tried", trying)
        assert main([*words, "MLP", "GCN"]) == 1
        second = json.loads(file.read_text())
        assert second["runs"][0] == first["runs"][0]
        assert main([*words, "MLP", "GCN"]) == 1
        assert asked == [["GCN"], ["GCN"]]  # what failed is tried again
        monkeypatch.setattr("adacanon.commands.smoke.commit_of_code", lambda: "0123456789 with changes")
        assert main([*words, "MLP"]) == 1
        assert asked[-1] == ["MLP"]
        assert "all rows are tried again" in capsys.readouterr().err
        file.write_text("[]")
        assert main([*words, "MLP"]) == 2
        assert "holds no smoke runs" in capsys.readouterr().err

    @pytest.mark.parametrize("option", ["--device auto", "--precision bf16", "--devices 2"])
    def test_other_hardware_is_refused_and_not_left_aside(
        self, option: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", "toy", "--smoke", *option.split()]) == 2
        assert "one process on the processor" in capsys.readouterr().err

    def test_rows_of_all_tables_are_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "all", "--smoke", "--rows", "GIN"]) == 2
        assert "name a table" in capsys.readouterr().err


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_covered_and_keeps_its_sizes(name: str) -> None:
    table = TABLES[name]
    cells = cells_of(table)
    runs = {(run.row, run.column): run.options() for run in table.runs(splits=1, preset="paper")}
    assert {cell.run.row for cell in cells} == {row for row, _ in runs}
    assert {cell.run.column for cell in cells} == {column for _, column in runs}
    for cell in cells:
        before, after = runs[cell.run.row, cell.run.column], cell.run.options()
        assert before.keys() == after.keys()
        assert {key: before[key] for key in SIZES_STAY if key in before} == {
            key: after[key] for key in SIZES_STAY if key in after
        }
        assert set(table.smoke) <= set().union(*map(set, runs.values()))  # no setting of it is unknown


def test_a_run_without_a_batch_gets_an_epoch_for_every_step() -> None:
    assert smoke_settings({"epochs": 200}, {})["epochs"] == 2


def test_settings_of_a_network_inside_and_a_grid_are_shortened_too() -> None:
    found = smoke_settings(
        {"network": {"epochs": 9, "batch": 2, "steps": 3}, "steps": 8, "grid": {"a": [1, 2]}}, {"steps": 2}
    )
    assert found == {"network": {"epochs": 1, "batch": 2, "steps": 3}, "steps": 2, "grid": {"a": [1]}}


def test_graphs_of_some_parts_are_those_of_the_whole_data_set() -> None:
    data = LabelledGraphs(
        "three",
        torch.tensor([[3], [1], [2], [0]]),
        torch.tensor([[0, 0], [1, 0]]),
        torch.tensor([[4], [5]]),
        torch.tensor([0, 2, 3, 4]),
        torch.tensor([0, 1, 2, 2]),
        torch.tensor([1, 0, 1]),
        Parts(torch.tensor([0]), torch.tensor([1]), torch.tensor([2])),
        (4,),
        (6,),
        2,
    )
    some = data.only(Parts(torch.tensor([2, 0, 0]), torch.tensor([1]), torch.tensor([], dtype=torch.long)))
    assert [part.tolist() for part in some.parts] == [[0, 1, 2], [3], []]
    for new, old in enumerate((2, 0, 0, 1)):
        for mine, theirs in zip(some.batch(torch.tensor([new])), data.batch(torch.tensor([old])), strict=True):
            assert torch.equal(mine, theirs)
        assert some.labels[new] == data.labels[old]
