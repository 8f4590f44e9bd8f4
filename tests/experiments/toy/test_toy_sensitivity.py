"""The sensitivity study: its settings, what it takes over from the toy table, and its figure."""

from pathlib import Path

import pytest
import torch
from benchmarks.frame import figures

from adacanon.experiments.toy import orientation as toy
from adacanon.experiments.toy import sensitivity as toy_sensitivity
from adacanon.experiments.toy.sensitivity import POINTS, SWEPT, TOY_SENSITIVITY, panels, usual
from adacanon.runs.run import Run, missing
from adacanon.runs.runner import run_missing, summary_of
from adacanon.training.loop import TrainingControl
from adacanon.training.records import Record, append_record, read_records

RESULTS = Path(__file__).parents[3] / "results"
USUAL = [row for row, (panel, value) in POINTS.items() if value == usual()[panel]]


def record_of(run: Run, accuracy: float) -> Record:
    metrics = {"accuracy": accuracy, "train_accuracy": 100.0}
    named = {"key": run.key, "table": run.table, "row": run.row, "column": run.column, "split": run.split}
    return {**named, "settings": run.options(), "metrics": metrics, "seconds": 1.0}


def test_every_row_changes_one_setting_of_the_toy_table() -> None:
    base = toy.TOY.settings_of("A-NLSF", "accuracy")
    for row, (panel, value) in POINTS.items():
        options = TOY_SENSITIVITY.settings_of(row, "accuracy")
        assert options.pop("method") == "A-NLSF"
        changed = {key: options[key] for key in options if options[key] != base[key]}
        assert changed == ({} if row in USUAL else {SWEPT[panel][0]: value})


def test_every_panel_holds_the_usual_value() -> None:
    assert len(USUAL) == len(SWEPT) == 4


def test_runs_at_the_usual_values_are_taken_over_from_the_toy_table(tmp_path: Path) -> None:
    runs = TOY_SENSITIVITY.runs(rows=tuple(USUAL))
    for record in read_records(RESULTS / "toy.jsonl"):
        append_record(tmp_path / "toy.jsonl", record)
    file = tmp_path / "toy-sensitivity.jsonl"
    assert run_missing(TOY_SENSITIVITY, runs, file, show=False) == []
    assert missing(runs, file) == []
    assert all("taken_over_from" in record for record in read_records(file))


def test_a_run_is_the_toy_run_under_its_settings() -> None:
    tiny = {"samples": 20, "size": 8, "period": 4, "folds": 5, "epochs": 1, "bands": 3, "rows": 2, "draws": 4}
    run = Run.of(
        "toy-sensitivity", "hidden 4", "accuracy", 0, TOY_SENSITIVITY.settings_of("hidden 4", "accuracy") | tiny
    )
    found = TOY_SENSITIVITY.execute(run, TrainingControl())
    options = {key: value for key, value in run.options().items() if key != "method"}
    expected = toy.execute(Run.of("toy", "A-NLSF", "accuracy", 0, options), TrainingControl())
    assert found | {"seconds": 0} == expected | {"seconds": 0}
    with torch.random.fork_rng(devices=[]):
        task = toy.task_of(Run.of("toy", "A-NLSF", "accuracy", 0, options))
        learner = toy.build(toy.TOY.row("A-NLSF"), task, options, train=torch.arange(20), seed=0)
    assert found["parameters"] == sum(p.numel() for p in learner.module.parameters())


class TestFigure:
    def records(self, folder: Path, rows: tuple[str, ...] = ()) -> None:
        for run in TOY_SENSITIVITY.runs(rows=rows):
            append_record(folder / "toy-sensitivity.jsonl", record_of(run, 60.0 + 10 * run.split))

    def test_its_points_are_those_of_the_records(self, tmp_path: Path) -> None:
        self.records(tmp_path, ("noise 1", "noise 2", "hidden 8"))
        runs = TOY_SENSITIVITY.runs()
        found = panels(summary_of(TOY_SENSITIVITY, runs, tmp_path / "toy-sensitivity.jsonl"))
        assert {panel: list(cells) for panel, cells in found.items()} == {
            "grid size": [],
            "period": [],
            "noise": [1.0, 2.0],
            "hidden": [8],
        }
        assert found["noise"][1.0].mean == pytest.approx(70)
        assert found["noise"][1.0].std == pytest.approx(10)

    @pytest.mark.parametrize("rows", [(), ("noise 1", "noise 2", "hidden 8"), ("period 5",)])
    def test_it_is_drawn_from_all_some_or_few_records(self, rows: tuple[str, ...], tmp_path: Path) -> None:
        self.records(tmp_path, rows)
        figures.main(tmp_path)
        picture = (tmp_path / "figures" / "toy-sensitivity.png").read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 5000

    def test_another_record_draws_another_picture(self, tmp_path: Path) -> None:
        self.records(tmp_path, ("noise 1",))
        one = figures.toy_sensitivity(tmp_path)
        assert figures.toy_sensitivity(tmp_path) == one
        self.records(tmp_path, ("noise 2",))
        assert figures.toy_sensitivity(tmp_path) != one


def test_the_module_names_the_table_that_the_command_knows() -> None:
    from adacanon.experiments.catalogue import table_named

    assert table_named("toy-sensitivity").settings is toy_sensitivity.TOY_SENSITIVITY.settings
