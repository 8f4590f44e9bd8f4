"""OAP+GIN: canonical eigenvectors know neither signs nor bases, and move with the nodes."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.utils import from_networkx

from adacanon.baselines.graphs.axis_projection import (
    WithEncodings,
    axis_projection_encodings,
    axis_projection_gin,
    canonical_basis,
    canonical_eigenvectors,
    canonical_sign,
)
from adacanon.baselines.graphs.frame_averaging import eigenspaces
from adacanon.errors import ShapeError
from adacanon.graphs.shift_operators import shift_matrix

P = 4


def orthogonal(size: int, seed: int) -> Tensor:
    normal = torch.randn(size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.linalg.qr(normal).Q


def operator_of(network: nx.Graph) -> Tensor:
    data = from_networkx(nx.convert_node_labels_to_integers(network))
    data.num_nodes = network.number_of_nodes()
    return shift_matrix(data)


def spectrum_of(network: nx.Graph) -> tuple[Tensor, Tensor]:
    return tuple(torch.linalg.eigh(operator_of(network)))


def irregular() -> nx.Graph:
    """Connected, ten nodes, no repeated eigenvalue, no automorphism."""
    return nx.gnp_random_graph(10, 0.35, seed=1)


def three_components() -> nx.Graph:
    """Eigenvalue zero three times, with a canonical basis, since the components differ."""
    return nx.disjoint_union_all([irregular(), nx.lollipop_graph(4, 3), nx.star_graph(2)])


def spectra() -> list[tuple[Tensor, Tensor]]:
    """Canonical everywhere or almost: generic eigenspaces of dimensions 1, 2, 3, 5, and graphs."""
    values = torch.tensor([0.0, 0.1, 0.1, 0.7, 0.7, 0.7, 1, 2, 2, 2, 2, 2]).double()
    return [(values, orthogonal(12, 0)), spectrum_of(irregular()), spectrum_of(three_components())]


def turned(spectrum: tuple[Tensor, Tensor], seed: int) -> tuple[Tensor, Tensor]:
    """The same operator in another basis of every eigenspace; for simple eigenvalues this is a sign."""
    values, vectors = spectrum
    blocks = [orthogonal(b - a, seed + a) for a, b in eigenspaces(values)]
    signs = [torch.tensor(1.0 if (seed + k) % 2 else -1.0) for k in range(len(blocks))]
    return values, vectors @ torch.block_diag(*(s * q for s, q in zip(signs, blocks, strict=True)))


def slow_basis(basis: np.ndarray) -> np.ndarray:
    """Groups by dictionary, independence by rank, Gram-Schmidt by QR."""
    nodes, dimension = basis.shape
    projector = basis @ basis.T
    groups: dict[tuple[float, ...], list[int]] = {}
    for i in range(nodes):
        key = tuple(np.round([-projector[i, i], *sorted(-projector[i])], 8))
        groups.setdefault(key, []).append(i)
    chosen: list[np.ndarray] = []
    for key in sorted(groups):
        x = np.full(nodes, 10.0)
        x[groups[key]] += 1
        if np.linalg.matrix_rank(np.stack([*chosen, projector @ x]), tol=1e-6) > len(chosen):
            chosen.append(projector @ x)
    q, r = np.linalg.qr(np.stack(chosen, axis=1)[:, :dimension])
    return q * np.sign(np.diag(r))


class TestCanonicalSign:
    @pytest.mark.parametrize(
        ("vector", "expected"),
        [
            ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]),
            ([-1.0, -2.0, -3.0], [1.0, 2.0, 3.0]),
            ([3.0, -2.0, -1.0], [-3.0, 2.0, 1.0]),  # the sum is zero: the smallest entry is made positive
            ([0.0, 2.0, -1.0, -1.0], [0.0, -2.0, 1.0, 1.0]),
        ],
    )
    def test_known_signs(self, vector: list[float], expected: list[float]) -> None:
        found = canonical_sign(torch.tensor(vector).double())
        assert found is not None
        assert found.tolist() == expected

    @pytest.mark.parametrize("vector", [[1.0, -1.0], [2.0, 0.0, -2.0], [1.0, -3.0, 3.0, -1.0]])
    def test_a_vector_that_a_permutation_negates_has_no_sign(self, vector: list[float]) -> None:
        assert canonical_sign(torch.tensor(vector).double()) is None

    def test_equal_numbers_are_equal_wherever_rounding_puts_them(self) -> None:
        """1/128 = 0.0078125 lies on the boundary of a grid of six decimals."""
        noisy = torch.tensor([1 / 128 + 1e-15, -1 / 128 - 2e-15, 0.5, -0.25, -0.25]).double()
        found = canonical_sign(noisy)
        assert found is not None
        assert found[2] < 0  # groups {1/128}, {1/4}, {1/2}: the quarters decide


class TestCanonicalBasis:
    @pytest.mark.parametrize("dimension", [2, 3, 6])
    def test_it_agrees_with_a_slow_loop(self, dimension: int) -> None:
        for seed in range(5):
            basis = orthogonal(9, seed)[:, :dimension]
            found = canonical_basis(basis)
            assert found is not None
            np.testing.assert_allclose(found, slow_basis(basis.numpy()), atol=1e-9)

    def test_it_agrees_with_a_slow_loop_where_nodes_are_alike(self) -> None:
        """The kernel of three components has one group of nodes for each degree in each component."""
        values, vectors = spectrum_of(three_components())
        a, b = eigenspaces(values)[0]
        assert b - a == 3
        found = canonical_basis(vectors[:, a:b])
        assert found is not None
        np.testing.assert_allclose(found, slow_basis(vectors[:, a:b].numpy()), atol=1e-9)

    @pytest.mark.parametrize("network", [nx.complete_graph(5), nx.cycle_graph(6), nx.star_graph(6)])
    def test_projections_that_do_not_span_give_none(self, network: nx.Graph) -> None:
        values, vectors = spectrum_of(network)
        repeated = [(a, b) for a, b in eigenspaces(values) if b > a + 1]
        assert repeated
        for a, b in repeated:
            assert canonical_basis(vectors[:, a:b]) is None


class TestCanonicalEigenvectors:
    def test_they_do_not_depend_on_signs_and_bases(self) -> None:
        for spectrum in spectra():
            first = canonical_eigenvectors(*spectrum)
            assert first.canonical.sum() > 0.6 * len(first.canonical)
            for seed in range(4):
                other = canonical_eigenvectors(*turned(spectrum, seed))
                assert torch.equal(other.canonical, first.canonical)
                unique = first.canonical
                torch.testing.assert_close(
                    other.eigenvectors[:, unique], first.eigenvectors[:, unique], atol=1e-8, rtol=0
                )
                assert not torch.allclose(turned(spectrum, seed)[1], spectrum[1])

    def test_they_move_with_the_nodes(self) -> None:
        for values, vectors in spectra():
            order = torch.randperm(len(values), generator=torch.Generator().manual_seed(1))
            original = canonical_eigenvectors(values, vectors)
            _, mixed = turned((values, vectors), 7)
            moved = canonical_eigenvectors(values, mixed[order])
            assert torch.equal(moved.canonical, original.canonical)
            unique = original.canonical
            expected = original.eigenvectors[order][:, unique]
            torch.testing.assert_close(moved.eigenvectors[:, unique], expected, atol=1e-8, rtol=0)

    def test_they_move_with_the_nodes_of_a_graph_decomposed_anew(self) -> None:
        matrix = operator_of(three_components())
        order = torch.randperm(len(matrix), generator=torch.Generator().manual_seed(2))
        a = canonical_eigenvectors(*torch.linalg.eigh(matrix))
        b = canonical_eigenvectors(*torch.linalg.eigh(matrix[order][:, order]))
        assert torch.equal(a.canonical, b.canonical)
        assert int(a.canonical.sum()) >= 10
        expected = a.eigenvectors[order][:, a.canonical]
        torch.testing.assert_close(b.eigenvectors[:, b.canonical], expected, atol=1e-8, rtol=0)

    def test_they_are_orthonormal_and_span_the_same_eigenspaces(self) -> None:
        for values, vectors in [*spectra(), spectrum_of(nx.petersen_graph())]:
            found = canonical_eigenvectors(values, vectors).eigenvectors
            torch.testing.assert_close(found.T @ found, torch.eye(len(values)).double(), atol=1e-9, rtol=0)
            for a, b in eigenspaces(values):
                projector = vectors[:, a:b] @ vectors[:, a:b].T
                torch.testing.assert_close(found[:, a:b] @ found[:, a:b].T, projector, atol=1e-9, rtol=0)

    def test_simple_eigenvectors_are_canonical_where_a_graph_has_no_symmetry(self) -> None:
        """An automorphism of a graph with simple eigenvalues negates some eigenvector; without one, none of these
        graphs happens to have an eigenvector with entries symmetric about zero."""
        symmetric = []
        for seed in range(25):
            network = nx.gnp_random_graph(10, 0.35, seed=seed)
            values, vectors = spectrum_of(network)
            if len(eigenspaces(values)) == 10:
                automorphisms = len(list(nx.isomorphism.GraphMatcher(network, network).isomorphisms_iter()))
                symmetric.append(automorphisms > 1)
                assert bool(canonical_eigenvectors(values, vectors).canonical.all()) == (automorphisms == 1)
        assert 3 < sum(symmetric) < len(symmetric) - 3

    def test_what_has_no_canonical_form_stays_as_it_came(self) -> None:
        values, vectors = spectrum_of(nx.cycle_graph(6))
        found = canonical_eigenvectors(values, vectors)
        assert found.canonical.tolist() == [True] + [False] * 5  # the last one alternates in sign
        assert torch.equal(found.eigenvectors[:, 1:], vectors[:, 1:])

    def test_the_given_eigenvectors_are_not_changed(self) -> None:
        values, vectors = spectrum_of(irregular())
        before = vectors.clone()
        canonical_eigenvectors(values, -vectors)
        canonical_eigenvectors(values, vectors)
        assert torch.equal(vectors, before)


class TestEncodings:
    @pytest.mark.parametrize("nodes", [1, 2, 3])
    def test_missing_eigenvectors_are_zero(self, nodes: int) -> None:
        found = axis_projection_encodings([spectrum_of(nx.path_graph(nodes))], P)
        assert found.shape == (nodes, P)
        assert not found[:, nodes - 1 :].any()

    def test_a_cut_inside_an_eigenspace_does_not_see_the_basis(self) -> None:
        spectrum = spectra()[0]
        a, b = (axis_projection_encodings([s], P) for s in (spectrum, turned(spectrum, 3)))
        assert eigenspaces(spectrum[0])[2] == (3, 6)
        torch.testing.assert_close(a, b, atol=1e-8, rtol=0)

    def test_a_batch_is_its_graphs_in_order(self) -> None:
        together = axis_projection_encodings(spectra(), P)
        assert torch.equal(together, torch.cat([axis_projection_encodings([s], P) for s in spectra()]))


class TestNetwork:
    networks = (irregular(), three_components(), nx.path_graph(3), nx.empty_graph(1), nx.empty_graph(4))

    def model(self) -> WithEncodings:
        torch.manual_seed(0)
        return axis_projection_gin(2, classes=2, encodings=P, hidden=8, layers=2).double()

    def inputs(self, networks: tuple[nx.Graph, ...], seed: int | None = None) -> tuple[Tensor, ...]:
        whole = nx.disjoint_union_all(networks)
        sizes = torch.tensor([network.number_of_nodes() for network in networks])
        edges = operator_of(whole).fill_diagonal_(0).nonzero().T
        x = torch.cat([torch.linspace(-1, 1, 2 * int(n)).double().reshape(-1, 2) for n in sizes])
        found = [spectrum_of(network) for network in networks]
        found = found if seed is None else [turned(spectrum, seed) for spectrum in found]
        graph = torch.repeat_interleave(torch.arange(len(networks)), sizes)
        return x, edges, graph, axis_projection_encodings(found, P)

    def test_a_batch_of_unequal_graphs_equals_one_by_one(self) -> None:
        model = self.model()
        together = model(*self.inputs(self.networks))
        assert together.shape == (5, 2)
        torch.testing.assert_close(together, torch.cat([model(*self.inputs((one,))) for one in self.networks]))

    def test_the_answer_does_not_depend_on_signs_and_bases(self) -> None:
        canonical = self.networks[:1]
        assert canonical_eigenvectors(*spectrum_of(canonical[0])).canonical[: P + 1].all()
        answers = [self.model()(*self.inputs(canonical, seed)) for seed in (None, 1, 2)]
        torch.testing.assert_close(answers[1], answers[0], atol=1e-9, rtol=0)
        torch.testing.assert_close(answers[2], answers[0], atol=1e-9, rtol=0)

    def test_the_order_of_nodes_is_irrelevant(self) -> None:
        model, matrix = self.model(), operator_of(irregular())
        x, edges, graph, encodings = self.inputs((irregular(),))
        order = torch.randperm(10, generator=torch.Generator().manual_seed(3))
        moved = axis_projection_encodings([tuple(torch.linalg.eigh(matrix[order][:, order]))], P)
        shuffled = model(x[order], order.argsort()[edges], graph, moved)
        torch.testing.assert_close(shuffled, model(x, edges, graph, encodings), atol=1e-9, rtol=0)

    def test_encodings_of_another_batch_are_refused(self) -> None:
        x, edges, graph, encodings = self.inputs(self.networks)
        with pytest.raises(ShapeError, match="axis_projection_encodings"):
            self.model()(x, edges, graph, encodings[1:])

    def test_training_lowers_the_loss(self) -> None:
        model, inputs, labels = self.model(), self.inputs(self.networks), torch.tensor([0, 1, 0, 1, 1])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(80):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(*inputs), labels)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.6 * losses[0]
