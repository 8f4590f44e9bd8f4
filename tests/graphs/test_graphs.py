"""Shift operators, spectra, bands, coefficients and graph-level A-NLSF."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import from_networkx, get_laplacian, to_dense_adj

from adacanon import AdacanonError, Canonicalized, Objective, RandomSearch, SampleAndRefine
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.graphs import (
    BandCoefficients,
    BandRotations,
    Partition,
    SpectralMLP,
    Spectrum,
    anlsf,
    band_coefficients,
    coefficients_of,
    dyadic,
    spectra,
    uniform,
)
from adacanon.graphs.coefficients import coefficients_on_one_graph, padded_bands, triangular_factor, trimmed_factor
from adacanon.graphs.shift_operators import adjacency, shift_matrix
from adacanon.spaces import Orthogonal, OrthogonalBlocks
from adacanon.testing import check_family
from oracles.band_rotations import FullBandRotations

PARTITION = dyadic(4)


def graph_of(network: nx.Graph, channels: int = 3, seed: int = 0) -> Data:
    data = from_networkx(nx.convert_node_labels_to_integers(network))
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(network.number_of_nodes(), channels, generator=generator)
    return Data(x=x, edge_index=data.edge_index, num_nodes=network.number_of_nodes())


def family_of_graphs() -> list[Data]:
    networks = [nx.cycle_graph(7), nx.path_graph(5), nx.complete_graph(4), nx.gnp_random_graph(12, 0.3, seed=1)]
    return [graph_of(network, seed=i) for i, network in enumerate(networks)]


def turned_basis(spectrum: Spectrum, partition: Partition, seed: int) -> Spectrum:
    """The same operator with a random orthonormal basis in every band."""
    vectors, band = spectrum.eigenvectors.clone(), partition.assign(spectrum.eigenvalues)
    generator = torch.Generator().manual_seed(seed)
    for k in range(partition.bands):
        inside = band == k
        if inside.any():
            vectors[:, inside] = vectors[:, inside] @ Orthogonal(int(inside.sum())).sample(1, generator=generator)[0]
    return Spectrum(spectrum.eigenvalues, vectors)


class TestShiftOperators:
    def test_laplacians_agree_with_networkx(self) -> None:
        network = nx.gnp_random_graph(15, 0.3, seed=3)
        data = graph_of(network)
        nodes = range(15)
        normalized = nx.normalized_laplacian_matrix(network, nodelist=nodes).toarray()
        assert np.allclose(shift_matrix(data, "normalized"), normalized)
        assert np.allclose(shift_matrix(data, "laplacian"), nx.laplacian_matrix(network, nodelist=nodes).toarray())
        assert np.allclose(shift_matrix(data, "adjacency"), nx.to_numpy_array(network, nodelist=nodes))

    def test_normalized_laplacian_agrees_with_torch_geometric_on_connected_graphs(self) -> None:
        data = graph_of(nx.petersen_graph())
        index, weight = get_laplacian(data.edge_index, normalization="sym", num_nodes=10)
        expected = to_dense_adj(index, edge_attr=weight, max_num_nodes=10)[0]
        torch.testing.assert_close(shift_matrix(data).float(), expected)

    def test_an_isolated_node_is_a_component_with_eigenvalue_zero(self) -> None:
        network = nx.cycle_graph(4)
        network.add_nodes_from([4, 5])
        eigenvalues = torch.linalg.eigvalsh(shift_matrix(graph_of(network)))
        assert int((eigenvalues.abs() < 1e-12).sum()) == nx.number_connected_components(network) == 3

    def test_edge_weights_are_used(self) -> None:
        data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_weight=torch.tensor([2.0, 2.0]), num_nodes=2)
        assert adjacency(data).tolist() == [[0, 2], [2, 0]]

    def test_a_given_symmetric_matrix_is_taken_as_it_is(self) -> None:
        matrix = torch.tensor([[1.0, 2.0], [2.0, -1.0]])
        assert torch.equal(shift_matrix(Data(num_nodes=2), lambda graph: matrix), matrix.double())

    def test_a_directed_graph_gets_a_clear_error(self) -> None:
        one_way = Data(edge_index=torch.tensor([[0, 1], [1, 2]]), num_nodes=3)
        with pytest.raises(InputError, match=r"must be symmetric.*to_undirected"):
            shift_matrix(one_way)

    @pytest.mark.parametrize(
        ("data", "operator", "error"),
        [
            (Data(num_nodes=0), "normalized", InputError),
            (Data(num_nodes=2), "fourier", UnknownNameError),
            (Data(num_nodes=2, edge_index=torch.tensor([[0], [5]])), "normalized", InputError),
            (Data(num_nodes=2, edge_index=torch.zeros(3, 2).long()), "normalized", ShapeError),
            (Data(num_nodes=2), lambda graph: torch.eye(3), ShapeError),
            (Data(num_nodes=2), lambda graph: torch.full((2, 2), torch.nan), InputError),
        ],
    )
    def test_bad_graphs_and_operators_are_refused(self, data: Data, operator: object, error: type) -> None:
        with pytest.raises(error):
            shift_matrix(data, operator)  # type: ignore[arg-type]


class TestNumbersThatAreNone:
    """Each was cut or dropped in silence."""

    @pytest.mark.parametrize("edges", [[[0.4, 1.0], [1.0, 0.4]], [[0j, 1], [1, 0]], [[False, True], [True, False]]])
    def test_nodes_are_named_by_whole_numbers(self, edges: list[list[complex]]) -> None:
        with pytest.raises(InputError, match=r"edge_index must hold the numbers of nodes.*Hint"):
            shift_matrix(Data(edge_index=torch.tensor(edges), num_nodes=2))

    def test_weights_and_features_are_real(self) -> None:
        edges = torch.tensor([[0, 1], [1, 0]])
        with pytest.raises(InputError, match=r"edge_weight must be real.*Hint"):
            shift_matrix(Data(edge_index=edges, edge_weight=torch.tensor([1j, 1j]), num_nodes=2))
        graph = Data(x=torch.ones(2, 3, dtype=torch.complex64), edge_index=edges)
        with pytest.raises(InputError, match=r"tensor of real numbers, got a tensor of torch.complex64"):
            band_coefficients([graph], dyadic(3), cache=False)


class TestSpectra:
    def test_the_decomposition_is_one(self) -> None:
        matrix = shift_matrix(graph_of(nx.petersen_graph()))
        spectrum = spectra([matrix])[0]
        rebuilt = spectrum.eigenvectors @ torch.diag(spectrum.eigenvalues) @ spectrum.eigenvectors.T
        torch.testing.assert_close(rebuilt, matrix)
        assert spectrum.eigenvalues.dtype == torch.float64

    def test_a_second_call_reads_the_cache(self, monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
        matrix = shift_matrix(graph_of(nx.cycle_graph(9)))
        first = spectra([matrix])[0]
        monkeypatch.setattr(torch.linalg, "eigh", lambda *a: pytest.fail("decomposed twice"))
        second = spectra([matrix, matrix])[1]
        assert torch.equal(first.eigenvectors, second.eigenvectors)

    def test_no_graph_is_decomposed_twice_whatever_batches_it_comes_in(self, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
        matrices = [shift_matrix(graph_of(nx.path_graph(n))) for n in range(2, 8)]
        expected = [spectra([matrix], cache=False)[0] for matrix in matrices]
        for batch in (matrices[:3], matrices[3:]):
            spectra(batch)
        monkeypatch.setattr(torch.linalg, "eigh", lambda *a: pytest.fail("decomposed twice"))
        for order in ([5, 0, 3], [1, 4, 2]):
            for index, found in zip(order, spectra([matrices[i] for i in order]), strict=True):
                assert torch.equal(found.eigenvectors, expected[index].eigenvectors)

    def test_a_broken_cache_file_is_reported_and_replaced(self, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
        matrix = shift_matrix(graph_of(nx.cycle_graph(9)))
        spectra([matrix])
        (file,) = tmp_path.rglob("*.sqlite")
        file.write_bytes(b"no database" + file.read_bytes()[:200])
        with pytest.warns(UserWarning, match="cannot be used"):
            spectra([matrix])
        assert spectra([matrix])[0].eigenvalues.shape == (9,)

    def test_a_file_that_another_process_has_just_opened_is_left_to_it(self, monkeypatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
        (tmp_path / "spectra.sqlite").touch()
        spectra([shift_matrix(graph_of(nx.cycle_graph(9)))])
        assert [file.name for file in tmp_path.iterdir()] == ["spectra.sqlite"]

    def test_an_unwritable_cache_costs_the_cache_only(self, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
        blocked = tmp_path / "file"
        blocked.write_text("not a folder")
        monkeypatch.setenv("ADACANON_CACHE", str(blocked))
        with pytest.warns(UserWarning, match="could not be cached"):
            found = spectra([torch.eye(2)])
        assert found[0].eigenvalues.tolist() == [1, 1]


class TestBands:
    def test_the_papers_example(self) -> None:
        assert dyadic(5).boundaries == (0, 0.125, 0.25, 0.5, 1, 2)

    def test_bands_are_half_open_and_the_last_is_closed(self) -> None:
        values = torch.tensor([0.0, 0.1249, 0.125, 0.25, 0.5, 1.0, 2.0], dtype=torch.float64)
        assert dyadic(5).assign(values).tolist() == [0, 0, 1, 2, 3, 4, 4]

    def test_rounding_never_moves_an_eigenvalue_across_a_boundary(self) -> None:
        noise = 1e-14 * torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64)
        for partition in (dyadic(5), uniform(7)):
            for k, boundary in enumerate(partition.boundaries):
                expected = min(k, partition.bands - 1)
                assert partition.assign(boundary + noise).tolist() == [expected] * 3

    def test_eigenvalues_outside_the_total_band_are_refused_or_left_out_on_purpose(self) -> None:
        outside = torch.tensor([-0.1, 1.0, 2.1])
        with pytest.raises(InputError, match=r"2 of 3 eigenvalues lie outside.*\[0, 2\].*Hint: give low= and high="):
            dyadic(3).assign(outside)
        assert Partition((0.0, 2.0), partial=True).assign(outside).tolist() == [-1, 0, -1]

    def test_an_operator_with_another_spectrum_does_not_lose_the_signal_silently(self) -> None:
        graph = graph_of(nx.complete_graph(5))
        with pytest.raises(InputError, match="outside the bands"):
            band_coefficients(graph, dyadic(4), operator="adjacency")
        wide = band_coefficients(graph, uniform(4, low=-5, high=5), operator="adjacency")
        assert int(wide.sizes.sum()) == 5

    def test_uniform_bands_have_equal_width(self) -> None:
        edges = torch.tensor(uniform(5, low=-3, high=2).boundaries)
        torch.testing.assert_close(edges.diff(), torch.ones(5))

    @pytest.mark.parametrize("call", [lambda: dyadic(0), lambda: dyadic(3, decay=1.0), lambda: Partition((1.0, 0.0))])
    def test_impossible_partitions_are_refused(self, call) -> None:  # type: ignore[no-untyped-def]
        with pytest.raises(InputError):
            call()


class TestCoefficients:
    @pytest.mark.parametrize("rank", [0, 1, 2, 3])
    def test_the_factor_has_the_gram_matrix_of_its_input_whatever_the_rank(self, rank: int) -> None:
        generator = torch.Generator().manual_seed(rank)
        left = torch.randn(5, 6, rank, generator=generator, dtype=torch.float64)
        c = left @ torch.randn(rank, 3, generator=generator, dtype=torch.float64)
        factor, found = triangular_factor(c)
        assert found.tolist() == [rank] * 5
        torch.testing.assert_close(factor.mT @ factor, c.mT @ c, atol=1e-9, rtol=1e-9)
        assert bool((factor[:, rank:] == 0).all())

    def test_the_rank_is_at_most_the_dimension_also_behind_a_channel_that_is_almost_dependent(self) -> None:
        generator = torch.Generator().manual_seed(0)
        bases, _ = torch.linalg.qr(torch.randn(50, 2, 2, generator=generator, dtype=torch.float64))
        almost = torch.tensor([[1.0, 1.0], [0.0, 3e-9]], dtype=torch.float64).expand(50, 2, 2)
        others = torch.randn(50, 2, 4, generator=generator, dtype=torch.float64)
        c = bases @ torch.cat([almost, others], dim=2)
        factor, ranks = triangular_factor(torch.nn.functional.pad(c, (0, 0, 0, 3)))
        assert ranks.tolist() == [2] * 50
        torch.testing.assert_close(factor.mT @ factor, c.mT @ c, atol=1e-6, rtol=0)

    def test_setting_absent_channels_aside_changes_nothing(self) -> None:
        c = torch.randn(3, 2, 6, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        c[0, :, :, 1] = 0
        c[2, :, :, :3] = 0
        c[1, 0] = 0
        slow, slow_ranks = triangular_factor(c)
        fast, ranks = trimmed_factor(c)
        assert torch.equal(ranks, slow_ranks)
        assert fast.shape[2] == int(ranks.max())
        torch.testing.assert_close(fast, slow[:, :, : fast.shape[2]])
        assert not slow[:, :, fast.shape[2] :].any()

    def test_the_factor_of_full_rank_is_cholesky(self) -> None:
        c = torch.randn(4, 7, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        torch.testing.assert_close(triangular_factor(c)[0], torch.linalg.cholesky(c.mT @ c).mT)

    def test_the_factor_does_not_see_the_basis(self) -> None:
        for graph in family_of_graphs():
            spectrum = spectra([shift_matrix(graph)])[0]
            a = coefficients_of([(spectrum, graph.x)], PARTITION, dtype=torch.float64)
            b = coefficients_of([(turned_basis(spectrum, PARTITION, 5), graph.x)], PARTITION, dtype=torch.float64)
            torch.testing.assert_close(a.factors, b.factors, atol=1e-10, rtol=1e-10)
            raw_a, raw_b = (
                padded_bands(s, graph.x, PARTITION)[0] for s in (spectrum, turned_basis(spectrum, PARTITION, 5))
            )
            assert not torch.allclose(raw_a, raw_b)

    def test_rounding_in_an_empty_band_has_no_rank_in_any_basis(self) -> None:
        """On a regular graph a constant signal lies in the first band alone; elsewhere it is rounding."""
        spectrum = spectra([shift_matrix(graph_of(nx.petersen_graph()))])[0]
        for basis in (spectrum, *(turned_basis(spectrum, PARTITION, seed) for seed in range(5))):
            found = coefficients_of([(basis, torch.ones(10, 2, dtype=torch.float64))], PARTITION)
            assert found.ranks.tolist() == [[1, 0, 0, 0]]

    def test_energy_is_kept_over_all_bands(self) -> None:
        for graph in family_of_graphs():
            coefficients = band_coefficients(graph, PARTITION, dtype=torch.float64)
            expected = graph.x.double().T @ graph.x.double()
            torch.testing.assert_close(coefficients.grams().sum(1)[0], expected)
            assert int(coefficients.sizes.sum()) == graph.num_nodes

    def test_many_signals_on_one_graph_agree_with_one_at_a_time(self) -> None:
        spectrum = spectra([shift_matrix(graph_of(nx.petersen_graph()))])[0]
        signals = torch.randn(6, 10, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        together = coefficients_on_one_graph(spectrum, signals, PARTITION, dtype=torch.float64)
        alone = coefficients_of([(spectrum, signal) for signal in signals], PARTITION, dtype=torch.float64)
        torch.testing.assert_close(together.factors, alone.factors)
        assert torch.equal(together.sizes, alone.sizes)

    def test_a_batch_and_a_list_and_single_graphs_agree(self) -> None:
        graphs = family_of_graphs()
        batch = band_coefficients(Batch.from_data_list(graphs), PARTITION)
        listed = band_coefficients(graphs, PARTITION)
        assert torch.equal(batch.factors, listed.factors)
        single = band_coefficients(graphs[2], PARTITION)
        assert torch.equal(single.factors[0], batch.factors[2])

    @pytest.mark.parametrize("nodes", [1, 2, 3])
    def test_tiny_and_edgeless_graphs_work(self, nodes: int) -> None:
        graph = Data(x=torch.ones(nodes, 2), edge_index=torch.zeros(2, 0, dtype=torch.int64), num_nodes=nodes)
        coefficients = band_coefficients(graph, PARTITION)
        assert coefficients.sizes.tolist() == [[nodes, 0, 0, 0]]

    def test_the_eigenvalue_two_of_a_bipartite_graph_is_in_the_last_band(self) -> None:
        coefficients = band_coefficients(graph_of(nx.complete_bipartite_graph(3, 3)), PARTITION)
        assert coefficients.sizes[0, -1] == 5  # four times one, once two

    @pytest.mark.parametrize(
        ("graph", "message"),
        [
            (Data(num_nodes=3, edge_index=torch.zeros(2, 0).long()), "node features"),
            (Data(x=torch.ones(3), num_nodes=3, edge_index=torch.zeros(2, 0).long()), "node features"),
            (Data(x=torch.full((3, 1), torch.nan), edge_index=torch.zeros(2, 0).long()), "NaN or infinite"),
            (Data(x=torch.ones(0, 1), edge_index=torch.zeros(2, 0).long(), num_nodes=0), "at least one node"),
            (Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]])), "symmetric"),
        ],
    )
    def test_bad_graphs_get_a_clear_error(self, graph: Data, message: str) -> None:
        with pytest.raises(AdacanonError, match=message):
            band_coefficients([graph], PARTITION)

    def test_graphs_with_different_numbers_of_features_are_refused(self) -> None:
        with pytest.raises(ShapeError, match="same number of node features"):
            band_coefficients([graph_of(nx.path_graph(3), 2), graph_of(nx.path_graph(3), 3)], PARTITION)


class TestBandRotations:
    def test_the_contract_of_a_family(self) -> None:
        coefficients = band_coefficients(family_of_graphs(), PARTITION, dtype=torch.float64)
        check_family(BandRotations(PARTITION, rows=3), coefficients)

    @pytest.mark.parametrize("rows", [1, 2, 4, 8])
    def test_every_rotation_of_the_paper_is_a_block_and_every_block_is_a_rotation(self, rows: int) -> None:
        """Truncated forms P_k(U_kᵀC_k) over O(M_k) are exactly the forms X R_k over the blocks."""
        full = FullBandRotations(rows)
        for graph in family_of_graphs():
            spectrum = spectra([shift_matrix(graph)])[0]
            c, sizes = padded_bands(spectrum, graph.x, PARTITION)
            factor, _ = triangular_factor(c)
            g = (c.unsqueeze(0), sizes.unsqueeze(0))
            u = full.space(g).sample(6, generator=torch.Generator().manual_seed(0))
            forms = full.transform(g, tuple(part[:, 0] for part in u), torch.zeros(6, dtype=torch.int64))
            x = self.block_of(forms.unflatten(1, (PARTITION.bands, rows)), factor)
            space = OrthogonalBlocks(sizes.unsqueeze(0), rows=(rows,) * PARTITION.bands, columns=graph.x.shape[1])
            full_rank = sizes >= graph.x.shape[1]
            projected = space.project(x.unsqueeze(1))[:, 0]
            torch.testing.assert_close(projected[:, full_rank], x[:, full_rank], atol=1e-8, rtol=1e-8)

    @staticmethod
    def block_of(forms: Tensor, factor: Tensor) -> Tensor:
        return forms @ torch.linalg.pinv(factor, rtol=1e-9)

    def test_searches_over_blocks_and_over_full_matrices_reach_the_known_maximum_of_a_linear_score(self) -> None:
        """max over U_k of <W_k, P_k(U_kᵀC_k)> is the sum of the singular values of C_k W_kᵀ (von Neumann)."""
        graphs, rows = family_of_graphs()[:2], 3
        weight = torch.randn(PARTITION.bands, rows, 3, generator=torch.Generator().manual_seed(2)).double()
        parts = [padded_bands(spectra([shift_matrix(g)])[0], g.x, PARTITION) for g in graphs]
        exact = torch.stack([self.largest_linear_score(c, size, weight) for c, size in parts])
        height = max(c.shape[1] for c, _ in parts)
        padded = torch.stack([torch.nn.functional.pad(c, (0, 0, 0, height - c.shape[1])) for c, _ in parts])
        full = (padded, torch.stack([size for _, size in parts]))
        reduced = band_coefficients(graphs, PARTITION, dtype=torch.float64)
        search = SampleAndRefine(candidates=64, steps=60, every=True)
        for family, g in ((BandRotations(PARTITION, rows=rows), reduced), (FullBandRotations(rows), full)):
            found = Canonicalized(lambda x: (x * weight.flatten(0, 1)).sum((1, 2)).unsqueeze(1), family, search)
            share = found.eval()(g)[:, 0] / exact
            assert bool((share <= 1 + 1e-9).all())
            assert bool((share > 0.98).all())

    @staticmethod
    def largest_linear_score(c: Tensor, sizes: Tensor, weight: Tensor) -> Tensor:
        bands = [c[k, :m] @ weight[k, : min(m, weight.shape[1])].T for k, m in enumerate(sizes.tolist()) if m]
        return torch.stack([torch.linalg.svdvals(band).sum() for band in bands]).sum()

    def test_rows_may_differ_between_bands(self) -> None:
        family = BandRotations(PARTITION, rows=(1, 2, 3, 4))
        coefficients = band_coefficients(family_of_graphs(), PARTITION)
        found = Canonicalized(SpectralMLP(10, 3, classes=2), family, RandomSearch(4)).eval().canonicalize(coefficients)
        assert found.forms().shape == (4, 2, 10, 3)
        assert found.mask is not None
        assert found.mask.shape == (4, 1, 4, 4, 3)

    def test_wrong_rows_and_wrong_bands_are_refused(self) -> None:
        with pytest.raises(InputError, match="4 bands"):
            BandRotations(PARTITION, rows=(1, 2))
        with pytest.raises(ShapeError, match="5"):
            BandRotations(PARTITION).prepare(band_coefficients(family_of_graphs(), dyadic(5)))


class TestANLSF:
    def model(self, classes: int = 3) -> Canonicalized:
        torch.manual_seed(0)
        return anlsf(BandRotations(PARTITION, rows=4), 3, classes=classes, hidden=16).eval().double()

    def test_it_takes_batches_of_torch_geometric(self) -> None:
        graphs = family_of_graphs()
        model = anlsf(BandRotations(PARTITION, rows=4), 3, classes=3, hidden=16).eval()
        batch = model(Batch.from_data_list(graphs))
        assert batch.shape == (4, 3)
        torch.testing.assert_close(batch[1:2], model(graphs[1]))

    def test_the_answer_does_not_depend_on_the_eigenbasis(self) -> None:
        model = self.model()
        for graph in family_of_graphs():
            spectrum = spectra([shift_matrix(graph)])[0]
            answers = [
                model(coefficients_of([(basis, graph.x)], PARTITION, dtype=torch.float64))
                for basis in (spectrum, turned_basis(spectrum, PARTITION, 1), turned_basis(spectrum, PARTITION, 2))
            ]
            torch.testing.assert_close(answers[1], answers[0], atol=1e-7, rtol=1e-7)
            torch.testing.assert_close(answers[2], answers[0], atol=1e-7, rtol=1e-7)

    def test_the_answer_does_not_depend_on_the_order_of_the_nodes(self) -> None:
        model, graph = self.model(), family_of_graphs()[3]
        order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
        place = order.argsort()
        shuffled = Data(x=graph.x[order], edge_index=place[graph.edge_index])
        a, b = (band_coefficients(g, PARTITION, dtype=torch.float64) for g in (graph, shuffled))
        torch.testing.assert_close(model(a), model(b), atol=1e-7, rtol=1e-7)

    def test_a_graph_gets_the_same_answer_alone_and_in_any_batch(self) -> None:
        model = self.model()
        coefficients = band_coefficients(family_of_graphs(), PARTITION, dtype=torch.float64)
        together = model(coefficients)
        for index in ([2], [3, 0], [1, 3, 2, 0]):
            rows = torch.tensor(index)
            torch.testing.assert_close(model(coefficients[rows]), together[rows])

    def test_empty_bands_are_zero_rows(self) -> None:
        single = Data(x=torch.ones(1, 3), edge_index=torch.zeros(2, 0, dtype=torch.int64), num_nodes=1)
        forms = self.model().canonicalize(band_coefficients(single, PARTITION, dtype=torch.float64)).forms()
        assert bool((forms[0, 0, 1:] == 0).all())
        assert forms[0, 0, 0].norm() > 0.1

    def test_training_lowers_the_loss(self) -> None:
        torch.manual_seed(0)
        objective = Objective(anlsf(BandRotations(PARTITION, rows=4), 3, classes=2, hidden=32))
        coefficients = band_coefficients(family_of_graphs(), PARTITION)
        labels = torch.tensor([0, 1, 0, 1])
        optimizer = torch.optim.Adam(objective.parameters(), lr=1e-2)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = objective(coefficients, labels).loss
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.3 * losses[0]

    def test_indexing_a_record_keeps_factors_and_sizes_together(self) -> None:
        coefficients = band_coefficients(family_of_graphs(), PARTITION)
        assert isinstance(coefficients[1:3], BandCoefficients)
        assert len(coefficients[1:3]) == 2

    @pytest.mark.data
    def test_a_real_data_set_goes_through(self, data_folder, tmp_path) -> None:  # type: ignore[no-untyped-def]
        import shutil

        from torch_geometric.datasets import TUDataset

        shutil.copytree(data_folder / "TUDataset" / "MUTAG", tmp_path / "MUTAG")
        graphs = list(TUDataset(str(tmp_path), "MUTAG"))
        assert len(graphs) == 188
        with pytest.warns(UserWarning, match="edge_attr"):  # torch-geometric keeps the labels of bonds
            coefficients = band_coefficients(graphs, dyadic(6))
        assert int(coefficients.sizes.sum()) == sum(g.num_nodes for g in graphs)
        logits = anlsf(BandRotations(dyadic(6), rows=4), 7, classes=2).eval()(coefficients)
        assert bool(logits.isfinite().all())
        assert logits.std(0).min() > 0
