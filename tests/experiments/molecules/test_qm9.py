"""The table on molecules: what rows see, the blended answer against its definition, and what the figures measure."""

import json
import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from adacanon.core import Canonicalized
from adacanon.experiments.catalogue import TABLES
from adacanon.experiments.molecules import qm9, qm9_validation, rotated_molecules
from adacanon.experiments.molecules.methods import ANY_ORDER, INFINITE, METHODS, SORTED, blended_row, build
from adacanon.experiments.molecules.molecule_figures import (
    answered,
    costs,
    determined_and_close,
    effective_forms,
    errors,
)
from adacanon.experiments.molecules.rotated_molecules import RotatedMolecules, distances
from adacanon.points import principal_frames
from adacanon.points.rotations import axis_frames
from adacanon.runs.run import Run, Settings, execute
from adacanon.runs.table import Row, row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl
from cases.small_molecules import small_qm9

TARGETS = tuple(qm9.COLUMNS.values())
SYMMETRIC = ("PCA aligned", "PCA frame averaged", "AC blended", "EGNN")
ROWS = {row.name: row for row in qm9.ROWS}


def data_of(target: str, **changes: bool) -> RotatedMolecules:
    return rotated_molecules.rotated_molecules(small_qm9(), target, seed=3, **changes)


def options_of(row: Row) -> Settings:
    return {**qm9.settings(row, "gap (eV)", "cpu"), "width": 8, "layers": 2}


def learner_of(row: Row, data: RotatedMolecules) -> Learner:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return build(row, data, options_of(row), seed=0)


class TestData:
    def test_the_training_part_sets_mean_and_spread(self) -> None:
        data = data_of("gap")
        train = data.labels[data.split.train]
        assert data.labels.shape == (34, 1)
        torch.testing.assert_close(train.mean(), torch.tensor(0.0), atol=1e-5, rtol=0)
        torch.testing.assert_close(train.square().mean(), torch.tensor(1.0))
        back = data.labels[:, 0] * data.spread + small_qm9().train.gap.mean()
        torch.testing.assert_close(back[data.split.test], small_qm9().test.gap)

    def test_vectors_are_scaled_and_not_shifted(self) -> None:
        data = data_of("dipole")
        torch.testing.assert_close(data.labels[data.split.test] * data.spread, small_qm9().test.dipole)
        lengths = small_qm9().train.dipole.square().sum(1)
        assert data.spread == pytest.approx(float(lengths.mean().sqrt()))

    def test_poses_are_rotations_that_the_seed_determines(self) -> None:
        one, same = data_of("gap").poses, data_of("dipole").poses
        other = rotated_molecules.rotated_molecules(small_qm9(), "gap", seed=4).poses
        assert torch.equal(one, same)
        assert not torch.allclose(one, other)
        torch.testing.assert_close(one @ one.mT, torch.eye(3).expand(10, 3, 3))

    def test_the_tested_part_is_the_one_that_is_named(self) -> None:
        parts = small_qm9()
        tested = {
            held_out: data.molecules.gap[data.split.test]
            for held_out in (False, True)
            for data in [data_of("gap", held_out=held_out)]
        }
        assert torch.equal(tested[False], parts.test.gap)
        assert torch.equal(tested[True], parts.validation.gap)

    @pytest.mark.parametrize("target", TARGETS)
    def test_labels_turn_with_the_molecules_that_they_belong_to(self, target: str) -> None:
        """The dipole of the turned positions, computed anew."""
        data = data_of(target)
        index = data.split.test[2:7]
        ((upright, _, _),), ((turned, types, mask),) = data.inputs(index), data.turned_inputs(index)
        rotations = data.poses[2:7]
        torch.testing.assert_close(turned, torch.einsum("bij,baj->bai", rotations, upright))
        assert types.shape[:2] == mask.shape
        assert mask.shape[1] == int(data.molecules.mask[index].sum(1).max())
        labels = data.turned_labels(index)
        if target == "dipole":
            torch.testing.assert_close(labels, torch.einsum("bij,bj->bi", rotations, data.labels[index]))
            torch.testing.assert_close(labels.norm(dim=1), data.labels[index].norm(dim=1))
        else:
            assert torch.equal(labels, data.labels[index])


class FirstPosition(nn.Module):
    """A vector that turns with the molecule."""

    def forward(self, points: Tensor, types: Tensor, mask: Tensor | None = None) -> Tensor:
        return points[:, 0]


class TestAugmented:
    def test_answers_and_labels_are_in_the_same_pose(self) -> None:
        """A network that is equivariant has the same loss in every pose; of labels left behind it would not."""
        data = data_of("dipole")
        learner, upright = (
            rotated_molecules.augmented(FirstPosition(), data),
            rotated_molecules.plain(FirstPosition(), data),
        )
        index = data.split.train[:6]
        torch.testing.assert_close(learner.loss(index), upright.loss(index), rtol=1e-5, atol=1e-6)

    def test_every_step_has_its_own_pose(self) -> None:
        data = data_of("gap")
        learner, index = learner_of(ROWS["augmented"], data), data.split.train[:6]
        losses = {float(learner.loss(index).detach()) for _ in range(4)}
        assert len(losses) == 4
        plain = learner_of(ROWS["plain"], data)
        assert len({float(plain.loss(index).detach()) for _ in range(4)}) == 1


def blended_by_hand(model: Canonicalized, data: RotatedMolecules, index: Tensor, tau: float, frames: int) -> Tensor:
    """One molecule and one frame at a time, in the pose of its own."""
    rows = []
    for i in index.tolist():
        ((positions, types, mask),) = data.inputs(torch.tensor([i]))
        found = (principal_frames if frames == SORTED else axis_frames)(positions, mask)[0]
        outputs = [model.network((positions @ R.T, types, mask))[0] for R in found]
        weights = torch.tensor([1 / len(found) if math.isinf(tau) else float(out[-1]) / tau for out in outputs])
        weights = weights if math.isinf(tau) else weights.softmax(0)
        answers = [out[:-1] @ R if data.vectors else out[:-1] for out, R in zip(outputs, found, strict=True)]
        rows.append(sum(w * answer for w, answer in zip(weights, answers, strict=True)))
    return torch.stack(rows)


class TestBlended:
    @pytest.mark.parametrize("target", ["gap", "dipole"])
    @pytest.mark.parametrize("frames", [SORTED, ANY_ORDER])
    @pytest.mark.parametrize("tau", [0.05, 1.0, math.inf])
    def test_it_is_the_weighted_mean_of_answers_turned_back(self, target: str, frames: int, tau: float) -> None:
        data = data_of(target)
        row = blended_row("any", INFINITE if math.isinf(tau) else tau, frames)
        model = learner_of(row, data).module.eval()
        assert isinstance(model, Canonicalized)
        index = data.split.test[:4]
        with torch.no_grad():
            found = model(*data.inputs(index))
            expected = blended_by_hand(model, data, index, tau, frames)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)

    def test_at_infinite_temperature_it_is_frame_averaging(self) -> None:
        data = data_of("dipole")
        model = learner_of(blended_row("mean", INFINITE), data).module.eval()
        averaged = learner_of(ROWS["PCA frame averaged"], data).module.eval()
        weights = model.network.network.state_dict()  # the last output is the confidence
        without = {key: value[:3] if key.startswith("head.2") else value for key, value in weights.items()}
        averaged.network.network.load_state_dict(without)
        index = data.split.test
        with torch.no_grad():
            torch.testing.assert_close(model(*data.inputs(index)), averaged(*data.inputs(index)), rtol=1e-4, atol=1e-5)

    def test_confidences_are_trained(self) -> None:
        data = data_of("dipole")
        learner = learner_of(ROWS["AC blended"], data)
        learner.module.train()
        learner.loss(data.split.train[:8]).backward()
        last = learner.module.network.network.head[-1].weight.grad
        assert last.shape[0] == 4
        assert bool((last.abs().sum(1) > 0).all())


@pytest.mark.parametrize("target", TARGETS)
class TestRows:
    def test_the_table_says_which_rows_keep_the_symmetry(self, target: str) -> None:
        data = data_of(target)
        for name, row in ROWS.items():
            found = errors(learner_of(row, data), data, batch=4)
            changes = found["equivariance"]
            assert changes < 1e-5 if name in SYMMETRIC else changes > 1e-3, name
            if name in SYMMETRIC:
                assert found["error"] == pytest.approx(found["upright"], rel=1e-3)

    @pytest.mark.parametrize("row", [*qm9.ROWS, *qm9_validation.ROWS], ids=lambda row: row.name)
    def test_every_row_learns(self, target: str, row: Row) -> None:
        data = data_of(target)
        learner, index = learner_of(row, data), data.split.train
        optimizer = torch.optim.Adam(learner.module.parameters(), lr=0.01)
        learner.module.train()
        losses = []
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            for _ in range(12):
                optimizer.zero_grad()
                loss = learner.loss(index)
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
        assert sum(losses[-3:]) < 0.95 * sum(losses[:3])


class TestFigures:
    def test_errors_are_in_the_unit_of_the_target(self) -> None:
        """A network that knows nothing has the mean absolute deviation as its error."""
        data = data_of("gap")

        class Zero(nn.Module):
            def forward(self, points: Tensor, types: Tensor, mask: Tensor | None = None) -> Tensor:
                return points.new_zeros(len(points), 1)

        found = errors(rotated_molecules.plain(Zero(), data), data, batch=4)
        parts = small_qm9()
        assert found["error"] == pytest.approx(float((parts.test.gap - parts.train.gap.mean()).abs().mean()), rel=1e-5)
        assert found["upright"] == pytest.approx(found["error"])
        assert (found["equivariance"], found["largest"]) == (0, 0)

    def test_changes_are_differences_to_the_turned_answer(self) -> None:
        data = data_of("gap")
        learner = learner_of(ROWS["plain"], data)
        index = data.split.test
        one = answered(learner.module, data.turned_inputs, index, batch=4)
        other = answered(learner.module, data.inputs, index, batch=10)
        assert errors(learner, data, batch=3)["equivariance"] == pytest.approx(float((one - other).abs().mean()))

    def test_a_flat_equilateral_molecule_has_no_axes_and_a_slightly_bent_one_close_ones(self) -> None:
        angles = torch.arange(3) * 2 * math.pi / 3
        ring = torch.stack([angles.cos(), angles.sin(), torch.zeros(3)], 1)
        bent = ring * torch.tensor([1.0002, 1.0, 1.0])
        long = ring * torch.tensor([2.0, 1.0, 1.0]) + torch.tensor([[0.0, 0.0, 0.2], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
        positions = torch.cat([torch.stack([ring, bent, long]), torch.full((3, 1, 3), 9.0)], 1)
        mask = torch.tensor([[True, True, True, False]] * 3)
        determined, close = determined_and_close(positions, mask)
        assert determined.tolist() == [False, True, True]
        assert close.tolist() == [True, True, False]

    def test_they_are_counted(self) -> None:
        data = data_of("gap")
        assert errors(learner_of(ROWS["plain"], data), data, batch=4)["undetermined"] == 0
        line = data.molecules.positions.clone()
        line[data.split.test[:3]] *= torch.tensor([1.0, 0.0, 0.0])
        spoiled = replace(data, molecules=replace(data.molecules, positions=line))
        assert errors(learner_of(ROWS["AC blended"], data), spoiled, batch=4)["undetermined"] == 3

    def test_the_number_of_forms_lies_between_one_and_all(self) -> None:
        data = data_of("gap")
        found = {
            tau: effective_forms(learner_of(blended_row("any", tau), data).module, data, batch=4)["effective_forms"]
            for tau in (1e-4, 1.0, INFINITE)
        }
        assert 1 <= found[1e-4] < found[1.0] < 4
        assert found[INFINITE] == pytest.approx(4)
        assert effective_forms(learner_of(ROWS["plain"], data).module, data, batch=4) == {}

    def test_costs_are_in_plain_passes(self) -> None:
        data = data_of("gap")
        options = {**options_of(ROWS["plain"]), "width": 64}
        reference = METHODS["plain"](data, options)
        averaged = METHODS["PCA-FA"](data, options)
        index = data.split.train.repeat(8)
        same = costs(reference, METHODS["plain"](data, options), index)
        four = costs(averaged, reference, index)
        assert 0.4 < same["step_passes"] < 2.5
        assert four["evaluation_passes"] > 1.5 * same["evaluation_passes"]


class TestTables:
    def test_rows_differ_where_they_say_so(self) -> None:
        for table in (TABLES["qm9"], TABLES["qm9-validation"]):
            for preset in table.presets:
                own = {name for row in table.rows for name in row.own_settings(preset)} | {"learning_rate"}
                common = {
                    json.dumps({k: v for k, v in options.items() if k not in own}, sort_keys=True)
                    for row in table.rows
                    for options in [table.settings(row, "gap (eV)", preset)]
                }
                assert len(common) == 1

    def test_the_study_reads_the_validation_part_and_the_table_the_test_part(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(qm9, "qm9", small_qm9)
        for table, part in (("qm9", small_qm9().test), ("qm9-validation", small_qm9().validation)):
            (run, *_) = TABLES[table].runs()
            data = qm9.molecules_of(Run.of(run.table, run.row, run.column, 0, {**run.options(), "train": 5}))
            assert torch.equal(data.molecules.gap[data.split.test], part.gap)
            assert len(data.split.train) == 5

    def test_the_row_of_the_table_is_one_of_the_study(self) -> None:
        chosen = row_named(qm9.ROWS, "AC blended").settings
        rate = {"learning_rate": qm9_validation.COMPARED_AT}
        assert {**chosen, **rate} in [row.settings for row in qm9_validation.BLENDED]
        rates = {qm9.settings(row, column, "cpu")["learning_rate"] for row in qm9.ROWS for column in qm9.COLUMNS}
        assert rates <= set(qm9_validation.LEARNING_RATES)

    @pytest.mark.parametrize("table", ["qm9", "qm9-validation"])
    def test_a_run_becomes_a_record(self, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(qm9, "qm9", small_qm9)
        blended = {"qm9": "plain", "qm9-validation": "AC blended; mean; 4 frames"}[table]
        (run, *_) = TABLES[table].runs(rows=(blended,), columns=("dipole (debye)",))
        small = {**run.options(), "train": 20, "epochs": 2, "width": 8, "layers": 1}
        record = execute(TABLES[table].execute, Run.of(table, run.row, run.column, 0, small), TrainingControl())
        shown = {TABLES[table].metric, *(name for name, _ in TABLES[table].extra_metrics)}
        assert shown - {"effective_forms"} <= set(record["metrics"])
        assert ("effective_forms" in record["metrics"]) == (table == "qm9-validation")
        assert record["metrics"]["molecules"] == 20


def test_distances_are_lengths() -> None:
    assert distances(torch.tensor([[3.0, 4.0, 0.0]]), torch.zeros(1, 3)).tolist() == [5.0]
    assert distances(torch.tensor([[-2.0]]), torch.zeros(1, 1)).tolist() == [2.0]
