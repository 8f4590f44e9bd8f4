"""Node-level A-NLSF: coefficients and node vectors, their rotations, filters, classifiers and directions."""

import copy
import math

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import from_networkx

from adacanon import Canonicalized, Objective, RandomSearch, SampleAndRefine
from adacanon.core.pytree import tensors
from adacanon.data.grid_orientation import torus_edges
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.graphs import (
    BandRotations,
    NodeClassifier,
    NodeCoefficients,
    NodeFilter,
    NodeForms,
    NodeRotations,
    Partition,
    anlsf,
    band_coefficients,
    directional_filter,
    dyadic,
    node_anlsf,
    node_coefficients,
    node_coefficients_of,
    node_embeddings,
    spectra,
)
from adacanon.graphs.node_anlsf import pool
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.testing import check_family, check_space
from oracles.node_filter import (
    analysis,
    band_vectors,
    filtered,
    projected_frame,
    random_rotations,
    turned_basis,
    whole_frame,
)

PARTITION = dyadic(4)
ROWS = 3
DOUBLE = torch.float64


def graph_of(network: nx.Graph, channels: int = 3, seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(network.number_of_nodes(), channels, generator=generator)
    return Data(x=x, edge_index=from_networkx(network).edge_index.long(), num_nodes=network.number_of_nodes())


def some_graphs(channels: int = 3) -> list[Data]:
    networks = [
        nx.cycle_graph(7),
        nx.path_graph(5),
        nx.complete_graph(4),
        nx.gnp_random_graph(12, 0.3, seed=1),
        nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4, periodic=True)),
        nx.empty_graph(2),
        nx.empty_graph(1),
    ]
    graphs = [graph_of(network, channels, seed=i) for i, network in enumerate(networks)]
    graphs[3].x[:, 1] = graphs[3].x[:, 0]  # a dependent channel
    graphs[4].x[:, 2] = 1  # a channel in the first band only
    return graphs


def exact(graphs: object, partition: Partition = PARTITION) -> NodeCoefficients:
    return node_coefficients(graphs, partition, dtype=DOUBLE)


def classifier(classes: int = 3, channels: int = 3) -> Canonicalized:
    torch.manual_seed(0)
    family = NodeRotations(PARTITION, rows=ROWS)
    search = SampleAndRefine(candidates=8, steps=2)
    return node_anlsf(family, channels, classes=classes, hidden=16, features=5, search=search).eval().double()


def spectrum_of(graph: Data):  # type: ignore[no-untyped-def]
    return spectra([shift_matrix(graph)])[0]


def shuffled(graph: Data, seed: int) -> tuple[Data, Tensor]:
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    edges = order.argsort()[graph.edge_index]
    return Data(x=graph.x[order], edge_index=edges, num_nodes=graph.num_nodes), order


class TestNodeCoefficients:
    def test_the_two_factors_give_the_part_of_the_signal_in_every_band(self) -> None:
        graphs = some_graphs()
        g = exact(graphs)
        for i, graph in enumerate(graphs):
            for k, v in enumerate(band_vectors(spectrum_of(graph), PARTITION)):
                part = g.bases[i, k].T @ g.coefficients.factors[i, k]
                torch.testing.assert_close(part[: graph.num_nodes], v @ v.T @ graph.x.double(), atol=1e-10, rtol=0)
                assert not part[graph.num_nodes :].any()

    def test_node_vectors_are_orthonormal_as_many_as_the_rank(self) -> None:
        g = exact(some_graphs())
        expected = torch.arange(g.bases.shape[2]) < g.coefficients.ranks[..., None]
        torch.testing.assert_close(g.bases @ g.bases.mT, torch.diag_embed(expected.double()), atol=1e-10, rtol=0)
        assert sorted(g.coefficients.ranks.unique().tolist()) == [0, 1, 2, 3]

    def test_neither_factor_sees_the_eigenbasis(self) -> None:
        for graph in some_graphs():
            spectrum = spectrum_of(graph)
            turned = turned_basis(spectrum, PARTITION, 5)
            a, b = (node_coefficients_of([(s, graph.x)], PARTITION, dtype=DOUBLE) for s in (spectrum, turned))
            for one, other in zip(tensors(a), tensors(b), strict=True):
                torch.testing.assert_close(one, other, atol=1e-10, rtol=0)

    def test_batches_lists_and_single_graphs_agree(self) -> None:
        graphs = some_graphs()
        batch, listed = node_coefficients(Batch.from_data_list(graphs), PARTITION), node_coefficients(graphs, PARTITION)
        assert all(torch.equal(a, b) for a, b in zip(tensors(batch), tensors(listed), strict=True))
        single = node_coefficients(graphs[1], PARTITION)
        width = single.bases.shape[2]
        torch.testing.assert_close(single.bases[0], batch.bases[1, :, :width, :5])
        assert batch.mask.sum(1).tolist() == [graph.num_nodes for graph in graphs]

    def test_indexing_keeps_all_parts_together_and_cuts_the_padding(self) -> None:
        g = exact(some_graphs())
        chosen = g[torch.tensor([2, 0])]
        assert len(chosen) == 2
        assert chosen.bases.shape[-1] == chosen.mask.shape[1] == 7
        assert torch.equal(chosen.bases[0], g.bases[2, :, :, :7])
        assert len(g[1:3]) == 2
        assert len(g[:0]) == 0

    def test_casting_leaves_sizes_and_mask_as_they_are(self) -> None:
        g = exact(some_graphs()).to(torch.float32)
        assert g.bases.dtype == g.coefficients.factors.dtype == torch.float32
        assert g.mask.dtype == torch.bool
        assert g.coefficients.sizes.dtype == torch.int64


class TestNodeRotations:
    def test_they_name_a_search_of_their_own(self) -> None:
        torch.manual_seed(0)
        network = NodeClassifier(NodeFilter(4 * ROWS, 3, features=5, hidden=16), classes=3)
        model = Canonicalized(network, NodeRotations(PARTITION, rows=ROWS)).eval()
        assert model.search == SampleAndRefine(candidates=32, steps=1, step_size=10.0)
        assert model.training_search is None
        graphs = some_graphs()
        found = model.canonicalize(graphs)
        assert found.logits.shape == (len(graphs), 3)
        drawn = (
            Canonicalized(network, NodeRotations(PARTITION, rows=ROWS), RandomSearch(32)).eval().canonicalize(graphs)
        )
        assert bool((found.logits >= drawn.logits - 1e-6).all())
        assert float((found.logits - drawn.logits).mean()) > 0

    def test_the_contract_of_a_family(self) -> None:
        checked = check_family(NodeRotations(PARTITION, rows=ROWS), exact(some_graphs()))
        assert {"pairs", "purity", "continuity", "equicontinuity", "gradients"} <= set(checked)

    def test_the_contract_of_its_space(self) -> None:
        family = NodeRotations(PARTITION, rows=ROWS)
        assert "members" in check_space(family.space(exact(some_graphs())), first_order=False)

    @pytest.mark.parametrize("rows", [1, 3, (1, 2, 3, 9)])
    def test_forms_are_those_of_whole_orthogonal_matrices_and_whole_eigenbases(self, rows: int | tuple) -> None:
        family, generator = NodeRotations(PARTITION, rows=rows), torch.Generator().manual_seed(0)
        for graph in some_graphs():
            spectrum, signal, g = spectrum_of(graph), graph.x.double(), exact(graph)
            for _ in range(3):
                us, vs = random_rotations(spectrum, PARTITION, generator), band_vectors(spectrum, PARTITION)
                bands = list(zip(vs, us, family.rows_per_band, strict=True))
                forms = family.transform(g, block_of(g, bands), torch.tensor([0]))
                coefficients = torch.cat([analysis(v, u, signal, j) for v, u, j in bands])
                frames = torch.cat([projected_frame(v, u, signal, j) for v, u, j in bands])
                torch.testing.assert_close(forms.coefficients[0], coefficients, atol=1e-9, rtol=0)
                torch.testing.assert_close(forms.frames[0], frames, atol=1e-9, rtol=0)

    def test_where_the_channels_span_the_bands_the_frame_is_the_whole_rotated_basis(self) -> None:
        graph = graph_of(nx.gnp_random_graph(9, 0.4, seed=3), channels=9)
        spectrum, g, family = spectrum_of(graph), exact(graph), NodeRotations(PARTITION, rows=ROWS)
        us = random_rotations(spectrum, PARTITION, torch.Generator().manual_seed(0))
        bands = list(zip(band_vectors(spectrum, PARTITION), us, family.rows_per_band, strict=True))
        forms = family.transform(g, block_of(g, bands), torch.tensor([0]))
        expected = torch.cat([whole_frame(v, u, j) for v, u, j in bands])
        torch.testing.assert_close(forms.frames[0], expected, atol=1e-9, rtol=0)

    def test_with_enough_rows_synthesis_gives_the_signal_back(self) -> None:
        graphs = some_graphs()
        family, g = NodeRotations(PARTITION, rows=16), exact(graphs)
        u = family.space(g).sample(2, generator=torch.Generator().manual_seed(0))
        for draw in u:
            forms = family.transform(g, draw, torch.arange(len(graphs)))
            signal = (forms.frames.mT @ forms.coefficients)[forms.mask]
            torch.testing.assert_close(signal, torch.cat([graph.x for graph in graphs]).double(), atol=1e-9, rtol=0)

    def test_coefficients_are_those_of_the_graph_level_family(self) -> None:
        g = exact(some_graphs())
        node_level, graph_level = NodeRotations(PARTITION, rows=ROWS), BandRotations(PARTITION, rows=ROWS)
        u = node_level.space(g).sample(1, generator=torch.Generator().manual_seed(0))[0]
        owner = torch.arange(len(g))
        expected = graph_level.transform(g.coefficients, u, owner)
        torch.testing.assert_close(node_level.transform(g, u, owner).coefficients, expected)

    def test_bad_input_is_refused(self) -> None:
        family = NodeRotations(PARTITION, rows=ROWS)
        with pytest.raises(InputError, match="4 bands"):
            NodeRotations(PARTITION, rows=(1, 2))
        with pytest.raises(InputError, match="needs a partition"):
            NodeRotations(4)  # type: ignore[arg-type]
        with pytest.raises(UnknownNameError, match="fourier"):
            NodeRotations(PARTITION, operator="fourier")
        with pytest.raises(ShapeError, match=r"node_coefficients\(graphs, partition\)"):
            family.prepare(band_coefficients(some_graphs(), PARTITION))
        with pytest.raises(ShapeError, match="4 bands, but the coefficients have 5"):
            family.prepare(node_coefficients(some_graphs(), dyadic(5)))
        with pytest.raises(ShapeError, match="same number of node features"):
            node_coefficients([graph_of(nx.path_graph(3), 2), graph_of(nx.path_graph(3), 3)], PARTITION)


class TestNodeFilter:
    def test_it_agrees_with_a_loop_over_bands_and_rows(self) -> None:
        model, graphs = classifier(), some_graphs()
        filter, family = model.network.filter, model.family
        for graph in graphs:
            g = exact(graph)
            u = family.space(g).sample(1, generator=torch.Generator().manual_seed(1))[0]
            forms = family.transform(g, u, torch.tensor([0]))
            learned = filter.spectral(forms.coefficients)[0].reshape(PARTITION.bands, ROWS, 5)
            expected = filtered(list(forms.frames[0].reshape(PARTITION.bands, ROWS, -1)), list(learned))
            torch.testing.assert_close(filter(forms)[0], expected)

    def test_it_is_equivariant_to_permutations_of_the_nodes(self) -> None:
        filter, family, g = classifier().network.filter, NodeRotations(PARTITION, rows=ROWS), exact(some_graphs())
        u, owner = family.space(g).sample(1, generator=torch.Generator().manual_seed(0))[0], torch.arange(len(g))
        forms = family.transform(g, u, owner)
        order = torch.randperm(g.mask.shape[1], generator=torch.Generator().manual_seed(0))
        permuted = NodeForms(forms.coefficients, forms.frames[..., order], forms.mask[:, order])
        torch.testing.assert_close(filter(permuted), filter(forms)[:, order])

    def test_one_channel_is_multiplied_by_numbers_band_by_band(self) -> None:
        model, graph = classifier(channels=1), graph_of(nx.gnp_random_graph(14, 0.3, seed=2), channels=1)
        embeddings = node_embeddings(model, exact(graph))
        parts = torch.cat([v @ v.T @ graph.x.double() for v in band_vectors(spectrum_of(graph), PARTITION)], dim=1)
        assert embeddings.norm() > 0.1
        torch.testing.assert_close(parts @ torch.linalg.pinv(parts) @ embeddings, embeddings, atol=1e-8, rtol=0)

    def test_wrong_forms_and_sizes_are_refused(self) -> None:
        with pytest.raises(ShapeError, match="expects NodeForms, got Tensor"):
            NodeFilter(12, 3)(torch.zeros(2, 12, 3))
        with pytest.raises(ShapeError, match="SpectralMLP expects coefficients"):
            Canonicalized(NodeFilter(12, 4), NodeRotations(PARTITION, rows=3), RandomSearch(2))(some_graphs())
        with pytest.raises(InputError, match="features=0"):
            NodeFilter(12, 3, features=0)


class TestPooling:
    @pytest.mark.parametrize("pooling", ["mean", "sum"])
    def test_padding_does_not_count(self, pooling: str) -> None:
        x = torch.randn(3, 6, 2, generator=torch.Generator().manual_seed(0))
        mask = torch.arange(6) < torch.tensor([[6], [1], [4]])
        expected = torch.stack([getattr(x[i, :n], pooling)(0) for i, n in enumerate((6, 1, 4))])
        torch.testing.assert_close(pool(x, mask, pooling), expected)  # type: ignore[arg-type]


class TestClassifier:
    @pytest.mark.parametrize("pooling", ["mean", "sum"])
    def test_the_network_agrees_with_one_graph_at_a_time(self, pooling: str) -> None:
        torch.manual_seed(1)
        family, graphs = NodeRotations(PARTITION, rows=ROWS), some_graphs()
        network = NodeClassifier(NodeFilter(12, 3, features=4), classes=2, layers=1, pooling=pooling).double()  # type: ignore[arg-type]
        torch.nn.init.normal_(network.bias)
        g = exact(graphs)
        u = family.space(g).sample(1, generator=torch.Generator().manual_seed(0))[0]
        forms = family.transform(g, u, torch.arange(len(graphs)))
        rows = []
        for i, graph in enumerate(graphs):
            frame, n = forms.frames[i, :, : graph.num_nodes], graph.num_nodes
            x = frame.T @ network.filter.spectral(forms.coefficients[i : i + 1]).reshape(12, 4)
            nodes = network.nodes(torch.relu(math.sqrt(n) * x + network.bias))
            rows.append(network.head(getattr(nodes, pooling)(0)))
        torch.testing.assert_close(network(forms), torch.stack(rows))

    def test_the_answer_and_the_embeddings_do_not_depend_on_the_eigenbasis(self) -> None:
        model = classifier()
        for graph in some_graphs():
            spectrum = spectrum_of(graph)
            bases = [spectrum, *(turned_basis(spectrum, PARTITION, seed) for seed in (1, 2, 3))]
            inputs = [node_coefficients_of([(basis, graph.x)], PARTITION, dtype=DOUBLE) for basis in bases]
            for other in inputs[1:]:
                torch.testing.assert_close(model(other), model(inputs[0]), atol=1e-8, rtol=0)
                torch.testing.assert_close(
                    node_embeddings(model, other), node_embeddings(model, inputs[0]), atol=1e-8, rtol=0
                )

    def test_a_plain_network_does_depend_on_the_basis(self) -> None:
        """What the test above would miss if the network ignored its input."""
        model, g = classifier(), exact(some_graphs())
        u = model.family.space(g).sample(2, generator=torch.Generator().manual_seed(0))
        a, b = (model.network(model.family.transform(g, draw, torch.arange(len(g)))) for draw in u)
        assert bool(((a - b).abs() > 1e-3).any())

    def test_node_embeddings_move_with_the_nodes(self) -> None:
        model = classifier()
        for seed, graph in enumerate(some_graphs()):
            other, order = shuffled(graph, seed)
            a, b = exact(graph), exact(other)
            torch.testing.assert_close(model(b), model(a), atol=1e-8, rtol=0)
            embeddings = node_embeddings(model, a)
            torch.testing.assert_close(node_embeddings(model, b), embeddings[order], atol=1e-8, rtol=0)
            assert bool((embeddings.abs() > 1e-3).any())

    def test_a_graph_gets_the_same_answer_alone_and_in_any_batch(self) -> None:
        model, graphs = classifier(), some_graphs()
        g = exact(graphs)
        together, embeddings = model(g), node_embeddings(model, g).split([graph.num_nodes for graph in graphs])
        for index in ([2], [3, 0], [6, 3, 5, 0]):
            chosen = g[torch.tensor(index)]
            torch.testing.assert_close(model(chosen), together[index])
            torch.testing.assert_close(node_embeddings(model, chosen), torch.cat([embeddings[i] for i in index]))
        for i, graph in enumerate(graphs):
            torch.testing.assert_close(model(exact(graph)), together[i : i + 1])

    def test_more_padding_changes_nothing(self) -> None:
        model, g = classifier(), exact(some_graphs())
        wide = NodeCoefficients(
            g.coefficients, torch.nn.functional.pad(g.bases, (0, 5)), torch.nn.functional.pad(g.mask, (0, 5))
        )
        torch.testing.assert_close(model(wide), model(g))
        torch.testing.assert_close(node_embeddings(model, wide), node_embeddings(model, g))

    def test_it_takes_batches_of_torch_geometric_in_single_precision(self) -> None:
        graphs = some_graphs()
        model = node_anlsf(NodeRotations(PARTITION, rows=(1, 2, 3, 4)), 3, classes=2, hidden=8, features=4).eval()
        logits = model(Batch.from_data_list(graphs))
        assert logits.shape == (len(graphs), 2)
        assert logits.dtype == torch.float32
        torch.testing.assert_close(model(graphs[1]), logits[1:2], atol=1e-4, rtol=1e-4)
        assert node_embeddings(model, graphs).shape == (sum(graph.num_nodes for graph in graphs), 4)

    @pytest.mark.parametrize("pooling", ["mean", "sum"])
    @pytest.mark.parametrize("node_layers", [0, 2])
    def test_gradients_reach_every_parameter(self, pooling: str, node_layers: int) -> None:
        torch.manual_seed(0)
        model = node_anlsf(
            NodeRotations(PARTITION, rows=ROWS),
            3,
            classes=2,
            hidden=16,
            features=8,
            node_layers=node_layers,
            pooling=pooling,  # type: ignore[arg-type]
        )
        Objective(model)(
            node_coefficients(some_graphs(), PARTITION), torch.tensor([0, 1, 0, 1, 0, 1, 0])
        ).loss.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert bool(parameter.grad.isfinite().all()), name
            assert bool(parameter.grad.any()), name

    def test_training_lowers_the_loss(self) -> None:
        torch.manual_seed(0)
        search = SampleAndRefine(candidates=8, steps=2)
        model = node_anlsf(NodeRotations(PARTITION, rows=ROWS), 3, classes=2, hidden=32, features=8, search=search)
        objective, g = Objective(model), node_coefficients(some_graphs()[:5], PARTITION)
        optimizer = torch.optim.Adam(objective.parameters(), lr=1e-2)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = objective(g, torch.tensor([0, 1, 0, 1, 1])).loss
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.3 * losses[0]

    def test_models_without_node_features_and_bad_names_are_refused(self) -> None:
        with pytest.raises(InputError, match=r"no node features.*node_anlsf"):
            node_embeddings(anlsf(BandRotations(PARTITION), 3, classes=2), some_graphs())
        with pytest.raises(UnknownNameError, match="mean or sum, got 'max'"):
            NodeClassifier(NodeFilter(12, 3), classes=2, pooling="max")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="layers >= 0"):
            NodeClassifier(NodeFilter(12, 3), classes=2, layers=-1)
        with pytest.raises(InputError, match="needs NodeRotations"):
            node_anlsf(BandRotations(PARTITION), 3, classes=2)  # type: ignore[arg-type]


class TestNodeEmbeddings:
    def test_they_are_the_filter_at_the_form_of_the_predicted_class(self) -> None:
        model, graphs = classifier(), some_graphs()
        g = exact(graphs)
        found = model.canonicalize(g)
        forms, predicted = found.forms(), found.logits.argmax(1)
        for i, embedding in enumerate(node_embeddings(model, g).split([graph.num_nodes for graph in graphs])):
            chosen = [leaf[i, predicted[i]].unsqueeze(0) for leaf in (forms.coefficients, forms.frames, forms.mask)]
            expected = model.network.filter(NodeForms(*chosen))[0]
            torch.testing.assert_close(embedding, expected[: len(embedding)])

    def test_another_class_may_be_asked_for(self) -> None:
        model, g = classifier(), exact(some_graphs())
        predicted = model(g).argmax(1)
        asked = node_embeddings(model, g, classes=predicted)
        torch.testing.assert_close(asked, node_embeddings(model, g))
        assert not torch.allclose(node_embeddings(model, g, classes=(predicted + 1) % 3), asked)
        for bad in (predicted + 3, predicted[:2]):
            with pytest.raises(ShapeError, match=r"7 numbers in 0\.\.2"):
                node_embeddings(model, g, classes=bad)

    def test_gradients_flow_to_the_filter_and_the_model_stays_as_it_was(self) -> None:
        model, g = classifier(), exact(some_graphs())
        before = copy.deepcopy(model.state_dict())
        node_embeddings(model, g).square().sum().backward()
        assert all(bool(parameter.grad.any()) for parameter in model.network.filter.parameters())
        assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


class TestDirections:
    """On a torus the waves along x and y share an eigenvalue; a canonicalized frame tells them apart."""

    size = 8
    band = Partition((0.05, 0.2), partial=True)

    def coordinates(self) -> tuple[Tensor, Tensor]:
        index = torch.arange(self.size**2)
        scale = 2 * math.pi / self.size
        return (index // self.size) * scale, (index % self.size) * scale

    def torus(self, *channels: Tensor) -> Data:
        return Data(x=torch.stack(channels, dim=1).double(), edge_index=torus_edges(self.size))

    def response(self, model: Canonicalized, reference: Tensor, wave: Tensor) -> float:
        g = exact(self.torus(reference.cos(), reference.sin(), wave), model.family.partition)
        return float(node_embeddings(model, g).norm() / wave.double().norm())

    def test_the_band_holds_the_four_waves_of_lowest_frequency(self) -> None:
        x, y = self.coordinates()
        g = exact(self.torus(x.cos(), x.sin(), y.cos(), y.sin()), self.band)
        assert g.coefficients.sizes.tolist() == g.coefficients.ranks.tolist() == [[4]]

    def test_every_function_of_the_laplacian_answers_both_directions_alike(self) -> None:
        x, y = self.coordinates()
        values, vectors = torch.linalg.eigh(shift_matrix(self.torus(x)))
        for response in (lambda t: torch.exp(-3 * t), lambda t: 1 / (1 + t), lambda t: t**2 - t, torch.sin):
            operator = vectors @ torch.diag(response(values)) @ vectors.T
            along, across = ((operator @ (wave + 0.3).sin().double()).norm() for wave in (x, y))
            torch.testing.assert_close(along, across)
            assert float(along) > 0.1

    @pytest.mark.parametrize("partition", [band, dyadic(3), dyadic(5)], ids=["one band", "dyadic(3)", "dyadic(5)"])
    def test_the_filter_passes_waves_along_the_reference_and_stops_those_across(self, partition: Partition) -> None:
        model, (x, y) = directional_filter(partition).eval().double(), self.coordinates()
        for phase in (0.0, 0.4, 2.0):
            for reference, along, across in ((x, x, y), (y + 1.0, y, x)):
                assert self.response(model, reference, (along + phase).sin()) == pytest.approx(1, abs=1e-3)
                assert self.response(model, reference, (across + phase).sin()) < 1e-3

    def test_of_a_sum_of_waves_the_filter_keeps_the_one_along_the_reference(self) -> None:
        model, (x, y) = directional_filter(dyadic(3)).eval().double(), self.coordinates()
        along, across = (x + 0.7).sin().double(), 2 * (y - 0.2).cos().double()
        passed = node_embeddings(model, exact(self.torus(x.cos(), x.sin(), along + across), dyadic(3)))[:, 0]
        torch.testing.assert_close(passed, along, atol=3e-3, rtol=0)

    def test_the_filter_is_the_projection_on_the_references_within_a_band(self, generator: torch.Generator) -> None:
        channels = torch.randn(3, self.size**2, generator=generator, dtype=DOUBLE)
        g = self.torus(*channels)
        passed = node_embeddings(directional_filter(self.band).eval().double(), exact(g, self.band))[:, 0]
        (v,) = band_vectors(spectrum_of(g), self.band)
        frame = torch.linalg.qr(v @ v.T @ channels[:2].T)[0]
        torch.testing.assert_close(passed, frame @ frame.T @ channels[2], atol=1e-3, rtol=0)

    def test_without_the_search_the_frame_is_no_direction(self) -> None:
        """One random candidate leaks: the direction comes from the maximization."""
        model, (x, y) = directional_filter(self.band, search=RandomSearch(1)).eval().double(), self.coordinates()
        assert self.response(model, x, y.sin()) > 0.1

    def test_without_a_reference_no_direction_is_preferred(self) -> None:
        """The exchange of x and y is a symmetry of the torus, and equivariant filters follow it."""
        model, (x, y) = classifier(channels=1), self.coordinates()
        along, across = (node_embeddings(model, exact(self.torus(wave.sin()))) for wave in (x, y))
        swap = torch.arange(self.size**2).reshape(self.size, self.size).T.flatten()
        torch.testing.assert_close(across, along[swap], atol=1e-8, rtol=0)
        assert along.norm() > 0.1

    def test_a_filter_needs_a_reference(self) -> None:
        with pytest.raises(InputError, match="references=0"):
            directional_filter(self.band, references=0)


def block_of(g: NodeCoefficients, bands: list[tuple[Tensor, Tensor, int]]) -> Tensor:
    """The blocks X_k = (U_kᵀ Q_k)_{1..J_k} of one graph with Q_k = V_kᵀ W_k, (1, bands, J, width)."""
    rows = max(j for *_, j in bands)
    x = torch.zeros(1, len(bands), rows, g.bases.shape[2], dtype=DOUBLE)
    for k, (v, u, _) in enumerate(bands):
        block = u.T @ v.T @ g.bases[0, k].T
        x[0, k, : min(rows, len(block))] = block[:rows]
    return x
