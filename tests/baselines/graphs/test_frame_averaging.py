"""FA+GIN: invariance to signs, bases in the mean, node orders and batches."""

from itertools import product

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.utils import from_networkx

from adacanon.baselines.graphs.frame_averaging import (
    FrameAveraged,
    batch_frame,
    eigenspaces,
    frame_averaged_gin,
    sign_choices,
)
from adacanon.baselines.graphs.frame_draws import FrameDraws
from adacanon.errors import InputError, ShapeError
from adacanon.graphs.shift_operators import shift_matrix

P = 3
Graph = tuple[Tensor, Tensor, tuple[Tensor, Tensor]]


def graph_of(network: nx.Graph, seed: int = 0) -> Graph:
    """Node features, edges and spectrum."""
    nodes = network.number_of_nodes()
    data = from_networkx(nx.convert_node_labels_to_integers(network))
    data.num_nodes = nodes
    x = torch.randn(nodes, 2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x, data.edge_index.long().reshape(2, -1), tuple(torch.linalg.eigh(shift_matrix(data)))


def irregular() -> nx.Graph:
    """An irregular graph of ten nodes without a repeated eigenvalue."""
    network = nx.path_graph(10)
    network.add_edges_from([(0, 2), (1, 6), (3, 7)])
    return network


def simple_graphs() -> list[Graph]:
    """Unequal graphs without repeated eigenvalues; the last two have fewer than P + 1 eigenvectors."""
    networks = [irregular(), nx.path_graph(6), nx.path_graph(3), nx.empty_graph(1)]
    return [graph_of(network, seed) for seed, network in enumerate(networks)]


def batched(graphs: list[Graph]) -> tuple[Tensor, Tensor, Tensor]:
    sizes = [len(x) for x, _, _ in graphs]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    edges = torch.cat([e + start for (_, e, _), start in zip(graphs, starts, strict=True)], dim=1)
    graph = torch.repeat_interleave(torch.arange(len(graphs)), torch.tensor(sizes))
    return torch.cat([x for x, _, _ in graphs]), edges, graph


def model_of(encodings: int = P) -> FrameAveraged:
    torch.manual_seed(0)
    return frame_averaged_gin(2, classes=2, encodings=encodings, hidden=8, layers=2).double()


def answer(model: FrameAveraged, graphs: list[Graph], **options: object) -> Tensor:
    frame = batch_frame([spectrum for _, _, spectrum in graphs], P, **options)  # type: ignore[arg-type]
    return model(*batched(graphs), frame)


class TestFrames:
    def test_sign_choices_are_all_of_them_once(self) -> None:
        assert {tuple(row) for row in sign_choices(4).tolist()} == set(product((1.0, -1.0), repeat=4))
        assert sign_choices(4).shape == (16, 4)

    def test_the_graphs_of_these_tests_have_simple_eigenvalues(self) -> None:
        assert all(len(eigenspaces(values)) == len(values) for _, _, (values, _) in simple_graphs())

    def test_a_full_frame_is_the_orbit_under_signs(self) -> None:
        _, _, spectrum = graph_of(irregular())
        frame = batch_frame([spectrum], P)
        assert frame.shape == (8, 10, P)
        for signs, element in zip(product((1.0, -1.0), repeat=P), frame, strict=True):
            torch.testing.assert_close(element, spectrum[1][:, 1 : P + 1] * torch.tensor(signs), rtol=0, atol=0)

    def test_eigenspaces_are_found_up_to_rounding(self) -> None:
        assert eigenspaces(graph_of(nx.complete_graph(5))[2][0]) == [(0, 1), (1, 5)]
        assert eigenspaces(graph_of(nx.cycle_graph(6))[2][0]) == [(0, 1), (1, 3), (3, 5), (5, 6)]
        assert eigenspaces(torch.zeros(1)) == [(0, 1)]

    @pytest.mark.parametrize("elements", [None, 5])
    def test_every_element_is_an_orthonormal_basis_of_the_eigenspaces(self, elements: int | None) -> None:
        _, _, (values, vectors) = graph_of(nx.cycle_graph(6))
        frame = batch_frame([(values, vectors)], 4, elements=elements, generator=torch.Generator().manual_seed(0))
        assert len(frame) == (elements or 16)
        for element in frame:
            torch.testing.assert_close(element.T @ element, torch.eye(4).double())
            for a, b in ((1, 3), (3, 5)):
                space, found = vectors[:, a:b], element[:, a - 1 : b - 1]
                torch.testing.assert_close(found @ found.T, space @ space.T)
        assert not torch.allclose(frame[0].abs(), frame[1].abs())

    def test_random_bases_are_uniform_in_a_cut_eigenspace(self) -> None:
        """The mean of v vᵀ over uniform unit vectors of an m-dimensional space is its projector over m."""
        _, _, (values, vectors) = graph_of(nx.complete_graph(5))
        generator = torch.Generator().manual_seed(0)
        frame = batch_frame([(values, vectors)], 2, elements=20000, generator=generator)
        projector = vectors[:, 1:] @ vectors[:, 1:].T
        for column in range(2):
            v = frame[:, :, column]
            torch.testing.assert_close(v.T @ v / len(v), projector / 4, atol=0.01, rtol=0)
            assert v.mean(0).abs().max() < 0.02

    @pytest.mark.parametrize("nodes", [1, 2, 3])
    def test_missing_eigenvectors_are_zero(self, nodes: int) -> None:
        frame = batch_frame([graph_of(nx.path_graph(nodes))[2]], P)
        assert frame.shape == (8, nodes, P)
        assert not frame[:, :, nodes - 1 :].any()
        assert frame[:, :, : nodes - 1].abs().sum(1).gt(0).all()

    def test_the_generator_decides_all_draws(self) -> None:
        spectra = [graph_of(nx.cycle_graph(6))[2], graph_of(nx.complete_graph(4))[2]]
        a, b, c = (
            batch_frame(spectra, P, elements=4, generator=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
        )
        assert torch.equal(a, b)
        assert not torch.equal(a, c)

    def test_bad_requests_are_refused(self) -> None:
        _, _, (values, vectors) = graph_of(irregular())
        with pytest.raises(InputError, match="elements="):
            batch_frame([(values, vectors)], 11)
        with pytest.raises(InputError, match="one element"):
            batch_frame([(values, vectors)], 2, elements=0)
        with pytest.raises(InputError, match="one graph"):
            batch_frame([], 2)
        with pytest.raises(InputError, match="increasing"):
            batch_frame([(values.flip(0), vectors)], 2)
        with pytest.raises(ShapeError, match=r"\(nodes, nodes\)"):
            batch_frame([(values, vectors[:, :4])], 2)


class TestFrameAveraged:
    def test_the_full_frame_makes_signs_irrelevant(self) -> None:
        model = model_of()
        for x, edges, (values, vectors) in simple_graphs():
            expected = answer(model, [(x, edges, (values, vectors))])
            for signs in product((1.0, -1.0), repeat=min(P, len(values) - 1)):
                flips = torch.ones(len(values)).double()
                flips[1 : len(signs) + 1] = torch.tensor(signs)
                turned = answer(model, [(x, edges, (values, vectors * flips))])
                torch.testing.assert_close(turned, expected, atol=1e-13, rtol=1e-13)

    def test_without_the_average_signs_matter(self) -> None:
        model, (x, edges, spectrum) = model_of(), simple_graphs()[0]
        frame = batch_frame([spectrum], P)
        each = torch.cat([model(*batched([(x, edges, spectrum)]), one) for one in frame.split(1)])
        assert (each - each[0]).abs().max() > 1e-4

    def test_the_average_is_that_of_one_pass_for_each_element(self) -> None:
        model, graphs = model_of(), simple_graphs()
        frame = batch_frame([spectrum for _, _, spectrum in graphs], P)
        x, edges, graph = batched(graphs)
        passes = [model.network(torch.cat([x, v], dim=1), edges, graph) for v in frame]
        torch.testing.assert_close(model(x, edges, graph, frame), torch.stack(passes).mean(0))

    def test_the_order_of_nodes_is_irrelevant(self) -> None:
        model, network = model_of(), irregular()
        x, edges, _ = graph_of(network)
        order = torch.randperm(10, generator=torch.Generator().manual_seed(3))
        matrix = shift_matrix(from_networkx(network))
        shuffled = (x[order], order.argsort()[edges], tuple(torch.linalg.eigh(matrix[order][:, order])))
        original = (x, edges, tuple(torch.linalg.eigh(matrix)))
        torch.testing.assert_close(answer(model, [shuffled]), answer(model, [original]), atol=1e-10, rtol=1e-10)

    def test_a_batch_of_unequal_graphs_equals_one_by_one(self) -> None:
        model, graphs = model_of(), simple_graphs()
        together = answer(model, graphs)
        assert together.shape == (4, 2)
        torch.testing.assert_close(together, torch.cat([answer(model, [graph]) for graph in graphs]))

    def test_many_random_elements_approach_the_full_frame(self) -> None:
        model, graph = model_of(), simple_graphs()[0]
        drawn = answer(model, [graph], elements=20000, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(drawn, answer(model, [graph]), atol=2e-3, rtol=0)

    def test_many_random_bases_make_the_basis_irrelevant(self) -> None:
        model, (x, edges, (values, vectors)) = model_of(), graph_of(nx.cycle_graph(6))
        turn = torch.linalg.qr(torch.randn(2, 2, generator=torch.Generator().manual_seed(5), dtype=torch.float64)).Q
        other = vectors.clone()
        other[:, 1:3] = vectors[:, 1:3] @ turn
        a, b = (
            answer(model, [(x, edges, (values, v))], elements=20000, generator=torch.Generator().manual_seed(seed))
            for seed, v in enumerate((vectors, other))
        )
        torch.testing.assert_close(a, b, atol=5e-3, rtol=0)

    def test_disconnected_and_edgeless_graphs_work(self) -> None:
        networks = [nx.disjoint_union(nx.path_graph(3), nx.cycle_graph(4)), nx.empty_graph(5), nx.star_graph(9)]
        graphs = [graph_of(network) for network in networks]
        logits = answer(model_of(), graphs, generator=torch.Generator().manual_seed(0))
        assert logits.shape == (3, 2)
        assert bool(logits.isfinite().all())

    def test_a_frame_of_another_batch_is_refused(self) -> None:
        graphs = simple_graphs()
        with pytest.raises(ShapeError, match="batch_frame"):
            model_of()(*batched(graphs), batch_frame([graphs[0][2]], P))

    def test_training_lowers_the_loss(self) -> None:
        model, graphs, labels = model_of(), simple_graphs(), torch.tensor([0, 1, 0, 1])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(40):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(answer(model, graphs), labels)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.5 * losses[0]


class TestFrameDraws:
    """Many graphs at once, drawn anew at every call."""

    SPECTRA = tuple(
        torch.linalg.eigh(torch.from_numpy(nx.laplacian_matrix(network).toarray()).double())
        for network in (nx.cycle_graph(6), nx.path_graph(5), nx.star_graph(4), nx.empty_graph(3), nx.path_graph(2))
    )

    def test_every_element_is_an_orthonormal_basis_of_the_same_eigenspaces(self) -> None:
        found = FrameDraws.of(self.SPECTRA, 4).draw(torch.arange(5), 3).double()
        parts = found.split([len(values) for values, _ in self.SPECTRA], dim=1)
        for (values, vectors), part in zip(self.SPECTRA, parts, strict=True):
            count = min(4, len(values) - 1)
            gram = part[:, :, :count].mT @ part[:, :, :count]
            torch.testing.assert_close(gram, torch.eye(count).double().expand_as(gram), atol=1e-5, rtol=0)
            assert not bool(part[:, :, count:].any())
            operator = vectors @ values.diag() @ vectors.T
            shifted = operator @ part[:, :, :count]
            expected = part[:, :, :count] * values[1 : count + 1]
            torch.testing.assert_close(shifted, expected, atol=1e-5, rtol=0)

    def test_draws_are_fresh_and_follow_the_generator(self) -> None:
        draws, index = FrameDraws.of(self.SPECTRA, 4), torch.tensor([3, 0])
        first, second = draws.draw(index, 2), draws.draw(index, 2)
        assert not torch.equal(first, second)
        seeded = [draws.draw(index, 2, generator=torch.Generator().manual_seed(5)) for _ in range(2)]
        assert torch.equal(*seeded)

    def test_bases_of_a_repeated_eigenvalue_are_uniform_in_their_space(self) -> None:
        """The mean of the projectors on the first drawn vector is the projector on the space over its dimension."""
        draws, (values, vectors) = FrameDraws.of(self.SPECTRA[:1], 2), self.SPECTRA[0]
        drawn = draws.draw(torch.tensor([0]), 4000, generator=torch.Generator().manual_seed(0))[:, :, 0].double()
        space = vectors[:, (values - values[1]).abs() < 1e-6]
        assert space.shape[1] == 2
        mean = (drawn.T @ drawn) / len(drawn)
        torch.testing.assert_close(mean, space @ space.T / 2, atol=0.02, rtol=0)
        assert float(drawn.mean(0).abs().max()) < 0.03

    def test_a_graph_of_the_batch_keeps_its_place(self) -> None:
        draws = FrameDraws.of(self.SPECTRA, 3)
        found = draws.draw(torch.tensor([1, 4, 1]), 2)
        assert found.shape == (2, 12, 3)
        path = self.SPECTRA[1][1][:, 1:4].float()
        for part in (found[:, :5], found[:, 7:]):
            torch.testing.assert_close(part.abs(), path.abs().expand(2, -1, -1), atol=1e-5, rtol=0)

    def test_no_elements_are_refused(self) -> None:
        with pytest.raises(InputError, match="one element"):
            FrameDraws.of(self.SPECTRA, 3).draw(torch.tensor([0]), 0)
