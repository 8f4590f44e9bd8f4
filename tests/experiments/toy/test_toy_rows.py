"""The rows of the toy tables that read eigenvectors of the one torus on which all samples live."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from adacanon.baselines.graphs.axis_projection import canonical_eigenvectors
from adacanon.data.grid_orientation import GridOrientation, grid_orientation
from adacanon.experiments.toy.methods import EIGENVECTOR_METHODS
from adacanon.experiments.toy.orientation import TOY, TOY_STRICT, build, execute, task_spectrum
from adacanon.experiments.toy.shared_graph import OnSharedGraph
from adacanon.graphs.eigenbases import redrawn_in_eigenspaces
from adacanon.runs.run import Run, Settings
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl
from adacanon.training.records import read_records

RESULTS = Path(__file__).parents[3] / "results"
TINY = {"samples": 20, "size": 8, "period": 4, "folds": 5, "epochs": 1, "hidden": 8}


def options_of(row: str) -> Settings:
    return TOY.settings_of(row, "accuracy", "demo") | TINY


def task() -> GridOrientation:
    return grid_orientation(20, size=8, period=4, generator=torch.Generator().manual_seed(0))


def learner_of(row: str) -> Learner:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        learner = build(TOY.row(row), task(), options_of(row), train=torch.arange(20), seed=0)
    learner.module.eval()
    return learner


def scores_of(learner: Learner, index: Tensor) -> Tensor:
    with torch.no_grad():
        return learner.scores(index)


@pytest.mark.parametrize("row", EIGENVECTOR_METHODS)
class TestRowsOnOneGraph:
    def test_a_sample_has_its_scores_whatever_comes_with_it(self, row: str) -> None:
        learner = learner_of(row)
        index = torch.tensor([3, 17, 0, 8, 8])
        together = scores_of(learner, index)
        assert together.shape == (5, 2)
        for graphs in (1, 2):
            module = learner.module
            assert isinstance(module, OnSharedGraph)
            other = OnSharedGraph(module.network, module.edge_index, module.call, graphs_per_pass=graphs)
            parts = scores_of(replace(learner, module=other.eval()), index)
            torch.testing.assert_close(parts, together, atol=1e-5, rtol=1e-4)

    def test_gradients_reach_all_parameters(self, row: str) -> None:
        learner = learner_of(row)
        learner.module.train()
        index = torch.arange(20)
        learner.loss(index).backward()
        assert [name for name, p in learner.module.named_parameters() if p.grad is None] == []

    def test_a_run_reports_its_accuracy_in_another_basis_too(self, row: str) -> None:
        run = Run.of("toy", row, "accuracy", 0, options_of(row))
        metrics = execute(run, TrainingControl())
        assert 0 <= metrics["accuracy_redrawn"] <= 100
        assert metrics == execute(run, TrainingControl()) | {"seconds": metrics["seconds"]}


@pytest.mark.parametrize(("row", "blind"), [("NLSF", True), ("S2GNN", True), ("OAP+GIN", False), ("FA+GIN", False)])
def test_which_rows_see_the_basis_of_the_eigensolver(row: str, blind: bool) -> None:
    """On a torus, OAP finds nothing canonical and a finite frame is one draw of an infinite one."""
    learner, index = learner_of(row), torch.arange(20)
    spectrum = redrawn_in_eigenspaces(task_spectrum(task()), generator=torch.Generator().manual_seed(1))
    assert isinstance(learner.module, OnSharedGraph)
    call = EIGENVECTOR_METHODS[row].on_one_graph(spectrum, options_of(row))
    other = replace(learner, module=learner.module.called(call).eval())
    change = float((scores_of(other, index) - scores_of(learner, index)).abs().max())
    assert (change < 1e-5) == blind


def test_axis_projection_finds_nothing_canonical_on_a_torus() -> None:
    spectrum = task_spectrum(task())
    found = canonical_eigenvectors(spectrum.eigenvalues, spectrum.eigenvectors).canonical
    assert found[0]
    assert not bool(found[1:9].any())


def test_frame_elements_are_fresh_in_training_and_fixed_in_evaluation() -> None:
    learner, index = learner_of("FA+GIN"), torch.arange(3)
    assert torch.equal(scores_of(learner, index), scores_of(learner, index))
    learner.module.train()
    with torch.random.fork_rng(devices=[]):
        assert not torch.equal(scores_of(learner, index), scores_of(learner, index))


@pytest.mark.parametrize("table", [TOY, TOY_STRICT], ids=lambda table: table.name)
def test_committed_records_belong_to_runs_of_the_tables(table) -> None:  # type: ignore[no-untyped-def]
    keys = {run.key for run in table.runs()}
    records = read_records(RESULTS / f"{table.name}.jsonl")
    assert len(records) >= 55
    assert [record["row"] for record in records if record["key"] not in keys] == []
