"""Partial spectra against dense ones: eigenvalues, projections on bands, whole eigenspaces, and what is refused."""

import math
import warnings
from functools import cache

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.graphs import (
    BandRotations,
    EncodedANLSF,
    Partition,
    anlsf,
    band_coefficients,
    coefficients,
    dyadic,
    lowest_bands,
    node_coefficients,
    partial_spectra,
    partial_spectrum,
    spectra,
)
from adacanon.graphs.band_frames import return_probabilities, return_probabilities_in_blocks
from adacanon.graphs.eigensolver_cost import announce_dense, announce_partial
from adacanon.graphs.inertia import eigenvalues_below, factorized, is_narrow
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.sparse_operators import sparse_shift
from adacanon.graphs.spectra import Spectrum, bands_of

ITERATIVE = ("factorized", "lanczos")


def graph_of(network: nx.Graph, channels: int = 3) -> Data:
    network = nx.convert_node_labels_to_integers(network)
    weight, edges = nx.get_edge_attributes(network, "weight"), _edges(network)
    x = torch.randn(network.number_of_nodes(), channels, generator=torch.Generator().manual_seed(0))
    graph = Data(x=x, edge_index=edges, num_nodes=network.number_of_nodes())
    if weight:
        graph.edge_weight = torch.tensor([network.edges[a, b]["weight"] for a, b in edges.T.tolist()])
    return graph


def _edges(network: nx.Graph) -> Tensor:
    listed = torch.tensor(list(network.edges), dtype=torch.int64).reshape(-1, 2).T
    return torch.cat([listed, listed.flip(0)], dim=1)


def weighted(network: nx.Graph) -> nx.Graph:
    generator = np.random.default_rng(0)
    for edge in network.edges:
        network.edges[edge]["weight"] = float(generator.uniform(0.1, 3))
    return network


GRAPHS = {
    "torus": lambda: nx.grid_2d_graph(20, 20, periodic=True),  # eigenspaces of up to 8 dimensions
    "grid": lambda: nx.grid_2d_graph(30, 40),  # bipartite: 2 is an eigenvalue
    "geometric": lambda: nx.random_geometric_graph(600, 0.08, seed=1),
    "random": lambda: nx.gnp_random_graph(500, 0.02, seed=2),
    "components": lambda: nx.disjoint_union_all([nx.cycle_graph(90), nx.cycle_graph(90), nx.path_graph(70)]),
    "isolated": lambda: nx.disjoint_union(nx.gnp_random_graph(300, 0.02, seed=3), nx.empty_graph(12)),
    "weighted": lambda: weighted(nx.random_geometric_graph(400, 0.1, seed=4)),
    "hubs": lambda: nx.barabasi_albert_graph(500, 2, seed=5),
    "tree": lambda: nx.random_labeled_tree(700, seed=6),
}


def check_interval(name: str, solver: str, ends: tuple[float, float]) -> None:
    graph, whole = graph_of(GRAPHS[name]()), dense_of(name)
    inside = (whole.eigenvalues >= ends[0]) & (whole.eigenvalues <= ends[1])
    part = partial_spectrum(graph, within=ends, solver=solver, cache=False)  # type: ignore[arg-type]
    torch.testing.assert_close(part.eigenvalues, whole.eigenvalues[inside], atol=1e-10, rtol=0)
    expected = projection(whole, inside.nonzero().flatten())
    every = torch.arange(len(part.eigenvalues))
    torch.testing.assert_close(projection(part, every), expected, atol=1e-6, rtol=0)


@cache
def dense_of(name: str) -> Spectrum:
    return dense(graph_of(GRAPHS[name]()))


def dense(graph: Data, operator: str = "normalized") -> Spectrum:
    return spectra([shift_matrix(graph, operator)], cache=False)[0]


def projection(spectrum: Spectrum, chosen: Tensor) -> Tensor:
    vectors = spectrum.eigenvectors[:, chosen]
    return vectors @ vectors.T


@pytest.mark.parametrize("solver", ITERATIVE)
@pytest.mark.parametrize("name", GRAPHS)
class TestAgainstDense:
    def test_the_lowest_eigenvalues_and_their_projection(self, name: str, solver: str) -> None:
        graph = graph_of(GRAPHS[name]())
        whole, part = dense_of(name), partial_spectrum(graph, lowest=30, solver=solver, cache=False)  # type: ignore[arg-type]
        count = len(part.eigenvalues)
        assert count >= 30
        assert float(whole.eigenvalues[count] - whole.eigenvalues[count - 1]) > 1e-6  # no eigenspace is split
        assert float(whole.eigenvalues[count - 1] - whole.eigenvalues[29]) < 1e-4 or count == 30
        torch.testing.assert_close(part.eigenvalues, whole.eigenvalues[:count], atol=1e-10, rtol=0)
        expected = projection(whole, torch.arange(count))
        torch.testing.assert_close(projection(part, torch.arange(count)), expected, atol=1e-6, rtol=0)
        assert bool((part.covers[1] < whole.eigenvalues[count:]).all())

    @pytest.mark.parametrize("ends", [(-0.1, 0.11), (1.88, 2.1), (0.0301, 0.0303)])
    def test_all_eigenvalues_in_an_interval_and_their_projection(
        self, name: str, solver: str, ends: tuple[float, float]
    ) -> None:
        check_interval(name, solver, ends)


def test_two_thousand_nodes() -> None:
    for network in (nx.grid_2d_graph(40, 50), nx.gnp_random_graph(2000, 0.005, seed=8)):
        graph = graph_of(network)
        whole = dense(graph)
        for solver in ITERATIVE:
            part = partial_spectrum(graph, lowest=64, solver=solver, cache=False)  # type: ignore[arg-type]
            every = torch.arange(len(part.eigenvalues))
            torch.testing.assert_close(part.eigenvalues, whole.eigenvalues[every], atol=1e-10, rtol=0)
            torch.testing.assert_close(projection(part, every), projection(whole, every), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", GRAPHS)
def test_an_interval_inside_of_the_spectrum(name: str) -> None:
    check_interval(name, "factorized", (0.52, 0.63))


def test_an_interval_too_far_inside_for_iterations_is_refused() -> None:
    with pytest.raises(InputError, match="narrower bands"):
        partial_spectrum(graph_of(GRAPHS["grid"]()), within=(0.9, 0.95), solver="lanczos", cache=False)


@pytest.mark.parametrize("operator", ["normalized", "laplacian", "adjacency"])
@pytest.mark.parametrize("name", ["torus", "isolated", "weighted"])
class TestOperators:
    def test_sparse_operators_are_the_dense_ones(self, name: str, operator: str) -> None:
        graph = graph_of(GRAPHS[name]())
        found = torch.from_numpy(sparse_shift(graph, operator).toarray())
        torch.testing.assert_close(found, shift_matrix(graph, operator))

    @pytest.mark.parametrize("solver", ITERATIVE)
    def test_any_of_them_has_a_partial_spectrum(self, name: str, operator: str, solver: str) -> None:
        graph = graph_of(GRAPHS[name]())
        part = partial_spectrum(graph, lowest=12, operator=operator, solver=solver, cache=False)  # type: ignore[arg-type]
        expected = dense(graph, operator).eigenvalues[: len(part.eigenvalues)]
        torch.testing.assert_close(part.eigenvalues, expected, atol=1e-9, rtol=0)


class TestOwnOperators:
    @pytest.mark.parametrize("kind", ["dense", "torch sparse", "scipy"])
    def test_a_function_may_return_any_matrix(self, kind: str) -> None:
        graph = graph_of(GRAPHS["geometric"]())
        matrix = shift_matrix(graph) @ shift_matrix(graph)

        def squared(graph: Data) -> object:
            from scipy import sparse

            return {"dense": matrix, "torch sparse": matrix.to_sparse(), "scipy": sparse.csr_matrix(matrix)}[kind]

        torch.testing.assert_close(shift_matrix(graph, squared), matrix)
        part = partial_spectrum(graph, lowest=9, operator=squared, solver="factorized", cache=False)
        torch.testing.assert_close(
            part.eigenvalues, torch.linalg.eigvalsh(matrix)[: len(part.eigenvalues)], atol=1e-9, rtol=0
        )

    def test_bad_matrices_are_refused(self) -> None:
        graph = graph_of(nx.path_graph(30))
        bad = {
            "symmetric": torch.triu(torch.ones(30, 30)),
            "finite": torch.full((30, 30), torch.nan),
            "shape": torch.eye(29),
            "real": torch.eye(30) * 1j,
        }
        for words, matrix in bad.items():
            for solver in ("lanczos", "dense"):
                with pytest.raises((InputError, ShapeError), match=words):
                    partial_spectrum(graph, lowest=3, operator=lambda g, m=matrix: m, solver=solver)  # type: ignore[arg-type]

    def test_directed_graphs_are_refused(self) -> None:
        ring = torch.stack([torch.arange(50), torch.arange(50).roll(-1)])
        with pytest.raises(InputError, match="both directions"):
            partial_spectrum(Data(edge_index=ring, num_nodes=50), lowest=3, solver="lanczos")


class TestInertia:
    @pytest.mark.parametrize("name", GRAPHS)
    def test_counts_are_those_of_the_dense_spectrum(self, name: str) -> None:
        matrix = sparse_shift(graph_of(GRAPHS[name]()))
        values = np.linalg.eigvalsh(matrix.toarray())
        counted = 0
        for shift in (-0.3, 0.0123, 0.0877, 0.31, 0.67, 1.4321, 2.2):
            found = eigenvalues_below(matrix, shift, distance=float(abs(values - shift).min()))
            counted += found is not None
            assert found in (None, int((values < shift).sum()))
        assert counted >= 4

    def test_factors_that_are_not_exact_do_not_count(self) -> None:
        matrix = sparse_shift(graph_of(GRAPHS["geometric"]()))
        found = factorized(matrix, 0.05)
        assert found is not None
        assert eigenvalues_below(matrix, 0.05, distance=found.error / 2) is None

    def test_meshes_are_narrow_and_random_graphs_are_not(self) -> None:
        assert is_narrow(sparse_shift(graph_of(nx.grid_2d_graph(60, 60))))
        assert not is_narrow(sparse_shift(graph_of(nx.gnp_random_graph(1000, 0.01, seed=0))))


class TestEigenspaces:
    @pytest.mark.parametrize("solver", ITERATIVE)
    def test_copies_of_one_graph_give_every_eigenvalue_as_often(self, solver: str) -> None:
        copies = nx.disjoint_union_all([nx.random_geometric_graph(80, 0.25, seed=7)] * 5)
        part = partial_spectrum(graph_of(copies), lowest=11, solver=solver, cache=False)  # type: ignore[arg-type]
        assert len(part.eigenvalues) % 5 == 0
        torch.testing.assert_close(
            part.eigenvalues, dense(graph_of(copies)).eigenvalues[: len(part.eigenvalues)], atol=1e-10, rtol=0
        )

    @pytest.mark.parametrize("solver", ITERATIVE)
    def test_an_eigenspace_that_is_too_large_is_refused(self, solver: str) -> None:
        with pytest.raises(InputError, match="eigenspace"):
            partial_spectrum(graph_of(nx.star_graph(400)), lowest=5, solver=solver, cache=False)  # type: ignore[arg-type]

    def test_an_end_on_an_eigenvalue_is_refused(self) -> None:
        graph = graph_of(GRAPHS["geometric"]())
        end = float(dense(graph).eigenvalues[20])
        with pytest.raises(InputError, match="an end of the bands"):
            partial_spectrum(graph, within=(-0.1, end), solver="factorized", cache=False)

    def test_bands_of_missing_pairs_are_refused(self) -> None:
        graph = graph_of(GRAPHS["geometric"]())
        part = partial_spectrum(graph, lowest=20, cache=False)
        with pytest.raises(InputError, match="were computed"):
            bands_of(part, dyadic(4))
        assert len(bands_of(part, Partition((-0.1, part.covers[1] * 0.9), partial=True))) == len(part.eigenvalues)


class TestLowestBands:
    @pytest.mark.parametrize("name", ["torus", "geometric", "components"])
    def test_bands_hold_the_pairs_and_split_no_eigenspace(self, name: str) -> None:
        graph = graph_of(GRAPHS[name]())
        partition, whole = lowest_bands(graph, 60, bands=4), dense(graph)
        band = partition.assign(whole.eigenvalues)
        sizes = torch.bincount(band[band >= 0])
        assert partition.partial
        assert len(sizes) == 4
        assert int(sizes.sum()) >= 60
        assert 5 <= int(sizes.min()) <= int(sizes.max()) <= 30
        split = (band.diff() != 0) & (whole.eigenvalues.diff() < 1e-6)
        assert not bool(split.any())

    def test_more_bands_than_gaps_are_refused(self) -> None:
        with pytest.raises(InputError, match="fewer bands"):
            lowest_bands(graph_of(nx.complete_graph(20)), 20, bands=4)


class TestModels:
    """The same answers whether the whole spectrum was computed or the part that is used."""

    def part_and_whole(self, monkeypatch: pytest.MonkeyPatch, function: object, graph: Data, partition: Partition):  # type: ignore[no-untyped-def]
        whole = function(graph, partition, dtype=torch.float64, cache=False)  # type: ignore[operator]
        monkeypatch.setattr(coefficients, "DENSE_NODES", 10)
        monkeypatch.setattr(partial_spectra, "DENSE_NODES", 10)
        return whole, function(graph, partition, dtype=torch.float64, cache=False)  # type: ignore[operator]

    @pytest.mark.parametrize("name", ["torus", "grid", "geometric", "random", "components", "isolated", "weighted"])
    def test_coefficients_do_not_notice_the_solver(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        graph = graph_of(GRAPHS[name]())
        partition = lowest_bands(graph, 40, bands=3, cache=False)
        whole, part = self.part_and_whole(monkeypatch, node_coefficients, graph, partition)
        assert torch.equal(whole.coefficients.sizes, part.coefficients.sizes)
        torch.testing.assert_close(part.coefficients.factors, whole.coefficients.factors, atol=1e-6, rtol=0)
        torch.testing.assert_close(part.bases, whole.bases, atol=1e-6, rtol=0)

    def test_answers_do_not_notice_the_solver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        torch.manual_seed(0)
        for name in ("torus", "geometric", "isolated"):
            graph = graph_of(GRAPHS[name]())
            partition = lowest_bands(graph, 40, bands=3, cache=False)
            model = anlsf(BandRotations(partition, rows=2), channels=3, classes=4).eval().double()
            with monkeypatch.context() as patched:
                whole, part = self.part_and_whole(patched, band_coefficients, graph, partition)
            torch.testing.assert_close(model(part), model(whole), atol=1e-6, rtol=0)

    @pytest.mark.parametrize("steps", [0, 1, 7, 16])
    def test_return_probabilities_of_large_graphs_are_those_of_small_ones(self, steps: int) -> None:
        for name in ("isolated", "weighted"):
            graph = graph_of(GRAPHS[name]())
            found = return_probabilities_in_blocks(sparse_shift(graph), steps, block=100)
            torch.testing.assert_close(found, return_probabilities(shift_matrix(graph), steps))

    def test_an_encoded_model_reads_a_large_graph(self) -> None:
        graph = graph_of(nx.grid_2d_graph(50, 45))
        partition = lowest_bands(graph, 40, bands=4)
        model = EncodedANLSF(channels=3, classes=2, family=BandRotations(partition, rows=2)).eval()
        assert model([graph]).shape == (1, 2)


class TestCache:
    def test_pairs_that_are_known_are_not_computed_again(self, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
        graph = graph_of(GRAPHS["geometric"]())
        first = partial_spectrum(graph, lowest=40, solver="factorized")
        monkeypatch.setattr(partial_spectra, "_computed", None)
        again = partial_spectrum(graph, lowest=40, solver="factorized")
        assert torch.equal(first.eigenvectors, again.eigenvectors)
        fewer = partial_spectrum(graph, lowest=10, solver="factorized")
        expected = partial_spectrum(graph, lowest=10, cache=False)
        torch.testing.assert_close(fewer.eigenvalues, expected.eigenvalues, atol=1e-10, rtol=0)
        inside = partial_spectrum(graph, within=(-0.1, float(first.eigenvalues[5:7].mean())), solver="factorized")
        assert len(inside.eigenvalues) == 6
        with pytest.raises(TypeError):
            partial_spectrum(graph, lowest=60, solver="factorized")


class TestWishes:
    def test_bad_wishes_are_refused(self) -> None:
        graph = graph_of(nx.path_graph(9))
        for wish in ({}, {"lowest": 3, "within": (0.0, 1.0)}):
            with pytest.raises(InputError, match="either lowest= or within="):
                partial_spectrum(graph, **wish)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="low < high"):
            partial_spectrum(graph, within=(1.0, 0.0))
        with pytest.raises(InputError, match="9 eigenpairs, got lowest=10"):
            partial_spectrum(graph, lowest=10)
        with pytest.raises(InputError, match="lowest"):
            partial_spectrum(graph, lowest=0)
        with pytest.raises(UnknownNameError, match="magic"):
            partial_spectrum(graph, lowest=2, solver="magic")  # type: ignore[arg-type]

    def test_the_whole_spectrum_is_a_part(self) -> None:
        graph = graph_of(nx.path_graph(9))
        assert len(partial_spectrum(graph, lowest=9).eigenvalues) == 9
        assert partial_spectrum(graph, lowest=9).covers == (-math.inf, math.inf)
        assert lowest_bands(graph, 9, bands=3).assign(dense(graph).eigenvalues).min() == 0
        assert partial_spectrum(graph, within=(5.0, 6.0), solver="lanczos", cache=False).eigenvectors.shape == (9, 0)


class TestAnnouncements:
    def test_minutes_are_said_before_they_pass(self) -> None:
        with pytest.warns(UserWarning, match=r"All eigenvectors of 9000 nodes.* minutes.*lowest_bands"):
            announce_dense(9000)
        with pytest.warns(UserWarning, match=r"64 eigenpairs of 1000000 nodes.* minutes"):
            announce_partial(1_000_000, 64, factorized=True)

    def test_seconds_are_not(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            announce_dense(2500)
            announce_partial(20_000, 64, factorized=True)

    def test_what_does_not_fit_into_memory_is_refused(self) -> None:
        graph = Data(x=torch.ones(2_000_000, 1), edge_index=torch.zeros(2, 0, dtype=torch.int64))
        with pytest.raises(InputError, match=r"need .* GB.*lowest_bands"):
            band_coefficients(graph, dyadic(4))
