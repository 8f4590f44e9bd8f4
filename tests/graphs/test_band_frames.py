"""Frames of the bands: orthonormal, in their band, and functions of the graph alone."""

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from adacanon.graphs import Spectrum, coefficient_cache, coefficients, dyadic, uniform
from adacanon.graphs.band_frames import (
    BandFrames,
    band_frames,
    band_frames_of,
    orthonormal_columns,
    structural_signals,
)
from adacanon.graphs.coefficients import spectra_and_signals
from adacanon.graphs.eigenbases import permuted, redrawn_in_bands, redrawn_in_eigenspaces

WIDTH = 5
PARTITIONS = {"uniform": uniform(5), "dyadic": dyadic(4)}
NETWORKS = {
    "random": nx.gnp_random_graph(14, 0.3, seed=1),
    "cycle": nx.cycle_graph(12),
    "Petersen": nx.petersen_graph(),
    "bipartite": nx.complete_bipartite_graph(3, 4),
    "grid": nx.grid_2d_graph(4, 4),
    "star": nx.star_graph(6),
    "two components": nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(4)),
    "isolated nodes": nx.disjoint_union(nx.path_graph(3), nx.empty_graph(2)),
}


def graph_of(name: str, *, labels: int = 3) -> Data:
    """With one-hot labels as node features, or a constant one, as the TU data sets have."""
    network = nx.convert_node_labels_to_integers(NETWORKS[name])
    nodes = network.number_of_nodes()
    label = torch.randint(labels, (nodes,), generator=torch.Generator().manual_seed(nodes))
    x = torch.nn.functional.one_hot(label, labels).float()
    return Data(x=x, edge_index=from_networkx(network).edge_index, num_nodes=nodes)


def frames_from(graph: Data, spectrum: Spectrum, partition_name: str) -> BandFrames:
    pair = (spectrum, graph.x.double())
    return band_frames_of([pair], [graph.edge_index], PARTITIONS[partition_name], width=WIDTH)


def spectrum_of(graph: Data) -> Spectrum:
    return spectra_and_signals([graph], cache=False)[0][0]


def assert_same(a: BandFrames, b: BandFrames, *, atol: float = 1e-6) -> None:
    assert torch.equal(a.sizes, b.sizes)
    assert torch.equal(a.ranks, b.ranks)
    torch.testing.assert_close(a.basis, b.basis, atol=atol, rtol=0)


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("partition", PARTITIONS)
@pytest.mark.parametrize("name", NETWORKS)
class TestFramesOfOneGraph:
    def test_columns_are_orthonormal_up_to_the_rank_and_then_zero(self, name: str, partition: str, labels: int) -> None:
        graph = graph_of(name, labels=labels)
        frames = frames_from(graph, spectrum_of(graph), partition)
        for k, rank in enumerate(frames.ranks[0].tolist()):
            basis = frames.basis[:, k].double()
            expected = torch.diag((torch.arange(WIDTH) < rank).double())
            torch.testing.assert_close(basis.T @ basis, expected, atol=1e-6, rtol=0)

    def test_they_lie_in_their_band_and_hold_all_signals_that_they_have_room_for(
        self, name: str, partition: str, labels: int
    ) -> None:
        graph = graph_of(name, labels=labels)
        spectrum = spectrum_of(graph)
        frames = frames_from(graph, spectrum, partition)
        band = PARTITIONS[partition].assign(spectrum.eigenvalues)
        signals = structural_signals(graph.x.double(), graph.edge_index)
        for k in range(PARTITIONS[partition].bands):
            v, w = spectrum.eigenvectors[:, band == k], frames.basis[:, k].double()
            assert int(frames.sizes[0, k]) == v.shape[1] >= int(frames.ranks[0, k])
            torch.testing.assert_close(v @ (v.T @ w), w, atol=1e-6, rtol=0)
            inside = v @ (v.T @ signals)
            if int(frames.ranks[0, k]) < WIDTH:
                torch.testing.assert_close(w @ (w.T @ inside), inside, atol=1e-5 * float(signals.norm()), rtol=0)

    def test_they_do_not_depend_on_the_basis_that_the_eigensolver_returned(
        self, name: str, partition: str, labels: int, generator: torch.Generator
    ) -> None:
        graph = graph_of(name, labels=labels)
        spectrum = spectrum_of(graph)
        expected = frames_from(graph, spectrum, partition)
        for _ in range(3):
            others = (
                redrawn_in_eigenspaces(spectrum, generator=generator),
                redrawn_in_bands(spectrum, PARTITIONS[partition], generator=generator),
            )
            for other in others:
                assert_same(frames_from(graph, other, partition), expected)

    def test_a_permutation_of_the_nodes_permutes_their_rows(
        self, name: str, partition: str, labels: int, generator: torch.Generator
    ) -> None:
        graph = graph_of(name, labels=labels)
        order = torch.randperm(graph.num_nodes, generator=generator)
        expected = frames_from(graph, spectrum_of(graph), partition)
        moved = permuted(graph, order)
        found = frames_from(moved, spectrum_of(moved), partition)
        assert_same(found, BandFrames(expected.basis[order], expected.sizes, expected.ranks))


def test_a_band_that_no_signal_reaches_has_no_frame() -> None:
    """On a cycle with constant features all signals are constant: what other bands hold is rounding."""
    frames = band_frames(graph_of("cycle", labels=1), uniform(8), width=WIDTH, cache=False)
    assert frames.ranks.tolist() == [[1, 0, 0, 0, 0, 0, 0, 0]]
    assert bool((frames.basis[:, 1:] == 0).all())


@pytest.mark.data
def test_the_frames_of_molecules_do_not_depend_on_the_eigensolver(generator: torch.Generator) -> None:
    from adacanon.data.tu import load_tu

    graphs = load_tu("MUTAG").graphs
    pairs = spectra_and_signals(graphs)
    edges = [graph.edge_index for graph in graphs]
    expected = band_frames_of(pairs, edges, uniform(8), width=4)
    other = [(redrawn_in_bands(s, uniform(8), generator=generator), signal) for s, signal in pairs]
    assert_same(band_frames_of(other, edges, uniform(8), width=4), expected, atol=1e-5)


class TestStructuralSignals:
    @pytest.mark.parametrize("name", NETWORKS)
    def test_against_loops_over_neighbours(self, name: str) -> None:
        network, graph = nx.convert_node_labels_to_integers(NETWORKS[name]), graph_of(name)

        def around(signal: Callable[[int], Tensor]) -> Callable[[int], Tensor]:
            return lambda node: sum(
                (signal(other) for other in network.neighbors(node)), torch.zeros_like(signal(node))
            )

        def one(node: int) -> Tensor:
            return torch.ones(1)

        def feature(node: int) -> Tensor:
            return graph.x[node]

        def degree(node: int) -> Tensor:
            return torch.tensor([float(network.degree[node])])

        def weighted(node: int) -> Tensor:
            return network.degree[node] * graph.x[node]

        parts = (one, feature, degree, around(feature), weighted)
        parts += (around(degree), around(weighted), around(around(feature)))
        expected = torch.stack([torch.cat([part(node) for part in parts]) for node in range(graph.num_nodes)])
        assert torch.equal(structural_signals(graph.x, graph.edge_index), expected)

    def test_a_batch_is_the_graphs_one_after_the_other(self) -> None:
        a, b = graph_of("random"), graph_of("star")
        edges = torch.cat([a.edge_index, b.edge_index + a.num_nodes], dim=1)
        expected = torch.cat([structural_signals(g.x, g.edge_index) for g in (a, b)])
        assert torch.equal(structural_signals(torch.cat([a.x, b.x]), edges), expected)


class TestGramSchmidt:
    @pytest.mark.parametrize("rank", [0, 1, 3])
    def test_it_spans_the_signals_as_a_decomposition_does(self, rank: int, generator: torch.Generator) -> None:
        left = torch.randn(4, 9, rank, generator=generator, dtype=torch.float64)
        signals = left @ torch.randn(rank, 6, generator=generator, dtype=torch.float64)
        basis, ranks = orthonormal_columns(signals, 4)
        assert ranks.tolist() == [rank] * 4
        projector = signals @ torch.linalg.pinv(signals, rtol=1e-10)
        torch.testing.assert_close(basis @ basis.mT, projector, atol=1e-9, rtol=0)

    def test_the_width_keeps_the_first_independent_signals(self) -> None:
        signals = torch.tensor([[1.0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]], dtype=torch.float64)
        basis, rank = orthonormal_columns(signals, 2)
        assert rank.tolist() == 2
        assert basis.tolist() == [[1, 0], [0, 1], [0, 0]]

    def test_scale_does_not_matter(self, generator: torch.Generator) -> None:
        signals = torch.randn(7, 4, generator=generator, dtype=torch.float64)
        factors = torch.tensor([1e-9, 1.0, 1e6, 10.0], dtype=torch.float64)
        torch.testing.assert_close(orthonormal_columns(signals * factors, 4)[0], orthonormal_columns(signals, 4)[0])


class TestDataSets:
    @pytest.fixture
    def folder(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
        monkeypatch.setattr(coefficient_cache, "_FEWEST_GRAPHS", len(NETWORKS))
        return tmp_path / "coefficients"

    def test_graphs_come_one_after_the_other(self) -> None:
        graphs = [graph_of(name) for name in NETWORKS]
        whole = band_frames(graphs, uniform(5), width=WIDTH, cache=False)
        parts = [band_frames(graph, uniform(5), width=WIDTH, cache=False) for graph in graphs]
        assert torch.equal(whole.basis, torch.cat([part.basis for part in parts]))
        assert torch.equal(whole.sizes, torch.cat([part.sizes for part in parts]))
        assert torch.equal(whole.ranks, torch.cat([part.ranks for part in parts]))
        assert whole.basis.dtype == torch.float32

    def test_computed_stored_and_found_frames_are_identical(self, monkeypatch, folder: Path) -> None:  # type: ignore[no-untyped-def]
        graphs = [graph_of(name) for name in NETWORKS]
        computed = band_frames(graphs, uniform(5), width=WIDTH, cache=False)
        assert not folder.exists()
        assert_same(band_frames(graphs, uniform(5), width=WIDTH), computed, atol=0)
        assert len(list(folder.iterdir())) == 1
        monkeypatch.setattr(coefficients, "spectra", lambda *_, **__: pytest.fail("asked for spectra"))
        assert_same(band_frames(graphs, uniform(5), width=WIDTH), computed, atol=0)

    def test_other_bands_widths_and_kinds_have_files_of_their_own(self, folder: Path) -> None:
        graphs = [graph_of(name) for name in NETWORKS]
        band_frames(graphs, uniform(5), width=4)
        assert band_frames(graphs, uniform(5), width=3).basis.shape[2] == 3
        assert band_frames(graphs, uniform(6), width=4).basis.shape[1] == 6
        coefficients.band_coefficients(graphs, uniform(5))
        assert len(list(folder.iterdir())) == 4
