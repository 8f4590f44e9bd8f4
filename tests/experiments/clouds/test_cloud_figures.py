"""Stability, continuity and invariance on clouds: what they measure, what they read, and how they go on."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized
from adacanon.baselines.clouds.pca_frames import PCAAligned
from adacanon.errors import DataError, InputError, UnknownNameError
from adacanon.experiments.clouds import chairs, continuity, invariance, modelnet, rotated_clouds, stability
from adacanon.experiments.clouds import figures as cloud_figures
from adacanon.experiments.clouds.continuity import CONTINUITY, RANDOM
from adacanon.experiments.clouds.invariance import ALIGNED, INVARIANCE, KINDS, OWN, rotation_errors, searched
from adacanon.experiments.clouds.stability import AT_RANDOM, STABILITY, Course, curve
from adacanon.experiments.figures import write_figure
from adacanon.maximizers import AnchoredSearch, CoarseToFine, RandomSearch, SampleAndRefine
from adacanon.reports import continuity_figure
from adacanon.runs import trained_networks as kept
from adacanon.runs.run import Run, Settings
from adacanon.runs.runner import run_missing, summary_of
from adacanon.spaces import SO3
from adacanon.training.loop import TrainingControl
from adacanon.training.records import append_record, read_records
from cases.small_clouds import POINTS, small_modelnet

FEW: Settings = {"epochs": 2, "batch": 4, "points": POINTS}
FEW_CLOUDS: Settings = {"shapes": 2, "rotations": 2, "paths": 1, "steps": 3}
SMALL: Settings = {"draws": 4, "size": 12, "slots": 2}


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clouds = small_modelnet()
    monkeypatch.setattr(modelnet, "modelnet", lambda classes, points: clouds)
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rows that were trained."""
    rows: list[str] = []
    train_seeded = modelnet.train_seeded

    def counted(run: Run, *arguments: Any) -> Any:
        rows.append(run.row)
        return train_seeded(run, *arguments)

    monkeypatch.setattr(modelnet, "train_seeded", counted)
    return rows


def network_settings(row: str) -> Settings:
    full = modelnet.MODELNET.settings_of(row, "accuracy")
    return {**full, **FEW, **{name: value for name, value in SMALL.items() if name in full}}


SETTINGS = {row: network_settings(row) for row in modelnet.MODELNET.row_names}


def network_run(row: str, **other: Any) -> Run:
    return Run.of("modelnet", row, "accuracy", 0, {**network_settings(row), **other})


class TestKeptNetworks:
    def test_a_run_leaves_its_network_and_the_next_one_reads_it(self, trainings: list[str]) -> None:
        run = network_run("AC-PointNet (paper)")
        first, data = modelnet.kept_or_trained(run, TrainingControl())
        again, _ = modelnet.kept_or_trained(run, TrainingControl())
        assert trainings == ["AC-PointNet (paper)"]
        x = data.points[data.split.test]
        with torch.no_grad():
            assert torch.equal(again.module.eval()(x), first.module.eval()(x))

    def test_the_table_keeps_what_the_figures_read(self, trainings: list[str]) -> None:
        run = network_run("PointNet")
        modelnet.execute(run, TrainingControl())
        modelnet.kept_or_trained(run, TrainingControl())
        assert trainings == ["PointNet"]

    def test_other_settings_are_another_network(self, trainings: list[str]) -> None:
        for epochs in (1, 2):
            modelnet.kept_or_trained(network_run("PointNet", epochs=epochs), TrainingControl())
        assert len(trainings) == 2

    def test_other_data_are_another_network(self, trainings: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
        """Settings name neither the file nor the shapes that it holds."""
        for data in (small_modelnet(8), small_modelnet(10), small_modelnet(8)):
            monkeypatch.setattr(modelnet, "modelnet", lambda classes, points, data=data: data)
            modelnet.kept_or_trained(network_run("PointNet"), TrainingControl())
        assert len(trainings) == 2

    def test_reading_a_network_draws_nothing_from_the_callers_random_state(self) -> None:
        modelnet.kept_or_trained(network_run("PointNet"), TrainingControl())
        before = torch.get_rng_state()
        modelnet.kept_or_trained(network_run("PointNet"), TrainingControl())
        assert torch.equal(torch.get_rng_state(), before)

    def test_a_file_that_does_not_fit_is_named_and_the_network_trained_again(self, trainings: list[str]) -> None:
        run = network_run("PointNet")
        expected, _ = modelnet.kept_or_trained(run, TrainingControl())
        kept.keep(run, nn.Linear(2, 2), modelnet.clouds_of(run).fingerprint)
        with pytest.warns(UserWarning, match=rf"{run.key}-\w+.pt cannot be used \(it does not fit the network of P"):
            found, _ = modelnet.kept_or_trained(run, TrainingControl())
        assert len(trainings) == 2
        for name, value in expected.module.state_dict().items():
            assert torch.equal(value, found.module.state_dict()[name]), name


class TestStability:
    def run(self, epoch: int) -> Run:
        row = f"{100 * epoch / stability.EPOCHS:g} %"
        options = STABILITY.settings_of(row, "distance")
        assert options["epoch"] == epoch
        return Run.of("stability", row, "distance", 0, {**options, **FEW, "size": 12, "epochs": 3, "shapes": 5})

    def expected(self, epochs: int) -> list[Tensor]:
        """Rotations after every epoch of one training that nobody interrupts."""
        options = {key: value for key, value in self.run(1).options().items() if key != "epoch"}
        found = []
        for epoch in range(epochs + 1):
            course = Course(Run.of("other", "AC-PointNet (paper)", "distance", 0, options), TrainingControl())
            course.forget(epochs)
            found.append(stability.canonical_rotations(*course.learner(epoch), options))
        return found

    def test_distances_are_those_between_epochs_of_one_training(self) -> None:
        rotations = self.expected(3)
        for epoch in (1, 2, 3):
            metrics = STABILITY.execute(self.run(epoch), TrainingControl())
            angles = [
                math.degrees(math.acos(max(-1.0, min(1.0, (float((a * b).sum()) - 1) / 2))))
                for a, b in zip(rotations[epoch - 1].double(), rotations[epoch].double(), strict=True)
            ]
            assert metrics["distance"] == pytest.approx(sum(angles) / 5, abs=0.1)
            assert metrics["kept"] == pytest.approx(20 * sum(angle < 0.1 for angle in angles))
            assert metrics["epoch"] == epoch

    def test_every_epoch_is_trained_once_and_goes_on_after_it_was_killed(self) -> None:
        class KilledError(Exception):
            pass

        epochs: list[int] = []

        def note(epoch: int, loss: float) -> None:
            epochs.append(epoch)
            if epochs == [1, 2]:
                raise KilledError

        control = TrainingControl(on_epoch=note)
        STABILITY.execute(self.run(1), control)
        with pytest.raises(KilledError):
            STABILITY.execute(self.run(2), control)
        metrics = [STABILITY.execute(self.run(epoch), control)["distance"] for epoch in (2, 3)]
        assert epochs == [1, 2, 2, 3]
        rotations = self.expected(3)
        for (a, b), distance in zip(((1, 2), (2, 3)), metrics, strict=True):
            mean = SO3().distance(rotations[a].double(), rotations[b].double()).mean()
            assert distance == pytest.approx(math.degrees(float(mean)))

    def test_a_later_epoch_may_come_first(self) -> None:
        late = STABILITY.execute(self.run(3), TrainingControl())["distance"]
        early = [STABILITY.execute(self.run(epoch), TrainingControl())["distance"] for epoch in (1, 2, 3)]
        assert early[-1] == late

    def test_old_states_are_removed(self, tmp_path: Path) -> None:
        for epoch in (1, 2, 3):
            STABILITY.execute(self.run(epoch), TrainingControl())
        states = [file for file in (tmp_path / "cache" / "stability").iterdir() if "rotations" not in file.name]
        assert [file.stem.rpartition("-")[2] for file in states] == ["3"]

    def test_it_records_one_line_for_every_epoch_and_its_curve_is_over_epochs(self, tmp_path: Path) -> None:
        runs = [self.run(epoch) for epoch in (1, 2)]
        assert run_missing(STABILITY, runs, tmp_path / "stability.jsonl", show=False) == []
        lines = read_records(tmp_path / "stability.jsonl")
        assert [line["metrics"]["epoch"] for line in lines] == [1, 2]
        found = curve(summary_of(STABILITY, runs, tmp_path / "stability.jsonl"))
        assert {epoch: cell.mean for epoch, cell in found.items()} == {
            line["metrics"]["epoch"]: line["metrics"]["distance"] for line in lines
        }

    def test_every_preset_has_its_last_epoch_and_no_epoch_twice(self) -> None:
        for preset, last in (("cpu", 16), ("paper", 250)):
            epochs = [STABILITY.settings(row, "distance", preset)["epoch"] for row in STABILITY.rows]
            assert epochs[-1] == last
            assert len(set(epochs)) == len(epochs)
            assert min(epochs) >= 1

    def test_random_rotations_are_as_far_apart_as_is_said(self, generator: torch.Generator) -> None:
        one, other = SO3().sample(20000, generator=generator), SO3().sample(20000, generator=generator)
        assert float(torch.rad2deg(SO3().distance(one, other)).mean()) == pytest.approx(AT_RANDOM, abs=1)


class TestContinuity:
    def run(self, row: str, **other: Any) -> Run:
        options = CONTINUITY.settings_of(row, "jump")
        network = network_settings(CONTINUITY.row(row).base)
        return Run.of("continuity", row, "jump", 0, {**options, "network": network, "paths": 2, "steps": 32, **other})

    @pytest.mark.parametrize("row", CONTINUITY.row_names)
    def test_every_row_is_measured(self, row: str) -> None:
        metrics = CONTINUITY.execute(self.run(row), TrainingControl())
        assert all(math.isfinite(value) for value in metrics.values())
        assert 0 < metrics["jump"] <= metrics["largest"]
        assert {name for name, _ in CONTINUITY.extra_metrics} < set(metrics)

    def test_two_searches_share_one_network(self, trainings: list[str]) -> None:
        runs = [self.run(row) for row in (RANDOM, "AC-PointNet (fixed candidates)")]
        modules = [continuity.module_of(run, continuity.learner_of(run, TrainingControl())[0]) for run in runs]
        assert trainings == [RANDOM]
        assert isinstance(modules[0], Canonicalized)
        assert isinstance(modules[1], Canonicalized)
        assert isinstance(modules[0].search, CoarseToFine)
        assert modules[1].search == RandomSearch(4)
        own, other = (dict(module.network.named_parameters()) for module in modules)
        assert all(torch.equal(own[name], other[name]) for name in own)

    def test_an_alignment_keeps_its_jump_when_steps_shrink(self) -> None:
        """Of a function with bounded slope, 16 times longer steps are up to 16 times as large."""
        aligned = CONTINUITY.execute(self.run("PCA-PointNet", steps=1024), TrainingControl())
        plain = CONTINUITY.execute(self.run("PointNet", steps=1024), TrainingControl())
        assert aligned["jump_16"] < 2.5 * aligned["jump"]
        assert plain["jump_16"] > 6 * plain["jump"]

    def test_the_curve_is_that_of_the_network_along_the_path(self) -> None:
        run = self.run("PointNet")
        scores = continuity.scores_on_the_way(run, TrainingControl(), shape=1, steps=5)
        assert scores.shape == (5, 2)
        learner, data = continuity.learner_of(run, TrainingControl())
        points, _ = continuity.mixed_test_clouds(data)
        shape = points[1] - points[1].mean(0)
        with torch.no_grad():
            unit = learner.module.eval()(points).std(0).mean()
            start = learner.module(shape[None] / shape.norm(dim=1).max())
        torch.testing.assert_close(scores[:1], start / unit, atol=1e-4, rtol=1e-4)
        assert not torch.allclose(scores[4], scores[0], atol=1e-3)


class TestInvariance:
    def run(self, row: str) -> Run:
        options = {
            **INVARIANCE.settings_of(row, "changed"),
            "network": network_settings(INVARIANCE.row(row).base),
        }
        return Run.of("invariance", row, "changed", 0, {**options, **FEW_CLOUDS})

    def test_every_search_is_measured_on_one_network(self, trainings: list[str]) -> None:
        for row in INVARIANCE.row_names:
            metrics = INVARIANCE.execute(self.run(row), TrainingControl())
            assert 0 <= metrics["changed"] <= metrics["shapes"] <= 100
            assert metrics["moved"] >= 0
            assert all(math.isfinite(value) for value in metrics.values())
            assert {name for name, _ in INVARIANCE.extra_metrics} < set(metrics)
            if row == ALIGNED:
                assert metrics["jump_share"] == metrics["winner_share"] == pytest.approx(100)
            if row.startswith(("anchored", ALIGNED, OWN)):
                assert metrics["moved_share"] < 1e-3
        assert trainings == [RANDOM, "AC-PointNet (paper)"]

    def test_a_search_that_changes_is_another_run(self) -> None:
        (run,) = INVARIANCE.runs(rows=("random",))
        row = INVARIANCE.row("random")
        other = dataclasses.replace(row, settings={"search": {"candidates": 51}})
        table = dataclasses.replace(INVARIANCE, rows=(other,))
        assert table.runs()[0].key != run.key

    def test_errors_of_rotations_are_counted(self) -> None:
        scores = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        rotated = torch.stack([scores, torch.tensor([[0.0, 1.0], [0.0, 1.0]]), scores, scores + 4])
        assert rotation_errors(scores, rotated) == pytest.approx((12.5, 50.0, (2 + 16) / 16))

    def test_the_winner_may_be_steady_where_others_jump(self) -> None:
        class Swapping(nn.Module):
            """Two classes that change places, and a third that jumps far below them."""

            def forward(self, clouds: Tensor) -> Tensor:
                t = clouds[:, 0, 0]
                return torch.stack([5 + (t > 1.5), 6 - (t > 1.5).to(t), -9.0 * (t > 0.5)], 1)

        paths = torch.arange(4.0).reshape(1, 4, 1, 1).expand(2, 4, 2, 3)
        assert invariance.mean_jumps(Swapping(), paths, batch=3) == (9.0, 0.0)

    def test_the_asked_for_ways_are_there(self) -> None:
        network = nn.Linear(3, 2)
        made = {row.name: row.search["cpu"] for row in INVARIANCE.rows}
        assert isinstance(searched(network, made[ALIGNED], {}, seed=0), PCAAligned)
        searches = {
            row.name: KINDS[row.search["cpu"]](row.settings["search"]) for row in INVARIANCE.rows if row.name != ALIGNED
        }
        assert {type(search) for search in searches.values()} == {
            RandomSearch,
            SampleAndRefine,
            AnchoredSearch,
            CoarseToFine,
        }
        every = searches["every one of 8 refined"]
        assert isinstance(every, SampleAndRefine)
        assert (every.every, every.candidates) == (True, 8)


class TestFigures:
    @pytest.fixture(autouse=True)
    def small_tables(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(rotated_clouds, "modelnet", modelnet.modelnet)
        monkeypatch.setattr(modelnet, "settings", lambda row, column, preset: SETTINGS[row.name])
        monkeypatch.setattr(chairs, "KIND", "disc")
        monkeypatch.setattr(cloud_figures, "STEPS", 9)

    def test_chairs_are_a_picture_among_the_results_and_a_page_elsewhere(self, tmp_path: Path) -> None:
        picture, page = write_figure("chairs", tmp_path / "results", tmp_path / "pages", preset="cpu")
        assert picture == tmp_path / "results" / "figures" / "chairs.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert page == tmp_path / "pages" / "chairs.html"
        assert "test discs" in page.read_text()
        kept_files = [file for file in (tmp_path / "cache" / "networks").rglob("*") if file.is_file()]
        assert len(kept_files) == 1

    def test_continuity_is_drawn_of_all_rows_or_of_some(
        self, tmp_path: Path, trainings: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        drawn: list[list[str]] = []
        monkeypatch.setattr(continuity_figure, "draw", lambda curves: drawn.append(list(curves)) or b"")
        write_figure("continuity", tmp_path, tmp_path, preset="cpu", rows=("pointnet", "AC-PointNet (paper)"))
        write_figure("continuity", tmp_path, tmp_path, preset="cpu")
        assert drawn == [["PointNet", "AC-PointNet (paper)"], list(CONTINUITY.row_names)]
        assert sorted(trainings) == sorted({row.base for row in CONTINUITY.rows})

    def test_another_curve_is_another_picture(self) -> None:
        smooth, jumping = torch.linspace(0, 1, 65)[:, None].repeat(1, 3), (torch.arange(65) > 30).float()[:, None]
        pictures = {continuity_figure.draw({"one": curve}) for curve in (smooth, jumping)}
        assert len(pictures) == 2
        assert all(picture.startswith(b"\x89PNG") for picture in pictures)

    def test_stability_is_drawn_from_all_or_some_records(self, tmp_path: Path) -> None:
        pictures = set()
        for count in (1, 16):
            results = tmp_path / str(count)
            for number, run in enumerate(STABILITY.runs()[:count]):
                metrics = {"distance": 90 / (1 + number), "median": 0.0, "kept": 10.0, "epoch": number + 1.0}
                named = {"key": run.key, "table": run.table, "row": run.row, "column": run.column, "split": 0}
                append_record(results / "stability.jsonl", {**named, "metrics": metrics, "seconds": 1.0})
            (path,) = write_figure("stability", results, results, preset="cpu")
            pictures.add(path.read_bytes())
        assert len(pictures) == 2
        assert all(picture.startswith(b"\x89PNG") for picture in pictures)

    def test_stability_is_not_drawn_from_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"no records of `stability`, preset paper.*Hint: adacanon run stability"):
            write_figure("stability", tmp_path, tmp_path, preset="paper")
        assert not list(tmp_path.iterdir())

    def test_rows_that_a_figure_does_not_have_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="chairs has one method and no rows, got PointNet"):
            write_figure("chairs", tmp_path, tmp_path, preset="cpu", rows=("PointNet",))
        with pytest.raises(UnknownNameError, match="Rows of continuity are"):
            write_figure("continuity", tmp_path, tmp_path, preset="cpu", rows=("GIN",))
