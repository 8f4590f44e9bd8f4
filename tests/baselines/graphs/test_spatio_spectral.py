"""S²GNN as its authors run it, and the baseline without edges."""

import math

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from adacanon.baselines.graphs.padding import padded_spectra
from adacanon.baselines.graphs.spatio_spectral import SpatioSpectral, SpectralFilter, spectral_encodings
from adacanon.baselines.graphs.structure_agnostic import StructureAgnostic
from adacanon.errors import InputError

NETWORKS = (
    nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3)),  # repeated eigenvalues
    nx.gnp_random_graph(12, 0.3, seed=1),
    nx.disjoint_union(nx.cycle_graph(4), nx.empty_graph(2)),
    nx.empty_graph(1),
)
COUNT = 12


def edges_of(network: nx.Graph) -> Tensor:
    return torch.from_numpy(nx.to_numpy_array(network, nodelist=range(network.number_of_nodes()))).nonzero().T


def spectrum(network: nx.Graph) -> tuple[Tensor, Tensor]:
    adjacency = nx.to_numpy_array(network, nodelist=range(network.number_of_nodes()))
    root = np.where(adjacency.sum(1) > 0, adjacency.sum(1).clip(1) ** -0.5, 0.0)
    matrix = np.diag((root > 0).astype(float)) - root[:, None] * adjacency * root
    return torch.linalg.eigh(torch.from_numpy(matrix))


def turned(eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    """Another orthonormal basis in every eigenspace."""
    eigenvectors, generator = eigenvectors.clone(), torch.Generator().manual_seed(3)
    for value in eigenvalues.mul(1e8).round().unique():
        inside = eigenvalues.mul(1e8).round() == value
        size = int(inside.sum())
        q = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]
        eigenvectors[:, inside] = eigenvectors[:, inside] @ q
    return eigenvectors


def encoded(network: nx.Graph, values: Tensor, vectors: Tensor) -> Tensor:
    own = spectral_encodings(values, vectors, edges_of(network))
    return torch.nn.functional.pad(own, (0, COUNT - own.shape[1]))


def inputs(networks: tuple[nx.Graph, ...], *, turn: bool = False) -> tuple[Tensor, ...]:
    spectra = [spectrum(network) for network in networks]
    spectra = [(values, turned(values, vectors) if turn else vectors) for values, vectors in spectra]
    sizes = torch.tensor([network.number_of_nodes() for network in networks])
    x = torch.cat([torch.linspace(-1, 2, 3 * int(n)).double().reshape(-1, 3).sin() for n in sizes])
    graph = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    encodings = torch.cat([encoded(n, *one) for n, one in zip(networks, spectra, strict=True)])
    return x, edges_of(nx.disjoint_union_all(networks)), graph, encodings, *padded_spectra(spectra)


def model() -> SpatioSpectral:
    torch.manual_seed(0)
    return SpatioSpectral(3, COUNT, classes=2, width=16, layers=2, cutoff=1.5).double().eval()


def test_a_batch_of_unequal_graphs_equals_one_by_one() -> None:
    network = model()
    alone = torch.cat([network(*inputs((one,))) for one in NETWORKS])
    torch.testing.assert_close(network(*inputs(NETWORKS)), alone)


def test_the_basis_of_an_eigenspace_is_irrelevant() -> None:
    given, other = inputs(NETWORKS), inputs(NETWORKS, turn=True)
    assert not torch.allclose(given[5], other[5], atol=1e-3)
    torch.testing.assert_close(given[3], other[3])
    torch.testing.assert_close(model()(*given), model()(*other))


def test_the_encodings_are_those_of_a_soft_comparison_of_eigenvalues() -> None:
    network = NETWORKS[0]
    values, vectors = spectrum(network)
    adjacency = torch.from_numpy(nx.to_numpy_array(network))
    nodes, expected = len(values), torch.zeros(len(values), len(values), dtype=torch.float64)
    for d in range(nodes):
        weights = torch.softmax(-((values - values[d]) ** 2) / 1e-7, dim=0)
        for i in range(nodes):
            for j in range(nodes):
                expected[i, d] += adjacency[i, j] * (weights * vectors[i] * vectors[j]).sum()
    torch.testing.assert_close(spectral_encodings(values, vectors, edges_of(network)), expected)


def test_a_filter_is_its_formula_and_ends_at_its_cutoff() -> None:
    torch.manual_seed(0)
    layer, (values, vectors) = SpectralFilter(4, cutoff=0.9).double(), spectrum(NETWORKS[1])
    h = torch.randn(12, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = torch.zeros(12, 4, dtype=torch.float64)
    spacing = 0.9 / 59
    for value, vector in zip(values.tolist(), vectors.T, strict=True):
        gaussians = torch.tensor([math.exp(-(((value - c * spacing) / spacing) ** 2) / 2) for c in range(60)]).double()
        window = 1.0 if value <= 0.45 else math.cos(math.pi * (value / 0.9 - 0.5)) if value < 0.9 else 0.0
        expected += torch.outer(vector, window * layer.linear(gaussians) * (vector @ (h * layer.gate(h))))
    torch.testing.assert_close(layer(h, values[None], vectors, (12,)), expected)
    above = torch.tensor([[0.9, 0.95, 2.0]]).double()
    torch.testing.assert_close(layer.response(above), torch.zeros(1, 3, 4).double())


def test_gradients_reach_all_parameters() -> None:
    network = model()
    network(*inputs(NETWORKS)).square().sum().backward()
    assert [name for name, p in network.named_parameters() if p.grad is None or not bool(p.grad.any())] == []


def test_bad_filters_are_refused() -> None:
    with pytest.raises(InputError, match="cutoff"):
        SpectralFilter(4, cutoff=0.0)


@pytest.mark.parametrize("node_layer", [True, False])
def test_the_baseline_without_edges_is_a_sum_and_an_mlp(node_layer: bool) -> None:
    torch.manual_seed(0)
    network = StructureAgnostic(3, classes=2, node_layer=node_layer).double().eval()
    x, edge_index, graph = inputs(NETWORKS)[:3]
    expected = torch.stack([network.head(network.nodes(x[graph == i]).sum(0)) for i in range(len(NETWORKS))])
    torch.testing.assert_close(network(x, edge_index, graph), expected)
    torch.testing.assert_close(network(x, edge_index[:, :0], graph), expected)
