"""The table of classes of nodes: its tasks, its baselines, and what a run measures."""

import pytest
import torch

from adacanon.baselines.graphs import NodeCheb, NodeGAT, NodeGCN, NodeMLP, ResidualNodeGCN, label_propagation
from adacanon.data.node_tasks import block_model, mesh_waves
from adacanon.errors import InputError
from adacanon.experiments.graphs.node_methods import OnNodes
from adacanon.experiments.graphs.nodes import NODES, task_of
from adacanon.runs.run import Run
from adacanon.training.loop import TrainingControl

SMALL = {
    "blocks": {"nodes": 200, "eigenpairs": 24, "bands": 3},
    "meshes": {"graphs": 8, "nodes": 40},
}


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def small_run(row: str, column: str) -> Run:
    settings = NODES.settings_of(row, column)
    few = {name: value for name, value in SMALL[column].items() if name in settings}
    return Run.of(NODES.name, row, column, 0, {**settings, **few, "epochs": 3})


class TestTasks:
    def test_a_block_model_has_the_edges_that_it_is_asked_for(self) -> None:
        task = block_model(2000, degree=8.0, within=0.6, generator=generator())
        same = task.labels[task.edge_index[0]] == task.labels[task.edge_index[1]]
        assert abs(float(same.double().mean()) - 0.6) < 0.03
        assert abs(task.edge_index.shape[1] / 2000 - 8) < 0.2
        assert bool((task.edge_index[0] != task.edge_index[1]).all())
        assert torch.equal(task.edge_index, task.edge_index.flip(0).unique(dim=1))
        with pytest.raises(InputError, match="block model"):
            block_model(10, within=1.2, generator=generator())

    def test_waves_along_the_reference_decide_the_classes_of_a_mesh(self) -> None:
        task = mesh_waves(4, nodes=80, noise=0.0, generator=generator())
        for i in range(task.graphs):
            x, labels = task.x[task.graph == i].double(), task.labels[task.graph == i]
            for phase in torch.linspace(0, 6.2832, 2000, dtype=torch.float64):
                if bool(((x[:, 0] * phase.cos() - x[:, 1] * phase.sin() > 0) == labels.bool()).all()):
                    break
            else:
                pytest.fail("the classes are no function of the reference")

    @pytest.mark.parametrize("column", NODES.columns)
    def test_parts_are_disjoint_and_complete(self, column: str) -> None:
        task, split = task_of(NODES.runs(rows=("GCN",), columns=(column,))[0])
        every = torch.cat([split.train, split.validation, split.test])
        assert torch.equal(every.sort().values, torch.arange(len(task.labels)))
        assert min(len(split.train), len(split.validation), len(split.test)) >= 300
        if task.graphs > 1:
            assert not set(task.graph[split.train].tolist()) & set(task.graph[split.test].tolist())


class TestBaselines:
    @pytest.mark.parametrize("kind", [NodeMLP, NodeGCN, NodeGAT, NodeCheb, ResidualNodeGCN])
    def test_they_move_with_the_nodes(self, kind: type[torch.nn.Module]) -> None:
        torch.manual_seed(0)
        task = block_model(40, channels=5, generator=generator())
        network = kind(5, classes=3).eval()  # type: ignore[call-arg]
        order = torch.randperm(40, generator=generator())
        found = network(task.x[order], order.argsort()[task.edge_index])
        torch.testing.assert_close(found, network(task.x, task.edge_index)[order], atol=1e-5, rtol=0)

    def test_label_propagation_reads_known_labels_alone(self) -> None:
        task = block_model(200, within=0.9, generator=generator())
        known = torch.arange(0, 200, 7)
        hidden = torch.full_like(task.labels, -1)
        hidden[known] = task.labels[known]
        found = label_propagation(hidden, known, task.edge_index, classes=5)
        assert torch.equal(found, label_propagation(task.labels, known, task.edge_index, classes=5))
        assert float((found.argmax(1) == task.labels).double().mean()) > 0.6

    def test_kept_scores_follow_the_parameters(self) -> None:
        network = torch.nn.Linear(2, 2)
        module, calls = OnNodes(network, lambda: calls.append(1) or network(torch.eye(2))), list[int]()
        module.eval()
        with torch.no_grad():
            first = module(torch.tensor([0]))
            module(torch.tensor([1]))
            assert len(calls) == 1
            network.weight.add_(1)
            assert not torch.equal(module(torch.tensor([0])), first)


class TestRuns:
    @pytest.mark.parametrize("column", NODES.columns)
    @pytest.mark.parametrize("row", NODES.row_names)
    def test_every_row_runs(self, row: str, column: str) -> None:
        metrics = NODES.execute(small_run(row, column), TrainingControl())
        assert 0 <= metrics["accuracy"] <= 100
        if row.startswith("A-NLSF"):
            assert metrics["changed_by_basis"] == 0
