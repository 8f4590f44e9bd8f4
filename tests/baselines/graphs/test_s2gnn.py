"""S²GNN: the spectral filter is a function of the Laplacian, with all that follows from it."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.utils import from_networkx

from adacanon.baselines.graphs.padding import padded_spectra
from adacanon.baselines.graphs.s2gnn import S2GNN, GaussianFilter, SpectralLayer, expanded, lowest, tukey_window
from adacanon.errors import InputError, ShapeError

CHANNELS = 3
NETWORKS = {
    "grid": nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)),
    "random": nx.gnp_random_graph(12, 0.3, seed=1),
    "two components": nx.disjoint_union(nx.cycle_graph(4), nx.path_graph(3)),
    "no edges": nx.empty_graph(3),
    "one node": nx.empty_graph(1),
}
COUNT = 6


def edges(network: nx.Graph) -> Tensor:
    return from_networkx(network).edge_index if network.size() else torch.zeros(2, 0, dtype=torch.int64)


def spectrum(network: nx.Graph) -> tuple[Tensor, Tensor]:
    nodes = network.number_of_nodes()
    if not network.size():
        return torch.zeros(nodes, dtype=torch.float64), torch.eye(nodes, dtype=torch.float64)
    matrix = nx.normalized_laplacian_matrix(network, nodelist=range(nodes)).toarray()
    eigenvalues, eigenvectors = torch.linalg.eigh(torch.from_numpy(np.asarray(matrix)))
    return eigenvalues, eigenvectors


def signal(nodes: int, channels: int = CHANNELS, seed: int = 0) -> Tensor:
    return torch.randn(nodes, channels, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def model_of(seed: int = 0) -> S2GNN:
    torch.manual_seed(seed)
    return S2GNN(CHANNELS, classes=2, hidden=12, layers=2).double()


def one(model: S2GNN, x: Tensor, edge_index: Tensor, eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    return model(x, edge_index, torch.zeros(len(x), dtype=torch.int64), eigenvalues[None], eigenvectors[None])


def turned(eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    """Another orthonormal basis in every eigenspace."""
    eigenvectors, generator = eigenvectors.clone(), torch.Generator().manual_seed(3)
    for value in eigenvalues.mul(1e8).round().unique():
        inside = eigenvalues.mul(1e8).round() == value
        size = int(inside.sum())
        q = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]
        eigenvectors[:, inside] = eigenvectors[:, inside] @ q
    return eigenvectors


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> nx.Graph:
    return NETWORKS[request.param]


class TestLowest:
    def test_an_eigenspace_is_never_cut(self) -> None:
        eigenvalues, eigenvectors = spectrum(nx.cycle_graph(8))
        kept = [len(lowest(eigenvalues, eigenvectors, count)[0]) for count in range(1, 9)]
        assert kept == [1, 1, 3, 3, 5, 5, 7, 8]

    def test_many_components_may_leave_nothing(self) -> None:
        eigenvalues, eigenvectors = lowest(*spectrum(nx.empty_graph(4)), 2)
        assert eigenvectors.shape == (4, 0)
        x, model = signal(4), model_of()
        assert bool(one(model, x, torch.zeros(2, 0, dtype=torch.int64), eigenvalues, eigenvectors).isfinite().all())

    def test_no_eigenvector_at_all_is_refused(self) -> None:
        with pytest.raises(InputError, match="count = 0"):
            lowest(*spectrum(nx.cycle_graph(4)), 0)


class TestFilter:
    def test_the_window_is_one_below_and_fades_to_the_top(self) -> None:
        window = tukey_window(torch.linspace(0, 1, 101, dtype=torch.float64)[None])[0]
        assert bool((window[:51] == 1).all())
        assert bool((window[51:].diff() < 0).all())
        assert float(window[-1]) == pytest.approx(np.cos(np.pi * (1 / 1.025 - 0.5)))

    def test_the_window_of_each_graph_depends_on_its_own_spectrum(self) -> None:
        both = torch.tensor([[0.0, 0.5, 1.0], [0.0, 2.0, 0.0]], dtype=torch.float64)
        torch.testing.assert_close(tukey_window(both), torch.cat([tukey_window(row[None]) for row in both]))

    def test_the_window_ignores_rounding_where_all_eigenvalues_are_zero(self) -> None:
        assert tukey_window(torch.tensor([[-1e-17, 0.0, 1e-16]])).tolist() == [[1, 1, 1]]

    def test_the_basis_is_gaussian(self) -> None:
        torch.manual_seed(0)
        filter_ = GaussianFilter(20, gaussians=9).double()
        eigenvalues = torch.tensor([[0.0, 0.3, 1.9]], dtype=torch.float64)
        first, second = filter_.linear
        centres = [2 * i / 8 for i in range(9)]
        basis = torch.tensor([[np.exp(-0.5 * ((v - c) / 0.25) ** 2) for c in centres] for v in (0.0, 0.3, 1.9)])
        expected = tukey_window(eigenvalues)[0, :, None] * (basis @ first.weight.T @ second.weight.T + second.bias)
        torch.testing.assert_close(filter_(expanded(eigenvalues, 9))[0], expected)
        assert first.weight.shape == (2, 9)

    @pytest.mark.parametrize("count", [3, COUNT, 100])
    def test_the_layer_is_functional_calculus(self, network: nx.Graph, count: int) -> None:
        """Channel by channel: V diag(g(λ)) Vᵀ f(H)."""
        eigenvalues, eigenvectors = lowest(*spectrum(network), count)
        h = signal(network.number_of_nodes(), 4)
        torch.manual_seed(0)
        layer, values = SpectralLayer(4).double(), expanded(eigenvalues[None], 50)
        linear = layer.gate[0]
        gate = h @ linear.weight.T + linear.bias
        f = h * gate * torch.sigmoid(gate)
        g = layer.filter(values)[0]
        expected = [eigenvectors @ torch.diag(g[:, c]) @ eigenvectors.T @ f[:, c] for c in range(4)]
        found = layer(h, values, eigenvectors, (len(h),))
        torch.testing.assert_close(found, torch.stack(expected, dim=1))

    def test_the_layer_reaches_every_node_of_a_component_and_no_other(self) -> None:
        eigenvalues, eigenvectors = lowest(*spectrum(nx.disjoint_union(nx.path_graph(8), nx.cycle_graph(5))), 7)
        torch.manual_seed(0)
        layer, h = SpectralLayer(4).double(), signal(13, 4).requires_grad_()
        layer(h, expanded(eigenvalues[None], 50), eigenvectors, (13,))[0].sum().backward()
        assert h.grad is not None
        assert float(h.grad[:8].norm(dim=1).min()) > 1e-4
        assert float(h.grad[8:].norm(dim=1).max()) < 1e-12


class TestNetwork:
    def test_signs_of_eigenvectors_do_not_matter(self, network: nx.Graph) -> None:
        eigenvalues, eigenvectors = lowest(*spectrum(network), COUNT)
        x, model = signal(len(eigenvectors)), model_of()
        signs = torch.tensor([-1.0, 1.0, -1.0, -1.0, 1.0, -1.0], dtype=torch.float64)[: len(eigenvalues)]
        expected = one(model, x, edges(network), eigenvalues, eigenvectors)
        torch.testing.assert_close(one(model, x, edges(network), eigenvalues, signs * eigenvectors), expected)

    def test_bases_of_eigenspaces_do_not_matter(self, network: nx.Graph) -> None:
        eigenvalues, eigenvectors = spectrum(network)
        x, model = signal(len(eigenvectors)), model_of()
        expected = one(model, x, edges(network), *lowest(eigenvalues, eigenvectors, COUNT))
        other = turned(eigenvalues, eigenvectors)
        torch.testing.assert_close(one(model, x, edges(network), *lowest(eigenvalues, other, COUNT)), expected)

    def test_nodes_permute_with_the_graph(self, network: nx.Graph) -> None:
        nodes = network.number_of_nodes()
        order = torch.randperm(nodes, generator=torch.Generator().manual_seed(2))
        renamed = nx.Graph()
        renamed.add_nodes_from(range(nodes))
        place = {int(old): new for new, old in enumerate(order)}
        renamed.add_edges_from((place[a], place[b]) for a, b in network.edges)
        x, model, graph = signal(nodes), model_of(), torch.zeros(nodes, dtype=torch.int64)
        values, vectors = lowest(*spectrum(network), COUNT)
        other_values, other_vectors = lowest(*spectrum(renamed), COUNT)
        before = model.nodes(x, edges(network), graph, values[None], vectors[None])
        after = model.nodes(x[order], edges(renamed), graph, other_values[None], other_vectors[None])
        torch.testing.assert_close(after, before[order])
        torch.testing.assert_close(
            one(model, x[order], edges(renamed), other_values, other_vectors),
            one(model, x, edges(network), values, vectors),
        )

    def test_the_spectral_part_matters(self) -> None:
        network = NETWORKS["random"]
        eigenvalues, eigenvectors = lowest(*spectrum(network), COUNT)
        x, model = signal(12), model_of()
        without = one(model, x, edges(network), eigenvalues, torch.zeros_like(eigenvectors))
        assert (one(model, x, edges(network), eigenvalues, eigenvectors) - without).abs().max() > 1e-4

    def test_a_batch_of_unequal_graphs_equals_one_by_one(self) -> None:
        model, pairs = model_of(), [lowest(*spectrum(network), COUNT) for network in NETWORKS.values()]
        signals = [signal(len(vectors), seed=seed) for seed, (_, vectors) in enumerate(pairs)]
        sizes = torch.tensor([len(x) for x in signals])
        shifted = [edges(n) + int(sizes[:i].sum()) for i, n in enumerate(NETWORKS.values())]
        graph = torch.arange(len(signals)).repeat_interleave(sizes)
        together = model(torch.cat(signals), torch.cat(shifted, dim=1), graph, *padded_spectra(pairs))
        alone = [one(model, x, edges(n), *p) for x, n, p in zip(signals, NETWORKS.values(), pairs, strict=True)]
        torch.testing.assert_close(together, torch.cat(alone))

    def test_one_spectrum_serves_many_signals(self) -> None:
        network, model = NETWORKS["grid"], model_of()
        eigenvalues, eigenvectors = lowest(*spectrum(network), COUNT)
        signals = [signal(9, seed=seed) for seed in range(3)]
        edge_index = torch.cat([edges(network) + 9 * i for i in range(3)], dim=1)
        graph = torch.arange(3).repeat_interleave(9)
        together = model(torch.cat(signals), edge_index, graph, eigenvalues[None], eigenvectors[None])
        alone = [one(model, x, edges(network), eigenvalues, eigenvectors) for x in signals]
        torch.testing.assert_close(together, torch.cat(alone))

    def test_it_learns_whether_the_ends_of_a_path_agree(self) -> None:
        network, samples, nodes = nx.path_graph(10), 16, 10
        eigenvalues, eigenvectors = lowest(*spectrum(network), COUNT)
        sign = torch.randint(0, 2, (samples, 2), generator=torch.Generator().manual_seed(0)) * 2.0 - 1
        x = torch.zeros(samples, nodes, CHANNELS, dtype=torch.float64)
        x[:, 0, 0], x[:, -1, 0] = sign[:, 0].double(), sign[:, 1].double()
        labels = (sign.prod(1) > 0).long()
        edge_index = torch.cat([edges(network) + nodes * i for i in range(samples)], dim=1)
        graph, model = torch.arange(samples).repeat_interleave(nodes), model_of()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(100):
            scores = model(x.flatten(0, 1), edge_index, graph, eigenvalues[None], eigenvectors[None])
            loss = torch.nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.5 * losses[0]

    def test_wrong_spectra_get_a_clear_error(self) -> None:
        network, model = NETWORKS["grid"], model_of()
        eigenvalues, eigenvectors = spectrum(network)
        with pytest.raises(ShapeError, match="one eigenvalue or band"):
            one(model, signal(9), edges(network), eigenvalues[:3], eigenvectors)
        with pytest.raises(ShapeError, match="a graph of 9 nodes"):
            one(model, signal(9), edges(network), eigenvalues, eigenvectors[:5])
        with pytest.raises(InputError, match="at least two"):
            GaussianFilter(4, gaussians=1)
