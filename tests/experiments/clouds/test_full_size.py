"""The preset `full`: all shapes, some rows, and the learning curve by which its epochs are chosen."""

from pathlib import Path

import pytest
import torch

from adacanon import AnchoredSearch, Canonicalized
from adacanon.errors import DataError, InputError
from adacanon.experiments.catalogue import TABLES
from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.full_size import EPOCHS
from adacanon.experiments.clouds.learning_curve import LEARNING_CURVE, LENGTHS, course
from adacanon.experiments.clouds.methods import build
from adacanon.experiments.clouds.modelnet import MODELNET, MODELNET_Z
from adacanon.experiments.figures import write_figure
from adacanon.maximizers import RandomSearch
from adacanon.points import PointNet, Rotations
from adacanon.runs.run import Run, execute
from adacanon.runs.table import Table
from adacanon.training.loop import TrainingControl
from adacanon.training.records import append_record
from cases.small_clouds import POINTS, small_modelnet

FULL, FULL_Z = MODELNET.in_preset("full"), MODELNET_Z.in_preset("full")
FEW = {"epochs": 2, "batch": 8, "points": POINTS, "k": 4}


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    clouds = small_modelnet()
    monkeypatch.setattr(modelnet, "modelnet", lambda classes, points: clouds)


def few_of(table: Table, row: str, column: str, **options: object) -> Run:
    return Run.of(table.name, row, column, 0, {**table.settings_of(row, column, "full"), **FEW, **options})


def test_it_has_the_rows_and_seeds_of_the_plan() -> None:
    counts = {row: FULL.splits(row, "accuracy") for row in FULL.rows}
    assert {row.name for row, seeds in counts.items() if seeds == 3} == {
        "PCA-FA-PointNet",
        "AC-PointNet (default)",
        "AC-PointNet (soft)",
    }
    assert {row.name for row, seeds in counts.items() if seeds == 1} == {
        "PointNet",
        "PointNet-Aug",
        "CN-PointNet",
        "PCA-PointNet",
        "AC-PointNet (paper)",
    }
    assert len(MODELNET.runs(preset="full")) == sum(counts.values()) == 14
    assert {run.row for run in MODELNET_Z.runs(preset="full")} == set(FULL_Z.row_names)
    assert all(run.options()["axis"] == "vertical" for run in MODELNET_Z.runs(preset="full"))


@pytest.mark.parametrize("row", FULL.row_names)
def test_every_row_has_whole_clouds_of_all_classes_and_one_schedule(row: str) -> None:
    options = FULL.settings_of(row, "accuracy", "full")
    assert (options["classes"], options["points"], options["batch"], options["epochs"]) == (40, 1024, 32, EPOCHS)
    assert (options["learning_rate"], options["cosine"]) == (1e-3, True)
    assert ("fixed" in options) == (row == "PointNet-Aug")


@pytest.mark.parametrize("row", FULL.row_names)
def test_every_row_takes_a_step_and_is_tested(row: str) -> None:
    metrics = FULL.execute(few_of(FULL, row, "accuracy"), TrainingControl())
    assert metrics["epochs"] == 2
    assert 0 <= metrics["accuracy"] <= 100


def test_the_default_row_is_the_model_that_two_arguments_make() -> None:
    run = few_of(FULL, "AC-PointNet (default)", "accuracy")
    learner = build(FULL.row(run.row), modelnet.clouds_of(run), run.options(), seed=0)
    model, default = learner.module, Canonicalized(PointNet(4), Rotations())
    assert isinstance(model, Canonicalized)
    assert (model.search, model.prior, model.temperature) == (default.search, default.prior, default.temperature)
    assert model.search == AnchoredSearch(24)
    assert learner.criterion is torch.nn.functional.cross_entropy or learner.criterion.__name__ == "cross_entropy"


def test_the_row_of_the_paper_is_tested_with_its_fifty_random_rotations_and_trained_one_against_the_rest() -> None:
    run = few_of(FULL, "AC-PointNet (paper)", "accuracy")
    learner = build(FULL.row(run.row), modelnet.clouds_of(run), run.options(), seed=0)
    assert isinstance(learner.module, Canonicalized)
    assert learner.module.search == RandomSearch(50)
    assert learner.criterion.__name__ == "one_vs_rest"


def test_other_tables_refuse_a_preset_that_they_do_not_have() -> None:
    with pytest.raises(InputError, match="tu has the presets cpu, paper; got full"):
        TABLES["tu"].runs(preset="full")
    assert TABLES["toy"].runs(preset="full") == TABLES["toy"].runs()


def test_another_precision_has_other_runs_in_the_preset_too() -> None:
    bf16 = MODELNET.in_precision("bf16").runs(preset="full")
    assert len(bf16) == 14
    assert not {run.key for run in bf16} & {run.key for run in MODELNET.runs(preset="full")}


class TestLearningCurve:
    """Its records hold the accuracy on shapes held out after every epoch."""

    def test_it_trains_the_rows_of_the_preset_and_reads_no_test_shape(self) -> None:
        assert EPOCHS in LENGTHS.values()
        for run in LEARNING_CURVE.runs():
            own = FULL.settings_of(run.row, "accuracy", "full")
            assert run.options() == {**own, "epochs": LENGTHS[run.column], "held_out": 10}

    def test_every_epoch_is_recorded_also_if_the_training_was_stopped(self, tmp_path: Path) -> None:
        run = few_of(LEARNING_CURVE, "PointNet", "20 epochs", epochs=4, held_out=3)
        whole = execute(LEARNING_CURVE.execute, run, TrainingControl())
        assert list(course(whole)) == [1, 2, 3, 4]
        assert course(whole)[4] == whole["metrics"]["accuracy"]

        class StoppedError(Exception):
            pass

        def stop(epoch: int, loss: float) -> None:
            if epoch == 3:
                raise StoppedError

        checkpoint = tmp_path / "state.pt"
        with pytest.raises(StoppedError):
            LEARNING_CURVE.execute(run, TrainingControl(checkpoint, 0.0, stop))
        resumed = execute(LEARNING_CURVE.execute, run, TrainingControl(checkpoint, 0.0))
        assert course(resumed) == course(whole)

    def test_it_is_drawn_from_its_records(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no records of `modelnet-curve`"):
            write_figure("learning-curve", tmp_path, tmp_path, preset="cpu")
        pictures = set()
        for count in (1, 4):
            results = tmp_path / str(count)
            for run in LEARNING_CURVE.runs()[:count]:
                metrics = {f"after epoch {epoch}": 60.0 + epoch for epoch in range(1, 9)}
                named = {"key": run.key, "table": run.table, "row": run.row, "column": run.column, "split": 0}
                append_record(results / "modelnet-curve.jsonl", {**named, "metrics": metrics, "seconds": 1.0})
            (path,) = write_figure("learning-curve", results, results, preset="cpu")
            pictures.add(path.read_bytes())
        assert len(pictures) == 2
        assert all(picture.startswith(b"\x89PNG") for picture in pictures)
