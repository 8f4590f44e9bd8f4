"""Classes of nodes: one shared form, masks, and answers that depend on no draw and no eigenbasis."""

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from adacanon import Canonicalized, one_vs_rest
from adacanon.errors import InputError, ShapeError
from adacanon.graphs import (
    BandRotations,
    MaskedObjective,
    NodeBases,
    NodeInputs,
    NodeRotations,
    anlsf,
    dyadic,
    lowest_bands,
    node_coefficients,
    node_coefficients_of,
    node_labeller,
    node_scores,
    spectra,
)
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.testing import check_family
from oracles.node_filter import turned_basis
from oracles.node_labels import answers_by_candidate, blended, least_entropy

PARTITION = dyadic(4)
INFINITE = float("inf")


def graph_of(network: nx.Graph, seed: int = 0) -> Data:
    network = nx.convert_node_labels_to_integers(network)
    edges = torch.tensor(list(network.edges), dtype=torch.int64).reshape(-1, 2).T
    x = torch.randn(network.number_of_nodes(), 3, generator=torch.Generator().manual_seed(seed))
    return Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1), num_nodes=network.number_of_nodes())


def some_graphs() -> list[Data]:
    torus = nx.grid_2d_graph(5, 5, periodic=True)
    networks = [nx.cycle_graph(8), nx.gnp_random_graph(15, 0.3, seed=1), torus, nx.empty_graph(2), nx.path_graph(5)]
    return [graph_of(network, seed) for seed, network in enumerate(networks)]


def labeller(temperature: float = 0.0, candidates: int = 6) -> Canonicalized:
    torch.manual_seed(0)
    family = NodeRotations(PARTITION, rows=3)
    model = node_labeller(
        family, 3, classes=4, candidates=candidates, temperature=temperature, hidden=16, features=8, dropout=0.0
    )
    for parameter in model.network.head.parameters():
        parameter.data *= 5  # so that forms differ in certainty
    return model.eval().double()


def in_double(model: Canonicalized, graphs: object) -> NodeInputs:
    torch.set_default_dtype(torch.float64)
    try:
        return model.prepare(graphs)
    finally:
        torch.set_default_dtype(torch.float32)


class TestAnswers:
    @pytest.mark.parametrize("temperature", [0.0, 0.3, INFINITE])
    def test_they_are_those_of_a_loop_over_candidates(self, temperature: float) -> None:
        model, different = labeller(temperature), 0
        for graph in some_graphs():
            inputs = in_double(model, graph)
            answers = answers_by_candidate(model, inputs)
            different += bool((answers.std(0) > 1e-3).any())
            if temperature == 0:
                expected = least_entropy(answers)
            else:
                expected = answers.mean(0) if temperature == INFINITE else blended(answers, temperature)
            torch.testing.assert_close(node_scores(model, inputs), expected)
        assert different >= 4

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_they_are_the_same_alone_and_in_a_batch(self, temperature: float) -> None:
        model, graphs = labeller(temperature), some_graphs()
        together = node_scores(model, in_double(model, Batch.from_data_list(graphs)))
        alone = torch.cat([node_scores(model, in_double(model, graph)) for graph in graphs])
        torch.testing.assert_close(together, alone)

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_they_do_not_depend_on_the_eigenbasis(self, temperature: float) -> None:
        model = labeller(temperature)
        for graph in some_graphs():
            spectrum, x = spectra([shift_matrix(graph)])[0], graph.x.double()
            expected = node_scores(model, in_double(model, graph))
            for seed in (1, 2):
                turned = turned_basis(spectrum, PARTITION, seed)
                spectral = node_coefficients_of([(turned, x)], PARTITION, dtype=torch.float64)
                found = node_scores(model, NodeInputs(spectral, x.unsqueeze(0)))
                torch.testing.assert_close(found, expected, atol=1e-8, rtol=0)

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_they_move_with_the_nodes(self, temperature: float) -> None:
        model = labeller(temperature)
        for graph in some_graphs():
            order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(3))
            moved = Data(x=graph.x[order], edge_index=order.argsort()[graph.edge_index], num_nodes=graph.num_nodes)
            expected = node_scores(model, in_double(model, graph))[order]
            torch.testing.assert_close(node_scores(model, in_double(model, moved)), expected, atol=1e-8, rtol=0)

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_no_random_number_takes_part(self, temperature: float) -> None:
        model = labeller(temperature)
        inputs = in_double(model, some_graphs())
        expected = node_scores(model, inputs)
        for seed in (1, 2):
            model.seed.fill_(seed)
            assert torch.equal(node_scores(model, inputs), expected)
            generator = torch.Generator().manual_seed(seed)
            assert torch.equal(model(inputs, generator=generator)[inputs.mask], expected)
        model.train()  # without dropout, training mode gives the same
        torch.testing.assert_close(node_scores(model, inputs), expected)

    def test_all_nodes_share_one_form(self) -> None:
        model = labeller()
        found = model.canonicalize(in_double(model, some_graphs()))
        assert found.parameters.shape[1] == 1
        assert found.evaluations == 6.0

    def test_the_contract_of_the_family(self) -> None:
        model = labeller()
        assert "pairs" in check_family(model.family, in_double(model, some_graphs()))


class TestMasks:
    def labels_and_mask(self, graph: Data) -> tuple[Tensor, Tensor]:
        nodes = torch.arange(graph.num_nodes)
        return nodes % 4, nodes % 3 == 0

    def gradients(self, labels: Tensor, mask: Tensor, graph: Data) -> list[Tensor]:
        model = labeller().train()
        loss, _ = MaskedObjective(model)(in_double(model, graph), labels, mask)
        loss.backward()
        return [loss.detach(), *(p.grad for p in model.parameters() if p.grad is not None)]

    def test_labels_outside_the_mask_are_not_read(self) -> None:
        graph = some_graphs()[1]
        labels, mask = self.labels_and_mask(graph)
        hidden = torch.where(mask, labels, -100)
        expected, found = self.gradients(labels, mask, graph), self.gradients(hidden, mask, graph)
        assert len(found) > 5
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
        others = self.gradients((labels + mask) % 4, mask, graph)
        assert not torch.equal(others[0], expected[0])

    def test_the_loss_is_the_mean_over_the_mask(self) -> None:
        model, graph = labeller(), some_graphs()[1]
        labels, mask = self.labels_and_mask(graph)
        loss, scores = MaskedObjective(model)(in_double(model, graph), labels, mask)
        expected = torch.nn.functional.cross_entropy(scores[mask], labels[mask])
        torch.testing.assert_close(loss, expected)
        several = torch.rand(graph.num_nodes, 4).round().double()
        several[~mask] = torch.nan
        assert MaskedObjective(model, loss=one_vs_rest)(in_double(model, graph), several, mask).loss.isfinite()

    def test_bad_masks_and_labels_are_refused(self) -> None:
        model, graph = labeller(), some_graphs()[1]
        objective, inputs = MaskedObjective(model), in_double(model, graph)
        labels, mask = self.labels_and_mask(graph)
        with pytest.raises(ShapeError, match="one boolean for each of the 15 nodes"):
            objective(inputs, labels, mask.long())
        with pytest.raises(ShapeError, match="one boolean for each of the 15 nodes"):
            objective(inputs, labels, mask[:4])
        with pytest.raises(ShapeError, match="row for each of the 15 nodes"):
            objective(inputs, labels[:4], mask)
        with pytest.raises(InputError, match="no node to learn from"):
            objective(inputs, labels, torch.zeros_like(mask))
        with pytest.raises(InputError, match="classes"):
            objective(inputs, labels + 2, mask)


class TestModels:
    def test_wrong_families_are_refused(self) -> None:
        with pytest.raises(InputError, match="node_labeller"):
            node_scores(anlsf(BandRotations(PARTITION, rows=2), channels=3, classes=2), some_graphs())
        with pytest.raises(InputError, match="needs NodeRotations"):
            NodeBases(BandRotations(PARTITION, rows=2))  # type: ignore[arg-type]
        with pytest.raises(InputError, match="candidates"):
            NodeBases(NodeRotations(PARTITION, rows=2), candidates=0)
        with pytest.raises(ShapeError, match="give the graphs"):
            NodeBases(NodeRotations(PARTITION, rows=2)).prepare(node_coefficients(some_graphs(), PARTITION))

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_it_learns_the_communities_of_a_graph_from_a_few_labels(self, temperature: float) -> None:
        network = nx.stochastic_block_model([60, 60, 60], (0.18 * torch.eye(3) + 0.02).tolist(), seed=0)
        graph, labels = graph_of(network), torch.arange(180) // 60
        graph.x += 0.7 * torch.eye(3)[labels]
        train = torch.zeros(180, dtype=torch.bool)
        train[::9] = True
        torch.manual_seed(0)
        family = NodeRotations(lowest_bands(graph, 24, bands=3), rows=3)
        model = node_labeller(family, 3, classes=3, candidates=4, temperature=temperature)
        objective, inputs = MaskedObjective(model), model.prepare(graph)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(60):
            optimizer.zero_grad()
            objective(inputs, labels, train).loss.backward()
            optimizer.step()
        hits = (node_scores(model.eval(), inputs).argmax(1) == labels)[~train]
        assert float(hits.double().mean()) > 0.8
