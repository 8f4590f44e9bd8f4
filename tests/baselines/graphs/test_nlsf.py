"""NLSF: functional-shift equivariance, what it sees of a signal, batches, and learning."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from adacanon.baselines.graphs.nlsf import (
    NLSF,
    READOUTS,
    NLSFEncoder,
    NonlinearSpectralFilter,
    decomposed,
    index_bands,
    value_bands,
)
from adacanon.baselines.graphs.padding import padded_spectra
from adacanon.errors import InputError, ShapeError, UnknownNameError

BANDS = {"index": 4, "value": 3}
CHANNELS = 3


def networks() -> list[nx.Graph]:
    """A grid with repeated eigenvalues, an asymmetric graph, two components, a graph without edges, one node."""
    return [
        nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)),
        nx.gnp_random_graph(12, 0.3, seed=1),
        nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)),
        nx.empty_graph(3),
        nx.empty_graph(1),
    ]


def spectrum(network: nx.Graph, kind: str) -> tuple[Tensor, Tensor]:
    """As in the paper: the Laplacian for index filters, the normalized one for value filters."""
    nodes = range(network.number_of_nodes())
    laplacian = nx.laplacian_matrix if kind == "index" else nx.normalized_laplacian_matrix
    matrix = (
        laplacian(network, nodelist=nodes).toarray().astype(float) if network.size() else np.zeros((len(nodes),) * 2)
    )
    eigenvalues, eigenvectors = torch.linalg.eigh(torch.from_numpy(matrix))
    return eigenvalues, eigenvectors


def assign(eigenvalues: Tensor, kind: str) -> Tensor:
    return index_bands(eigenvalues, BANDS[kind]) if kind == "index" else value_bands(eigenvalues, BANDS[kind])


def signal(nodes: int, seed: int = 0) -> Tensor:
    return torch.randn(nodes, CHANNELS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def orthogonal(size: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]


def turned(eigenvectors: Tensor, band: Tensor, seed: int = 5) -> Tensor:
    """Another orthonormal basis of every band, and of the remainder."""
    eigenvectors = eigenvectors.clone()
    for k in band.unique().tolist():
        inside = band == k
        eigenvectors[:, inside] = eigenvectors[:, inside] @ orthogonal(int(inside.sum()), seed + k)
    return eigenvectors


def model_of(kind: str, readout: str = "pooling", seed: int = 0) -> NLSF:
    torch.manual_seed(seed)
    return NLSF([NLSFEncoder(CHANNELS, BANDS[kind], hidden=8, readout=readout)], classes=2, hidden=8).double()


def one(model: NLSF, x: Tensor, band: Tensor, eigenvectors: Tensor) -> Tensor:
    return model(x, torch.zeros(len(x), dtype=torch.int64), (band[None], eigenvectors[None]))


def cases() -> list[tuple[nx.Graph, str]]:
    return [(network, kind) for network in networks() for kind in BANDS]


class TestBands:
    def test_index_bands_are_the_eigenspaces_from_below(self) -> None:
        eigenvalues, _ = spectrum(nx.cycle_graph(6), "index")
        assert index_bands(eigenvalues, 3).tolist() == [0, 1, 1, 2, 2, -1]

    def test_all_components_share_the_first_eigenspace(self) -> None:
        eigenvalues, _ = spectrum(networks()[2], "index")
        assert index_bands(eigenvalues, 2)[:3].tolist() == [0, 0, 1]

    def test_value_bands_are_dyadic_and_the_lowest_frequencies_are_the_remainder(self) -> None:
        eigenvalues = torch.tensor([0.0, 0.2, 0.25, 0.5 - 1e-12, 0.9, 1.0, 2.0 + 1e-12])
        assert value_bands(eigenvalues, 3).tolist() == [-1, -1, 0, 1, 1, 2, 2]

    def test_bands_do_not_depend_on_padding(self) -> None:
        pairs = [spectrum(network, "index") for network in networks()]
        padded, _ = padded_spectra(pairs)
        for row, (eigenvalues, _) in zip(padded, pairs, strict=True):
            assert torch.equal(index_bands(row, 4)[: len(eigenvalues)], index_bands(eigenvalues, 4))

    def test_bad_bands_are_refused(self) -> None:
        with pytest.raises(InputError, match="0 < decay < 1"):
            value_bands(torch.zeros(3), 3, decay=1.5)


class TestFilter:
    @pytest.mark.parametrize(("network", "kind"), cases())
    def test_the_layer_is_the_formula_with_dense_projections(self, network: nx.Graph, kind: str) -> None:
        eigenvalues, eigenvectors = spectrum(network, kind)
        band, x, bands = assign(eigenvalues, kind), signal(len(eigenvalues)), BANDS[kind]
        torch.manual_seed(1)
        layer = NonlinearSpectralFilter(CHANNELS, 5, bands=bands).double()
        y = x @ layer.mix.weight.T
        projections = [eigenvectors[:, band == k] @ eigenvectors[:, band == k].T for k in range(bands)]
        projections.append(torch.eye(len(x), dtype=x.dtype) - sum(projections))
        norms = torch.stack([(p @ y).norm(dim=0) for p in projections]) / len(x) ** 0.5
        psi = layer.mlp(norms.flatten()).view(bands + 1, 5)
        expected = sum(psi[k] * (p @ y) / (norms[k] + layer.epsilon) for k, p in enumerate(projections))
        torch.testing.assert_close(filtered(layer, x, eigenvectors, band, bands), expected)

    @pytest.mark.parametrize("kind", BANDS)
    def test_it_commutes_with_graph_functional_shifts(self, kind: str) -> None:
        eigenvalues, eigenvectors = spectrum(networks()[1], kind)
        band, x = assign(eigenvalues, kind), signal(12)
        shift = turned(eigenvectors, band) @ eigenvectors.T
        torch.manual_seed(1)
        layer = NonlinearSpectralFilter(CHANNELS, 5, bands=BANDS[kind]).double()
        assert (shift @ x - x).abs().max() > 0.1
        moved = filtered(layer, shift @ x, eigenvectors, band, BANDS[kind])
        torch.testing.assert_close(moved, shift @ filtered(layer, x, eigenvectors, band, BANDS[kind]))

    def test_leading_eigenvectors_alone_give_the_same_since_the_remainder_is_a_difference(self) -> None:
        eigenvalues, eigenvectors = spectrum(networks()[1], "index")
        band, x, model = assign(eigenvalues, "index"), signal(12), model_of("index")
        kept = band >= 0
        assert int(kept.sum()) < 12
        torch.testing.assert_close(one(model, x, band[kept], eigenvectors[:, kept]), one(model, x, band, eigenvectors))


def filtered(layer: NonlinearSpectralFilter, x: Tensor, eigenvectors: Tensor, band: Tensor, bands: int) -> Tensor:
    graph = torch.zeros(len(x), dtype=torch.int64)
    signal, basis = decomposed(x, graph, band[None], eigenvectors[None], bands=bands)
    return layer(signal, basis).at_nodes(basis)


@pytest.mark.parametrize("readout", READOUTS)
class TestInvariance:
    @pytest.mark.parametrize(("network", "kind"), cases())
    def test_the_basis_of_a_band_does_not_matter(self, network: nx.Graph, kind: str, readout: str) -> None:
        eigenvalues, eigenvectors = spectrum(network, kind)
        band, x, model = assign(eigenvalues, kind), signal(len(eigenvalues)), model_of(kind, readout)
        other = turned(eigenvectors, band)
        torch.testing.assert_close(one(model, x, band, other), one(model, x, band, eigenvectors))

    @pytest.mark.parametrize(("network", "kind"), cases())
    def test_the_order_of_the_nodes_does_not_matter(self, network: nx.Graph, kind: str, readout: str) -> None:
        nodes = network.number_of_nodes()
        order = torch.randperm(nodes, generator=torch.Generator().manual_seed(2))
        renamed = nx.relabel_nodes(network, {int(old): new for new, old in enumerate(order)})
        x, model = signal(nodes), model_of(kind, readout)
        (values, vectors), (other_values, other_vectors) = spectrum(network, kind), spectrum(renamed, kind)
        expected = one(model, x, assign(values, kind), vectors)
        torch.testing.assert_close(one(model, x[order], assign(other_values, kind), other_vectors), expected)

    @pytest.mark.parametrize("kind", BANDS)
    def test_the_energy_of_every_band_matters(self, kind: str, readout: str) -> None:
        eigenvalues, eigenvectors = spectrum(networks()[1], kind)
        band, x, model = assign(eigenvalues, kind), signal(12), model_of(kind, readout)
        present = band.unique().tolist()
        assert len(present) >= 3
        for k in present:
            part = eigenvectors[:, band == k] @ eigenvectors[:, band == k].T @ x
            assert (one(model, x + part, band, eigenvectors) - one(model, x, band, eigenvectors)).abs().max() > 1e-6

    def test_a_batch_of_unequal_graphs_equals_one_by_one(self, readout: str) -> None:
        for kind in BANDS:
            pairs, model = [spectrum(network, kind) for network in networks()], model_of(kind, readout)
            signals = [signal(len(values), seed) for seed, (values, _) in enumerate(pairs)]
            eigenvalues, eigenvectors = padded_spectra(pairs)
            together = model(torch.cat(signals), graph_of(signals), (assign(eigenvalues, kind), eigenvectors))
            alone = [one(model, x, assign(values, kind), v) for x, (values, v) in zip(signals, pairs, strict=True)]
            torch.testing.assert_close(together, torch.cat(alone))


def graph_of(signals: list[Tensor]) -> Tensor:
    return torch.arange(len(signals)).repeat_interleave(torch.tensor([len(x) for x in signals]))


class TestNetwork:
    def test_the_analysis_readout_is_invariant_under_functional_shifts_and_pooling_is_not(self) -> None:
        eigenvalues, eigenvectors = spectrum(networks()[1], "value")
        band, x = assign(eigenvalues, "value"), signal(12)
        moved = turned(eigenvectors, band) @ eigenvectors.T @ x
        spectral, pooled = model_of("value", "analysis"), model_of("value", "pooling")
        torch.testing.assert_close(one(spectral, moved, band, eigenvectors), one(spectral, x, band, eigenvectors))
        assert (one(pooled, moved, band, eigenvectors) - one(pooled, x, band, eigenvectors)).abs().max() > 1e-6

    def test_one_spectrum_serves_many_signals(self) -> None:
        eigenvalues, eigenvectors = spectrum(networks()[0], "value")
        band, signals, model = assign(eigenvalues, "value"), [signal(9, seed) for seed in range(4)], model_of("value")
        together = model(torch.cat(signals), graph_of(signals), (band[None], eigenvectors[None]))
        torch.testing.assert_close(together, torch.cat([one(model, x, band, eigenvectors) for x in signals]))

    def test_attention_weighs_the_two_laplacians(self) -> None:
        torch.manual_seed(0)
        encoders = [NLSFEncoder(CHANNELS, BANDS[kind], hidden=8) for kind in BANDS]
        model, x = NLSF(encoders, classes=2, hidden=8).double(), signal(12)
        graph = torch.zeros(12, dtype=torch.int64)
        pairs = [spectrum(networks()[1], kind) for kind in BANDS]
        inputs = [(assign(values, kind)[None], v[None]) for kind, (values, v) in zip(BANDS, pairs, strict=True)]
        index, value = (encoder(x, graph, *pair) for encoder, pair in zip(encoders, inputs, strict=True))
        a, b = model.score(torch.cat([index, value], 1)).softmax(1)[0]
        torch.testing.assert_close(model(x, graph, *inputs), model.head(torch.cat([a * index, b * value], 1)))

    def test_gradients_are_finite_on_empty_bands_and_zero_signals(self) -> None:
        model, pairs = model_of("value"), [spectrum(network, "value") for network in networks()]
        signals = [torch.zeros(len(values), CHANNELS, dtype=torch.float64) for values, _ in pairs]
        eigenvalues, eigenvectors = padded_spectra(pairs)
        x = torch.cat(signals).requires_grad_()
        model(x, graph_of(signals), (assign(eigenvalues, "value"), eigenvectors)).sum().backward()
        assert all(bool(p.grad.isfinite().all()) for p in [x, *model.parameters()] if p.grad is not None)

    @pytest.mark.parametrize("readout", READOUTS)
    def test_it_learns_to_tell_low_from_high_frequencies(self, readout: str) -> None:
        eigenvalues, eigenvectors = spectrum(networks()[1], "value")
        labels = torch.arange(20) % 2
        generator = torch.Generator().manual_seed(0)
        weights = torch.randn(20, 12, CHANNELS, generator=generator, dtype=torch.float64)
        half = (torch.arange(12) < 6)[None, :] == (labels == 0)[:, None]
        x = (eigenvectors @ (weights * half[..., None])).flatten(0, 1)
        graph, band = torch.arange(20).repeat_interleave(12), assign(eigenvalues, "value")[None]
        model = model_of("value", readout)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(30):
            loss = torch.nn.functional.cross_entropy(model(x, graph, (band, eigenvectors[None])), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.5 * losses[0]

    def test_wrong_input_gets_a_clear_error(self) -> None:
        eigenvalues, eigenvectors = spectrum(networks()[0], "value")
        band, model = assign(eigenvalues, "value"), model_of("value")
        with pytest.raises(UnknownNameError, match="pooling, analysis"):
            NLSFEncoder(CHANNELS, 3, readout="sum")
        with pytest.raises(ShapeError, match="one eigenvalue or band"):
            one(model, signal(9), band[:4], eigenvectors)
        with pytest.raises(ShapeError, match="a graph of 10 nodes"):
            one(model, signal(10), band, eigenvectors)
        with pytest.raises(ShapeError, match=r"Eigenvectors of 1 graphs"):
            model(
                signal(9), torch.zeros(9, dtype=torch.int64), (band[None].expand(2, -1), eigenvectors.expand(2, 9, 9))
            )
