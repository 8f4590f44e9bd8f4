"""The tables on clouds: every row takes a step, rows differ where their names say so, and share all else."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from adacanon import Canonicalized
from adacanon.baselines.clouds.learned_canonicalization import LearnedCanonicalization
from adacanon.baselines.clouds.pca_frames import PCAAligned, PCAFrameAveraged
from adacanon.baselines.clouds.vn_networks import VNDGCNN, VNPointNet
from adacanon.experiments.catalogue import TABLES
from adacanon.experiments.clouds import modelnet, shapenet
from adacanon.experiments.clouds.held_out import HELD_OUT
from adacanon.experiments.clouds.methods import build
from adacanon.experiments.clouds.modelnet import MODELNET, MODELNET_BACKBONES, MODELNET_Z
from adacanon.experiments.clouds.rotated_clouds import VERTICAL, randomly_rotated, rotated_clouds
from adacanon.experiments.clouds.rotated_shapes import part_figures, points_cross_entropy, rotated_shapes
from adacanon.experiments.clouds.searches import KINDS, searches, settings_of
from adacanon.experiments.clouds.shapenet import SHAPENET
from adacanon.maximizers import AnchoredSearch, CoarseToFine, GridSearch, RandomSearch, SubsetSearch, WithMemory
from adacanon.maximizers.with_memory import Memory
from adacanon.points import DGCNN, PointNet
from adacanon.runs.run import Run, Settings, taken_over
from adacanon.runs.runner import run_missing
from adacanon.runs.table import Table
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl
from adacanon.training.records import read_records
from adacanon.training.schedule import Schedule
from cases.small_clouds import POINTS, small_modelnet, small_shapenet

NAMES = {"search"}.union(*(kind.settings for kind in KINDS.values()))
"""The settings that belong to a search."""

TABLES_ON_CLOUDS = (MODELNET, MODELNET_Z, MODELNET_BACKBONES, SHAPENET)
CELLS = [(table, row) for table in (*TABLES_ON_CLOUDS, HELD_OUT) for row in table.row_names]
FEW: Settings = {"epochs": 1, "batch": 8, "points": POINTS}
FEW_OF_ITS_OWN: Settings = {"draws": 3, "held_out": 3}


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    clouds, shapes = small_modelnet(), small_shapenet()
    monkeypatch.setattr(modelnet, "modelnet", lambda classes, points: clouds)
    monkeypatch.setattr(shapenet, "shapenet", lambda points: shapes)


def small_run(table: Table, row: str, **options: Any) -> Run:
    full = table.settings_of(row, table.columns[0])
    few = {**FEW, **{name: value for name, value in FEW_OF_ITS_OWN.items() if name in full}}
    return Run.of(table.name, row, table.columns[0], 0, {**full, **few, **options})


def figures(metrics: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if "seconds" not in name}


@pytest.mark.parametrize(("table", "row"), CELLS, ids=lambda value: getattr(value, "name", value))
def test_every_row_of_every_table_takes_a_step_and_is_tested(table: Table, row: str) -> None:
    metrics = table.execute(small_run(table, row), TrainingControl())
    assert 0 <= metrics[table.metric] <= 100
    assert metrics["parameters"] > 1e5
    assert metrics["epochs"] == 1
    assert all(math.isfinite(value) for value in metrics.values())
    assert {name for name, _ in table.extra_metrics} < set(metrics)


@pytest.mark.parametrize(
    ("table", "row"), [(MODELNET, "AC-PointNet (paper)"), (MODELNET, "PointNet-Aug"), (SHAPENET, "AC-PointNet (paper)")]
)
def test_a_run_is_reproducible_and_goes_on_after_it_was_killed(table: Table, row: str, tmp_path: Path) -> None:
    run = small_run(table, row, epochs=3)
    whole = table.execute(run, TrainingControl())

    class KilledError(Exception):
        pass

    def kill(epoch: int, loss: float) -> None:
        if epoch == 2:
            raise KilledError

    control = TrainingControl(tmp_path / "state.pt", 0.0, kill)
    with pytest.raises(KilledError):
        table.execute(run, control)
    assert control.checkpoint is not None
    assert control.checkpoint.exists()
    epochs: list[int] = []
    resumed = table.execute(run, replace(control, on_epoch=lambda epoch, loss: epochs.append(epoch)))
    assert epochs == [2, 3]
    assert figures(resumed) == figures(whole)


def test_a_failed_row_is_named_and_the_next_one_is_run(tmp_path: Path) -> None:
    runs = [small_run(MODELNET, "DGCNN", k=POINTS + 1), small_run(MODELNET, "PointNet")]
    (failure,) = run_missing(MODELNET, runs, tmp_path / "modelnet.jsonl", show=False)
    assert failure.run == "DGCNN, accuracy, split 1"
    assert failure.reason.startswith(f"InputError: DGCNN needs at least {POINTS + 1} points")
    (record,) = read_records(tmp_path / "modelnet.jsonl")
    assert record["row"] == "PointNet"


class TestSettings:
    @pytest.mark.parametrize("preset", ["cpu", "paper"])
    @pytest.mark.parametrize("table", TABLES_ON_CLOUDS, ids=lambda table: table.name)
    def test_rows_of_a_backbone_share_everything_but_what_is_their_own(self, table: Table, preset: str) -> None:
        own = NAMES | {"forms", "fixed", "expansion", "whole"}
        for row in table.rows:
            plain = table.settings_of(row.backbone, "", preset)
            settings = table.settings(row, "", preset)
            assert {name: value for name, value in settings.items() if name not in own} == plain
            assert (settings == plain) == (row.method not in ("AC", "augmented"))

    def test_a_row_is_the_same_record_in_every_table(self) -> None:
        """Other than in the table that compares searches, and by name, so that no table has a version of its own."""
        rows = [row for table in TABLES_ON_CLOUDS for row in table.rows]
        assert len(rows) > 30
        assert all(row == other for row in rows for other in rows if row.name == other.name)

    @pytest.mark.parametrize("preset", ["cpu", "paper"])
    def test_the_settings_of_a_row_are_those_of_the_search_that_it_names(self, preset: str) -> None:
        rows = [(table, row) for table in (*TABLES_ON_CLOUDS, HELD_OUT) for row in table.rows if row.method == "AC"]
        assert len(rows) > 10
        for table, row in rows:
            options = table.settings(row, "", preset)
            expected = settings_of(row.search[preset])
            assert {name: value for name, value in options.items() if name in NAMES} == expected

    def test_the_paper_preset_is_what_the_paper_says(self) -> None:
        pointnet, dgcnn = (MODELNET.settings_of(row, "", "paper") for row in ("PointNet", "DGCNN"))
        assert (pointnet["classes"], pointnet["points"], pointnet["batch"]) == (40, 1024, 32)
        assert (pointnet["learning_rate"], pointnet["weight_decay"]) == (1e-3, 1e-4)
        assert (dgcnn["k"], dgcnn["epochs"], dgcnn["learning_rate"], dgcnn["last_rate"]) == (20, 250, 0.1, 1e-3)
        assert MODELNET.settings_of("AC-DGCNN (paper)", "", "paper")["draws"] == 50
        descent = Schedule.of(dgcnn).optimizer(PointNet(2))
        assert isinstance(descent, torch.optim.SGD)
        assert isinstance(Schedule.of(pointnet).optimizer(PointNet(2)), torch.optim.Adam)

    def test_pointnet_rows_have_three_seeds(self) -> None:
        for table in (MODELNET, MODELNET_Z):
            counts = {row: table.splits(row, "accuracy") for row in table.rows}
            assert {counts[row] for row in table.rows if row.backbone == "PointNet"} == {3}
            assert {counts[row] for row in table.rows if row.backbone == "DGCNN"} == {2 if table is MODELNET else 1}

    def test_backbones_take_over_what_modelnet_has_run(self) -> None:
        run = MODELNET_BACKBONES.runs(rows=("AC-DGCNN (paper)",))[0]
        record = {"key": "k", "row": run.row, "column": run.column, "split": 0, "settings": run.options()}
        assert taken_over(run, [record]) is not None
        assert MODELNET.runs(rows=("AC-DGCNN (paper)",))[0].options() == run.options()

    def test_runs_on_a_vertical_axis_are_other_runs(self) -> None:
        assert "axis" not in MODELNET.settings_of("PointNet", "")
        assert MODELNET_Z.settings_of("PointNet", "")["axis"] == "vertical"


class TestHeldOut:
    """What AC rows do is decided on training shapes."""

    def test_no_test_shape_is_read(self) -> None:
        data = small_modelnet(train=23)
        parts = data.held_out(10)
        assert parts.test.ids == ("0", "10", "20")
        assert len(parts.train.ids) == 20
        assert {*parts.train.ids, *parts.test.ids} == set(data.train.ids)
        for part in (parts.train, parts.test):
            index = torch.tensor([int(name) for name in part.ids])
            assert torch.equal(part.points, data.train.points[index])
            assert torch.equal(part.labels, data.train.labels[index])

    def test_a_run_is_tested_on_the_shapes_held_out(self) -> None:
        data = modelnet.clouds_of(small_run(HELD_OUT, "PCA-PointNet"))
        assert (len(data.split.train), len(data.split.test)) == (5, 3)

    @pytest.mark.parametrize("backbone", ["PointNet", "DGCNN"])
    def test_rows_are_those_of_modelnet_but_for_what_they_go_without(self, backbone: str) -> None:
        own = {"held_out": 10}
        as_it_is = MODELNET.settings_of(f"AC-{backbone} (paper)", "accuracy")
        assert HELD_OUT.settings_of(f"AC-{backbone} (paper)", "accuracy") == {**as_it_is, **own}
        plain = MODELNET.settings_of(backbone, "accuracy")
        searched = {name: value for name, value in as_it_is.items() if name not in {*plain, "search"}}
        anchored = {"anchors": 24, "size": 32, "calibration": 4, "forms": 2.0}
        remembered = {"anchors": 24, "subset": 6, "slots": 4, "fixed": True, "forms": 2.0}
        assert searched == (anchored if backbone == "PointNet" else remembered)
        without = {
            "whole clouds": ("anchors", {"size", "calibration"}),
            "all forms": ("calibrated anchors", {"forms"}),
            "not calibrated": ("anchors on views", {"calibration"}),
            "views": ("calibrated anchors", set()),
        }
        variants = {f"AC-{backbone} ({name})": gone for name, gone in without.items()}
        present = [row for row in variants if row in HELD_OUT.row_names]
        assert len(present) >= 2
        for row in present:
            kind, gone = variants[row]
            left = {name: value for name, value in anchored.items() if name not in gone}
            assert HELD_OUT.settings_of(row, "accuracy") == {**plain, **left, **own, "search": kind}

    def test_whole_clouds_are_searched_by_their_anchors(self) -> None:
        row = HELD_OUT.row("AC-PointNet (whole clouds)")
        options = HELD_OUT.settings(row, "accuracy", "cpu")
        assert searches(options, samples=8) == (AnchoredSearch(24), None)


class TestPublished:
    @pytest.mark.parametrize("table", TABLES_ON_CLOUDS, ids=lambda table: table.name)
    def test_every_published_figure_has_its_row_and_column(self, table: Table) -> None:
        figures = TABLES[table.name].published
        assert len(figures) >= 8
        assert set(figures) <= set(table.row_names)
        assert {column for columns in figures.values() for column in columns} == set(table.columns)

    def test_rows_without_a_published_figure_are_our_own(self) -> None:
        missing = {
            row for table in TABLES_ON_CLOUDS for row in table.row_names if row not in TABLES[table.name].published
        }
        soft = {f"AC-{backbone} (soft)" for backbone in modelnet.BACKBONES["cpu"]}
        controls = {"PCA-PointNet", "PCA-FA-PointNet", "PCA-FA-PointNet (any order)", "PCA-DGCNN"}
        assert missing == {"DeepSet", "AC-DeepSet (paper)", "AC-PointNet (random draws)"} | controls | soft

    def test_the_tables_are_listed(self) -> None:
        assert {table.name for table in TABLES_ON_CLOUDS} <= set(TABLES)


class TestRows:
    EXPECTED: tuple[tuple[str, type], ...] = (
        ("PointNet", PointNet),
        ("DGCNN-Aug", DGCNN),
        ("VN-PointNet", VNPointNet),
        ("VN-DGCNN", VNDGCNN),
        ("CN-DGCNN", LearnedCanonicalization),
        ("PCA-PointNet", PCAAligned),
        ("PCA-FA-PointNet", PCAFrameAveraged),
        ("AC-PointNet (paper)", Canonicalized),
        ("AC-PointNet (random draws)", Canonicalized),
    )

    @pytest.mark.parametrize(("row", "kind"), EXPECTED)
    def test_a_row_is_what_its_name_says(self, row: str, kind: type) -> None:
        data = rotated_clouds(small_modelnet(), seed=0)
        learner = build(MODELNET.row(row), data, small_run(MODELNET, row).options(), seed=0)
        assert type(learner.module) is kind

    def test_an_adaptive_row_searches_as_its_settings_say(self) -> None:
        whole = searches({"search": "random draws", "draws": 9}, samples=5)
        assert whole == (RandomSearch(9), None)
        own, training_search = searches(MODELNET.settings_of("AC-PointNet (paper)", ""), samples=5)
        assert own == AnchoredSearch(24)
        assert isinstance(training_search, CoarseToFine)
        assert (training_search.search, training_search.size, training_search.contenders) == (own, 32, 0)
        settings = MODELNET.settings_of("AC-PointNet (random draws)", "")
        options = {**settings, "draws": 9, "size": 16, "contenders": 2, "evaluation": 30}
        evaluation, training = searches(options, samples=5)
        assert isinstance(evaluation, CoarseToFine)
        assert isinstance(training, CoarseToFine)
        assert (evaluation.size, evaluation.contenders, training.contenders) == (16, 2, 0)
        assert evaluation.search == GridSearch(30)
        assert isinstance(training.search, WithMemory)
        assert training.search.memory.samples == 5

    def test_a_network_of_neighbourhoods_searches_some_anchors_of_whole_clouds_in_training(self) -> None:
        own, training_search = searches(MODELNET.settings_of("AC-DGCNN (paper)", ""), samples=5)
        assert own == AnchoredSearch(24)
        assert isinstance(training_search, WithMemory)
        assert training_search.search == SubsetSearch(own, 6)
        assert (training_search.memory.samples, training_search.memory.slots) == (5, 4)

    @pytest.mark.parametrize(("count", "suffix"), [(4, ""), (24, " (any order)")])
    def test_averages_are_over_as_many_frames_as_the_name_says(self, count: int, suffix: str) -> None:
        row, data = f"PCA-FA-PointNet{suffix}", rotated_clouds(small_modelnet(), seed=0)
        average = build(HELD_OUT.row(row), data, small_run(HELD_OUT, row).options(), seed=0).module
        assert isinstance(average, PCAFrameAveraged)
        assert average.frames(data.points, None).shape[1] == count

    @pytest.mark.parametrize("row", ["AC-PointNet (random draws)", "AC-DGCNN (paper)"])
    def test_winners_are_remembered_from_epoch_to_epoch(self, row: str) -> None:
        data = rotated_clouds(small_modelnet(), seed=0, fixed=True)
        learner = build(MODELNET.row(row), data, {**small_run(MODELNET, row).options(), "slots": 2}, seed=0)
        learner.module.train()
        learner.loss(torch.tensor([1, 4, 6])).backward()
        (memory,) = (state for state in learner.module.search_state if isinstance(state, Memory))
        assert memory.known.nonzero().flatten().tolist() == [1, 4, 6]


class TestPoses:
    def test_test_poses_depend_on_the_seed_alone(self) -> None:
        data = small_modelnet()
        first = rotated_clouds(data, seed=3)
        others = [
            rotated_clouds(data, seed=3, fixed=True),
            rotated_clouds(data, seed=3, axis=VERTICAL),
            rotated_clouds(data, seed=3, fixed=True, expansion=5),
        ]
        expected = first.points[first.split.test]
        for other in others:
            assert torch.equal(other.points[other.split.test], expected)
            assert torch.equal(other.labels[other.split.test], data.test.labels)
        assert not torch.equal(rotated_clouds(data, seed=4).points[first.split.test], expected)

    def test_shapes_share_their_test_poses_too(self) -> None:
        data = small_shapenet()
        one, other = rotated_shapes(data, seed=3), rotated_shapes(data, seed=3, fixed=True)
        assert torch.equal(one.points[one.split.test], other.points[other.split.test])
        assert len(one.split.train) == 8
        assert not torch.equal(one.points[:8], other.points[:8])
        assert torch.equal(one.labels[one.split.test], data.test.labels)

    def test_a_vertical_axis_keeps_heights(self) -> None:
        x = small_modelnet().train.points
        y = randomly_rotated(x, axis=VERTICAL)
        torch.testing.assert_close(y[..., 1], x[..., 1])
        torch.testing.assert_close(y.norm(dim=2), x.norm(dim=2))
        assert (y - x).abs().amax((1, 2)).median() > 0.1

    def test_a_whole_expansion_is_one_epoch(self) -> None:
        data = small_modelnet()
        once, whole = (rotated_clouds(data, seed=0, fixed=True, expansion=5, whole=w) for w in (False, True))
        assert len(whole.split.train) == 5 * len(once.split.train) == 5 * len(data.train.labels)
        assert torch.equal(whole.points, once.points)
        assert torch.equal(whole.for_training(whole.split.train)[0], whole.points[whole.split.train])
        assert torch.equal(whole.split.test, once.split.test)

    def test_an_expansion_has_five_fixed_poses_of_every_cloud(self) -> None:
        data = rotated_clouds(small_modelnet(), seed=0, fixed=True, expansion=5)
        assert len(data.split.train) == 8
        seen = torch.stack([data.for_training(torch.tensor([3, 6]))[0] for _ in range(60)], 1)
        for poses, number in zip(seen, (3, 6), strict=True):
            distinct = poses.flatten(1).unique(dim=0)
            stored = data.points[[number + 8 * copy for copy in range(5)]].flatten(1)
            assert len(distinct) == 5
            assert torch.equal(distinct, stored.unique(dim=0))

    def test_poses_are_new_unless_they_are_fixed(self) -> None:
        index = torch.arange(4)
        for fixed in (True, False):
            data = rotated_clouds(small_modelnet(), seed=0, fixed=fixed)
            assert torch.equal(data.for_training(index)[0], data.for_training(index)[0]) == fixed
            shapes = rotated_shapes(small_shapenet(), seed=0, fixed=fixed)
            ((first, _),), ((second, _),) = shapes.for_training(index), shapes.for_training(index)
            same = torch.equal(first, second)
            assert same == fixed


class Oracle(torch.nn.Module):
    """Knows the part of every point by its place among the points of the data set."""

    def __init__(self, labels: torch.Tensor, parts: int) -> None:
        super().__init__()
        self.labels, self.parts = labels, parts

    def forward(self, inputs: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return torch.nn.functional.one_hot(self.labels, self.parts).float()


def test_figures_of_parts_are_those_of_the_best_and_of_the_worst_answer() -> None:
    data = rotated_shapes(small_shapenet(), seed=0)
    right = data.labels[data.split.test]
    swapped = right + 1 - 2 * (right - right.amin(1, keepdim=True))
    for answer, expected in ((right, 100.0), (swapped, 0.0)):
        finder = Learner(Oracle(answer, data.own.shape[1]), data.labels, data.inputs, points_cross_entropy)
        found = part_figures(finder, data, data.split.test, batch=4)
        assert found["point_accuracy"] == expected
        own = data.own[data.categories[data.split.test]].sum(1)
        unused = (own - 2) / own  # parts that are neither there nor predicted count one
        assert found["shape_miou"] == pytest.approx(100 * float(((2 * (expected == 100) / own) + unused).mean()))
