"""The fair tables: the same inputs and folds for every row, all rows can be trained, the search can be isolated."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from adacanon.data.tu import GraphDataset
from adacanon.experiments.graphs import fair_data, tu_fair
from adacanon.experiments.graphs.fair_data import FairFold, standardised, structural_inputs
from adacanon.experiments.graphs.fair_methods import CONTROLS, METHODS
from adacanon.experiments.graphs.fair_spectral import SpectralReadout
from adacanon.experiments.graphs.tu_data import COLUMNS, TUData
from adacanon.experiments.graphs.tu_fair import GRID, ROWS, TU_FAIR, TU_FAIR_ATTRIBUTES, TU_FAIR_LABELS
from adacanon.runs.nested import points
from adacanon.runs.run import Run
from adacanon.runs.table import row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, TrainingControl, accuracy, training_epoch


def random_graph(nodes: int, label: int, generator: torch.Generator) -> Data:
    """A ring with chords and one-hot labels."""
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    chord = torch.randperm(nodes, generator=generator)[:2].unsqueeze(1)
    edges = torch.cat([ring, chord], dim=1)
    edges = torch.cat([edges, edges.flip(0)], dim=1).unique(dim=1)
    x = torch.eye(3)[torch.randint(3, (nodes,), generator=generator)]
    return Data(x=x, edge_index=edges, y=torch.tensor([label]), num_nodes=nodes)


def data_of(graphs: int) -> TUData:
    generator, labels = torch.Generator().manual_seed(0), torch.arange(graphs) % 2
    made = [random_graph(5 + i % 8, int(label), generator) for i, label in enumerate(labels)]
    return TUData(GraphDataset("random", made, labels, 2))


@pytest.fixture
def fold() -> FairFold:
    data, index = data_of(16), torch.arange(16)
    split = DataSplit(index[:10], index[10:13], index[13:])
    signals = standardised(structural_inputs(data), data.batches.nodes(split.train))
    return FairFold(data, torch.cat([data.batches.x, signals], dim=1), split)


def options(row: str) -> dict:  # type: ignore[type-arg]
    own = tu_fair.settings(row_named(ROWS, row), "MUTAG", "cpu")
    return {**own, "width": 16, "hidden": 16, "layers": 2, "dropout": 0.1, "learning_rate": 0.01}


def learner_of(row: str, fold: FairFold) -> Learner:
    torch.manual_seed(0)
    return METHODS[row](fold, options(row), 0)


@pytest.mark.parametrize("row", list(METHODS))
class TestEveryRow:
    def test_it_trains_and_gives_one_score_per_class(self, row: str, fold: FairFold) -> None:
        learner = learner_of(row, fold)
        optimizer = torch.optim.Adam(learner.module.parameters(), lr=1e-2)
        generator = torch.Generator().manual_seed(0)
        losses = [training_epoch(learner, optimizer, fold.split.train, 5, generator) for _ in range(15)]
        assert min(losses[-3:]) < losses[0]
        learner.module.eval()
        assert learner.scores(torch.arange(16)).shape == (16, 2)

    def test_a_graph_gets_the_same_scores_alone_and_in_a_batch(self, row: str, fold: FairFold) -> None:
        learner = learner_of(row, fold)
        learner.module.eval()
        with torch.no_grad():
            together = learner.scores(torch.tensor([7, 0, 11, 3]))
            alone = torch.cat([learner.scores(torch.tensor([i])) for i in (7, 0, 11, 3)])
        torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)

    def test_it_reads_the_inputs_of_the_fold(self, row: str, fold: FairFold) -> None:
        learner = learner_of(row, fold)
        other = METHODS[row](replace(fold, x=torch.cat([fold.x[:, :-1], fold.x[:, -1:] + 1], dim=1)), options(row), 0)
        other.module.load_state_dict(learner.module.state_dict())
        learner.module.eval()
        other.module.eval()
        with torch.no_grad():
            first, second = (one.scores(torch.arange(16)) for one in (learner, other))
        assert not torch.allclose(first, second, atol=1e-6)


class TestTables:
    def test_all_rows_have_the_same_inputs_grid_and_length(self) -> None:
        shared = ("inputs", "grid", "epochs", "patience", "batch", "width", "layers", "weight_decay", "halved_every")
        for table in (TU_FAIR, TU_FAIR_LABELS, TU_FAIR_ATTRIBUTES):
            for column in table.columns:
                cells = [table.settings(row, column, "cpu") for row in table.rows]
                assert all(len({str(cell[name]) for cell in cells}) == 1 for name in shared)
        assert len(points(GRID)) == 4

    def test_tables_differ_in_their_inputs(self) -> None:
        found = {t.settings_of("GIN", "ENZYMES")["inputs"] for t in (TU_FAIR, TU_FAIR_LABELS, TU_FAIR_ATTRIBUTES)}
        assert found == {"structural", "labels", "attributes"}

    def test_a_run_reads_the_test_fold_once_and_records_no_best_test_epoch(
        self, fold: FairFold, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tested: list[Tensor] = []

        def counted(learner: Learner, index: Tensor, *, batch: int) -> float:
            tested.append(index)
            return accuracy(learner, index, batch=batch)

        monkeypatch.setattr(tu_fair, "fair_fold", lambda column, inputs, split: fold)
        monkeypatch.setattr(tu_fair, "accuracy", counted)
        run = Run.of("tu-fair", "GIN", "MUTAG", 0, {**options("GIN"), "epochs": 3, "batch": 5, "grid": GRID})
        metrics = tu_fair.execute(run, TrainingControl())
        assert len(tested) == 1
        assert torch.equal(tested[0], fold.split.test)
        assert not [name for name in metrics if "best" in name]
        assert 0 <= metrics["chosen"] < 4
        assert metrics["grid_epochs"] == 12


class TestInputs:
    def test_structure_is_degree_and_return_probabilities(self) -> None:
        data = data_of(3)
        found = structural_inputs(data).split([graph.num_nodes for graph in data.dataset.graphs])
        for graph, signals in zip(data.dataset.graphs, found, strict=True):
            adjacency = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
            adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
            torch.testing.assert_close(signals[:, 0], adjacency.sum(1).float())
            walk = adjacency / adjacency.sum(1, keepdim=True)
            for step in range(1, fair_data.WALK_STEPS + 1):
                expected = torch.linalg.matrix_power(walk, step).diagonal().float()
                torch.testing.assert_close(signals[:, step], expected, atol=1e-6, rtol=1e-5)

    def test_the_scale_is_that_of_the_training_part(self) -> None:
        signals = torch.tensor([[0.0], [2.0], [1000.0]])
        assert standardised(signals, torch.tensor([0, 1])).flatten().tolist() == pytest.approx(
            [-(0.5**0.5), 0.5**0.5, 5]
        )

    def test_folds_without_published_ones_divide_the_graphs_by_class(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fair_data, "tu_data", lambda column, features: data_of(80))
        folds = fair_data._folds.__wrapped__("MUTAG")
        assert torch.equal(torch.cat([fold.test for fold in folds]).sort().values, torch.arange(80))
        for fold in folds:
            parts = (fold.train, fold.validation, fold.test)
            assert torch.equal(torch.cat(parts).sort().values, torch.arange(80))
            assert all(abs(float((part % 2).float().mean()) - 0.5) < 0.1 for part in parts)

    def test_the_columns_are_those_of_the_paper(self) -> None:
        assert TU_FAIR.columns == COLUMNS


class TestControls:
    def test_they_differ_in_the_bases_alone(self, fold: FairFold) -> None:
        learners = {row: learner_of(row, fold).module for row in CONTROLS}
        shapes = {row: {n: tuple(p.shape) for n, p in m.encoder.named_parameters()} for row, m in learners.items()}
        assert all(shape == shapes["A-NLSF"] for shape in shapes.values())
        assert {type(module) for module in learners.values()} == {SpectralReadout}

    def test_random_bases_are_drawn_at_every_step_and_not_in_evaluation(self, fold: FairFold) -> None:
        module = learner_of("A-NLSF (random bases)", fold)
        index = torch.arange(4)
        with torch.no_grad():
            module.module.train()
            for part in module.module.modules():
                if isinstance(part, torch.nn.Dropout):
                    part.p = 0.0
            assert not torch.allclose(module.scores(index), module.scores(index), atol=1e-5)
            module.module.eval()
            assert torch.equal(module.scores(index), module.scores(index))

    @pytest.mark.parametrize("row", ["A-NLSF (no search)", "Gram MLP"])
    def test_without_a_search_a_graph_has_one_form(self, row: str, fold: FairFold) -> None:
        module = learner_of(row, fold)
        module.module.eval()
        with torch.no_grad():
            x, edge_index, graph, basis, sizes, ranks = module.inputs(torch.tensor([2]))
            given = module.module(x, edge_index, graph, basis, sizes, ranks)
            flipped = module.module(x, edge_index, graph, -basis, sizes, ranks)
        same = torch.allclose(given, flipped, atol=1e-6)
        assert same == (row == "Gram MLP")  # the Gram matrices do not see signs, the coefficients do
