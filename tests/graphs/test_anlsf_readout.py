"""A-NLSF as a readout: categories, edge features, prepared graphs, answers of any kind, and invariance."""

import sys
import warnings
from functools import partial
from typing import Any

import pytest
import torch
from torch_geometric.data import Batch, Data

from adacanon import Objective, one_vs_rest
from adacanon.baselines.graphs import GraphEncoder
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.graphs import ANLSFReadout, CategoryEmbedding, dyadic, eigensolver_cost, lowest_bands, prepared_graphs
from adacanon.graphs.band_frames import band_frames, return_probabilities
from adacanon.graphs.category_embedding import one_hot_columns
from adacanon.graphs.eigenbases import permuted, redrawn_in_bands, redrawn_in_eigenspaces
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import Spectrum, decompose
from cases.labelled_molecules import ATOM_KINDS, BOND_KINDS, small_molecules
from cases.open_files import open_files_limited_to

WIDTH = 16


def encoder(kind: str = "gatedgcn", *, edges: bool = True) -> GraphEncoder:
    nodes = CategoryEmbedding(ATOM_KINDS, WIDTH, numbers=16)
    return GraphEncoder(
        kind, nodes, edges=CategoryEmbedding(BOND_KINDS, WIDTH) if edges else None, width=WIDTH, layers=2
    )


def readout(kind: str = "gatedgcn", outputs: int = 2, **others: Any) -> ANLSFReadout:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return ANLSFReadout(encoder(kind), width=WIDTH, outputs=outputs, categories=ATOM_KINDS, **others)


def trained(model: ANLSFReadout, graphs: list[Data], labels: torch.Tensor, steps: int = 5) -> ANLSFReadout:
    """A few steps, so that no score is that of an untrained network."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    prepared, objective = model.framed(graphs), Objective(model)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # of the dropout
        for _ in range(steps):
            optimizer.zero_grad()
            objective(prepared, labels).loss.backward()
            optimizer.step()
    return model.eval()


class TestCategories:
    def test_an_embedding_is_the_sum_of_one_row_per_column(self) -> None:
        embedding = CategoryEmbedding((4, 3, 2), 5).double()
        x = torch.tensor([[0, 2, 1], [3, 0, 0], [1, 1, 1]])
        for row, found in zip(x.tolist(), embedding(x), strict=True):
            rows = [embedding.table[start + kind] for start, kind in zip((0, 4, 7), row, strict=True)]
            torch.testing.assert_close(found, sum(rows))

    def test_numbers_follow_the_categories(self) -> None:
        embedding = CategoryEmbedding((4,), 5, numbers=2).eval()
        x = torch.tensor([[1.0, 0.5, -1.0], [3.0, 0.0, 2.0]])
        parts = embedding.table[[1, 3]] + embedding.numbers(x[:, 1:])
        torch.testing.assert_close(embedding(x), parts)

    def test_one_hot_columns_stand_side_by_side(self) -> None:
        x = torch.tensor([[0, 2], [3, 1]])
        assert one_hot_columns(x, (4, 3)).nonzero()[:, 1].tolist() == [0, 6, 3, 5]

    @pytest.mark.parametrize("category", [-1, 3])
    def test_a_category_outside_its_range_is_refused(self, category: int) -> None:
        with pytest.raises(InputError, match=r"Column 1 has the categories 0..2, got"):
            CategoryEmbedding((4, 3), 5)(torch.tensor([[0, category]]))

    def test_numbers_are_no_categories(self) -> None:
        with pytest.raises(InputError, match="whole numbers"):
            CategoryEmbedding((4,), 5)(torch.tensor([[0.5]]))
        with pytest.raises(ShapeError, match="2 columns of categories and 0 of numbers"):
            CategoryEmbedding((4, 3), 5)(torch.tensor([[0, 1, 2]]))
        with pytest.raises(InputError, match="needs a column"):
            CategoryEmbedding((), 5)


class TestLargeGraphs:
    def test_only_the_bands_that_are_used_are_computed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As for all other models on graphs of more than 2,000 nodes."""
        graph = path(2100)
        monkeypatch.setattr(sys.modules[prepared_graphs.__module__], "decompose", None)  # would fail if called
        bands = lowest_bands(graph, 6, bands=2, cache=False)
        found = prepared_graphs([graph], bands, walk_steps=2, cache=False)
        assert int(found.sizes.sum()) == 6
        assert found.signals.shape == (2100, 3)

    def test_a_size_that_does_not_fit_is_refused_before_it_is_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(eigensolver_cost, "memory_bytes", lambda: 2**20)
        with pytest.raises(InputError, match=r"All eigenvectors of 2100 nodes need .* lowest_bands"):
            prepared_graphs([path(2100)], dyadic(6), cache=False)


def path(nodes: int) -> Data:
    """A path with a feature that is one at every node."""
    number = torch.arange(nodes)
    edges = torch.stack([torch.cat([number[:-1], number[1:]]), torch.cat([number[1:], number[:-1]])])
    return Data(x=torch.ones(nodes, 1), edge_index=edges)


class TestPreparation:
    def test_frames_are_those_of_one_hot_features(self) -> None:
        graphs = small_molecules(5)
        hot = [Data(x=one_hot_columns(g.x, ATOM_KINDS), edge_index=g.edge_index) for g in graphs]
        expected = band_frames(hot, dyadic(6), width=4, cache=False)
        found = prepared_graphs(graphs, dyadic(6), categories=ATOM_KINDS)
        torch.testing.assert_close(found.basis, expected.basis)
        assert torch.equal(found.sizes, expected.sizes)
        assert torch.equal(found.ranks, expected.ranks)

    @pytest.mark.parametrize("operator", ["normalized", "laplacian"])
    def test_signals_are_features_and_return_probabilities(self, operator: str) -> None:
        graphs = small_molecules(3)
        found = prepared_graphs(graphs, dyadic(6, high=20.0), categories=ATOM_KINDS, operator=operator, walk_steps=5)
        walks = torch.cat([return_probabilities(shift_matrix(graph), 5) for graph in graphs])
        torch.testing.assert_close(found.signals[:, 2:], walks.float())
        assert torch.equal(found.signals[:, :2], torch.cat([graph.x for graph in graphs]).float())

    def test_an_isolated_node_is_always_back(self) -> None:
        lonely = Data(x=torch.tensor([[0], [1], [2]]), edge_index=torch.tensor([[0, 1], [1, 0]]))
        found = prepared_graphs([lonely], dyadic(6), categories=(3,), walk_steps=2).signals[:, 1:]
        torch.testing.assert_close(found, torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]]))

    def test_a_part_of_prepared_graphs_is_those_graphs_prepared(self) -> None:
        graphs = small_molecules(6)
        prepare = partial(prepared_graphs, partition=dyadic(6), categories=ATOM_KINDS)
        part, alone = prepare(graphs)[torch.tensor([4, 1])], prepare([graphs[4], graphs[1]])
        for name in ("signals", "edge_index", "edge_attr", "graph", "basis", "sizes", "ranks"):
            assert torch.equal(getattr(part, name), getattr(alone, name)), name

    def test_processes_find_the_same_and_keep_no_files_open(self) -> None:
        """Tensors that are sent between processes keep one open each, and every graph has four."""
        graphs, told = small_molecules(130), []
        prepare = partial(prepared_graphs, graphs, dyadic(6), categories=ATOM_KINDS)
        alone = prepare(on_progress=lambda done, total: told.append((done, total)))
        assert told == [(64, 130), (128, 130), (130, 130)]
        with open_files_limited_to(200):
            together = prepare(jobs=2)
        assert torch.equal(alone.basis, together.basis)
        assert torch.equal(alone.signals, together.signals)

    def test_data_sets_are_prepared_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("adacanon.graphs.coefficient_cache._FEWEST_GRAPHS", 10)
        graphs = small_molecules(10, seed=1)
        prepare = partial(prepared_graphs, graphs, dyadic(6), categories=ATOM_KINDS)
        first = prepare()
        again = prepare(on_progress=lambda done, total: pytest.fail("computed again"))
        assert torch.equal(first.basis, again.basis)
        told: list[int] = []
        prepared_graphs(graphs, dyadic(4), categories=ATOM_KINDS, on_progress=lambda done, total: told.append(done))
        assert told == [10]

    def test_a_bar_is_drawn(self, capsys: pytest.CaptureFixture[str]) -> None:
        prepared_graphs(small_molecules(3), dyadic(6), categories=ATOM_KINDS, show=True)
        assert "3/3" in capsys.readouterr().err

    def test_categories_read_as_numbers_are_warned_of(self) -> None:
        with pytest.warns(UserWarning, match="whole numbers and are read as numbers"):
            prepared_graphs(small_molecules(2), dyadic(6))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            prepared_graphs(small_molecules(2), dyadic(6), categories=ATOM_KINDS)


class TestBadGraphs:
    def refused(self, error: type[Exception], match: str, *graphs: Data, **others: Any) -> Exception:
        with pytest.raises(error, match=match) as caught:
            prepared_graphs(graphs, dyadic(6), categories=others.pop("categories", ATOM_KINDS), **others)
        return caught.value

    def test_a_category_outside_its_range_names_the_graph(self) -> None:
        graphs = small_molecules(3)
        graphs[1].x[0, 1] = 3
        found = self.refused(InputError, r"Column 1 has the categories 0..2, got \d..3", *graphs)
        assert "in graph 1" in found.__notes__

    def test_edge_features_of_another_length(self) -> None:
        graphs = small_molecules(3)
        graphs[2].edge_attr = graphs[2].edge_attr[:-1]
        self.refused(ShapeError, r"Graph 2 has \d+ edges and \d+ rows of edge_attr", *graphs)

    def test_edge_features_of_another_width(self) -> None:
        graphs = small_molecules(2)
        graphs[1].edge_attr = graphs[1].edge_attr.repeat(1, 2)
        self.refused(ShapeError, r"the same columns in all graphs", *graphs)

    def test_edge_features_in_some_graphs_only(self) -> None:
        graphs = small_molecules(2)
        graphs[1].edge_attr = None
        self.refused(InputError, r"Graph 1 has no edge_attr, others have", *graphs)

    def test_a_directed_graph(self) -> None:
        graphs = small_molecules(2)
        graphs[1].edge_index = graphs[1].edge_index[:, :3]
        found = self.refused(InputError, r"symmetric", *graphs)
        assert "in graph 1" in found.__notes__

    def test_a_graph_without_nodes(self) -> None:
        empty = Data(x=torch.zeros(0, 2, dtype=torch.int64), edge_index=torch.zeros(2, 0, dtype=torch.int64))
        found = self.refused(InputError, r"at least one node", small_molecules(1)[0], empty)
        assert "in graph 1" in found.__notes__

    def test_a_function_stays_in_its_process(self) -> None:
        self.refused(InputError, "jobs=1", *small_molecules(2), operator=shift_matrix, jobs=2)

    def test_graphs_without_edges_and_disconnected_ones_have_answers(self) -> None:
        graphs = small_molecules(3)
        point = Data(
            x=torch.zeros(1, 2, dtype=torch.int64),
            edge_index=torch.zeros(2, 0, dtype=torch.int64),
            edge_attr=torch.zeros(0, 1, dtype=torch.int64),
        )
        two = Batch.from_data_list(graphs[:2])
        apart = Data(x=two.x, edge_index=two.edge_index, edge_attr=two.edge_attr)
        model = readout().eval()
        answers = model([point, apart, graphs[2]])
        assert answers.isfinite().all()
        torch.testing.assert_close(answers[2:], model([graphs[2]]))

    def test_an_encoder_of_another_width(self) -> None:
        model = ANLSFReadout(encoder(), width=WIDTH + 1, outputs=2, categories=ATOM_KINDS)
        with pytest.raises(ShapeError, match="width of ANLSFReadout is that of the encoder"):
            model(small_molecules(2))

    def test_an_encoder_without_edge_features(self) -> None:
        model = ANLSFReadout(encoder(edges=False), width=WIDTH, outputs=2, categories=ATOM_KINDS)
        with pytest.raises(InputError, match="built without edge features"):
            model(small_molecules(2))

    def test_unknown_targets(self) -> None:
        with pytest.raises(UnknownNameError, match="classes, numbers"):
            readout(targets="labels")


class TestAnswers:
    @pytest.mark.parametrize("kind", ["gin", "gatedgcn", "gcn"])
    def test_gradients_reach_nodes_edges_and_readout(self, kind: str) -> None:
        model, batch = readout(kind), Batch.from_data_list(small_molecules(6))
        Objective(model)(batch, torch.arange(6) % 2).loss.backward()
        assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())
        own = model.encoder.encoder
        for table in (own.node_encoder.table, own.edge_encoder.table):
            assert float(table.grad.abs().max()) > 0

    def test_classes(self) -> None:
        """Which of two kinds of bonds the first bond is, is learned by an encoder that reads bonds."""
        graphs = small_molecules(60)
        for number, graph in enumerate(graphs):
            graph.edge_attr[:] = number % 2
        labels = torch.arange(60) % 2
        model = trained(readout(), graphs, labels, steps=80)
        assert float((model(graphs).argmax(1) == labels).float().mean()) > 0.95

    def test_several_labels_some_of_them_missing(self) -> None:
        model, graphs = readout(outputs=3), small_molecules(4)
        labels = torch.tensor([[1.0, 0.0, torch.nan]] * 4)
        objective = Objective(model, loss=one_vs_rest)
        objective(graphs, labels).loss.backward()
        assert float(model.canonicalized.network.rest[-1].bias.grad[2]) == 0
        assert float(model.canonicalized.network.rest[-1].bias.grad[:2].abs().min()) > 0

    def test_a_single_label(self) -> None:
        model, graphs = readout(outputs=1), small_molecules(4)
        loss, scores = Objective(model, loss=one_vs_rest)(graphs, torch.tensor([[1.0], [0.0], [1.0], [torch.nan]]))
        loss.backward()
        assert scores.shape == (4, 1)

    def test_numbers_are_blended(self) -> None:
        model, graphs = readout(outputs=2, targets="numbers").eval(), small_molecules(4)
        found = model.canonicalize(graphs)
        assert found.logits.shape == (4, 2)
        torch.testing.assert_close(found.logits, model(graphs))
        assert float(found.effective_forms.min()) > 1

    def test_numbers_are_learned(self) -> None:
        """The share of bonds of one kind, by least squares."""
        graphs = small_molecules(80)
        shares = torch.stack([(graph.edge_attr == 0).float().mean(0) for graph in graphs])
        shares = (shares - shares.mean()) / shares.std()
        model = readout(outputs=1, targets="numbers", dropout=0.0)
        prepared, optimizer = model.framed(graphs), torch.optim.Adam(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = Objective(model, loss=torch.nn.functional.mse_loss)(prepared, shares).loss
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.3 * losses[0]

    def test_a_search_in_training_leaves_the_model_as_it_is(self) -> None:
        model, graphs = readout().train(), small_molecules(6)
        before = {name: value.clone() for name, value in model.state_dict().items() if isinstance(value, torch.Tensor)}
        model.canonicalize(graphs)
        after = model.state_dict()
        assert [name for name, value in before.items() if not torch.equal(value, after[name])] == [
            "canonicalized.draws"
        ]

    def test_a_single_graph_can_be_trained_on(self) -> None:
        model = readout().train()
        Objective(model)(small_molecules(1), torch.tensor([1])).loss.backward()

    def test_edge_features_are_read(self) -> None:
        model, (graph,) = readout().eval(), small_molecules(1)
        other = graph.clone()
        other.edge_attr = (graph.edge_attr + 1) % BOND_KINDS[0]
        assert float((model([graph]) - model([other])).detach().abs().max()) > 1e-4


def redrawn(monkeypatch: pytest.MonkeyPatch, redraw: Any) -> None:
    """From now on the eigensolver returns other bases."""
    generator = torch.Generator().manual_seed(5)

    def other(matrix: torch.Tensor) -> Spectrum:
        spectrum = decompose(matrix)
        moved = redraw(spectrum, generator=generator)
        assert not torch.allclose(moved.eigenvectors, spectrum.eigenvectors)
        return moved

    monkeypatch.setattr(sys.modules[prepared_graphs.__module__], "decompose", other)


IN_BANDS = partial(redrawn_in_bands, partition=dyadic(6))


class TestInvariance:
    @pytest.mark.parametrize("redraw", [IN_BANDS, redrawn_in_eigenspaces])
    @pytest.mark.parametrize("targets", ["classes", "numbers"])
    def test_other_eigenbases_change_no_answer(
        self, redraw: Any, targets: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        graphs = small_molecules(12)
        model = readout(targets=targets).eval()
        before = model(graphs)
        redrawn(monkeypatch, redraw)
        torch.testing.assert_close(model(graphs), before, rtol=1e-4, atol=1e-4)

    def test_another_order_of_the_nodes_changes_no_answer(self) -> None:
        graphs, generator = small_molecules(12), torch.Generator().manual_seed(3)
        moved = [permuted(graph, torch.randperm(graph.num_nodes, generator=generator)) for graph in graphs]
        model = trained(readout(), graphs, torch.arange(12) % 2)
        torch.testing.assert_close(model(moved), model(graphs), rtol=1e-4, atol=1e-4)

    def test_the_coefficients_take_part(self) -> None:
        """Otherwise the test above would hold for trivial reasons."""
        model, prepared = readout().eval(), prepared_graphs(small_molecules(4), dyadic(6), categories=ATOM_KINDS)
        without = type(prepared)(**{**vars(prepared), "basis": torch.zeros_like(prepared.basis)})
        assert float((model(prepared) - model(without)).detach().abs().max()) > 1e-2

    @pytest.mark.data
    @pytest.mark.parametrize("name", ["ogbg-molhiv", "peptides-func"])
    @pytest.mark.parametrize("redraw", [IN_BANDS, redrawn_in_eigenspaces])
    def test_molecules_are_answered_the_same_in_every_eigenbasis(
        self, name: str, redraw: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from adacanon.data import load_ogb, load_peptides

        data = load_peptides() if name == "peptides-func" else load_ogb(name)
        chosen = data.parts.train[:24]
        graphs = data.graphs(chosen)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            nodes = CategoryEmbedding(data.node_categories, WIDTH, numbers=16)
            edges = CategoryEmbedding(data.edge_categories, WIDTH)
            built = ANLSFReadout(
                GraphEncoder("gatedgcn", nodes, edges=edges, width=WIDTH, layers=2),
                width=WIDTH,
                outputs=2,
                categories=data.node_categories,
            )
        model = trained(built, graphs, torch.arange(24) % 2)
        with torch.no_grad():
            before = model(graphs)
            redrawn(monkeypatch, redraw)
            after = model(graphs)
        unit = before.std(0).mean()
        assert float((after - before).abs().max()) < 1e-3 * float(unit)
        assert torch.equal(after.argmax(1), before.argmax(1))
