"""Sparse products in place of messages: what torch-geometric's own layers give, values and gradients alike."""

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import ChebConv, GCNConv

from adacanon.baselines.graphs.graph_networks import GraphNetwork
from adacanon.baselines.graphs.product_layers import ProductCheb, ProductGCN
from adacanon.baselines.graphs.sparse_messages import Messages

GRAPHS = {
    "random": nx.gnp_random_graph(9, 0.4, seed=1),
    "directed": nx.gnp_random_graph(7, 0.3, seed=2, directed=True),
    "lonely nodes": nx.disjoint_union(nx.path_graph(3), nx.empty_graph(2)),
    "no edges": nx.empty_graph(3),
    "one node": nx.empty_graph(1),
}


def edges_of(graph: nx.Graph) -> Tensor:
    return torch.from_numpy(nx.to_numpy_array(graph)).nonzero().T


def signal(nodes: int, channels: int = 3) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(nodes, channels, generator=generator, dtype=torch.float64, requires_grad=True)


LAYERS: dict[str, tuple[Callable[[], nn.Module], Callable[[], nn.Module]]] = {
    "gcn": (lambda: GCNConv(3, 4), lambda: ProductGCN(3, 4)),
    "cheb, 1": (lambda: ChebConv(3, 4, K=1), lambda: ProductCheb(3, 4, K=1)),
    "cheb, 3": (lambda: ChebConv(3, 4, K=3), lambda: ProductCheb(3, 4, K=3)),
}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("name", GRAPHS)
def test_layers_are_those_of_torch_geometric(kind: str, name: str) -> None:
    layers = []
    for build in LAYERS[kind]:
        torch.manual_seed(0)
        layers.append(build().double())
    original, product = layers
    edge_index = edges_of(GRAPHS[name])
    here, there = signal(GRAPHS[name].number_of_nodes()), signal(GRAPHS[name].number_of_nodes())
    expected = original(there, edge_index)
    found = product(here, product.messages(here, edge_index))
    torch.testing.assert_close(found, expected)
    weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    torch.testing.assert_close(here.grad, there.grad)
    for mine, theirs in zip(product.parameters(), original.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_messages_are_a_matrix_and_its_gradient_the_transposed_one() -> None:
    edge_index = torch.tensor([[0, 2, 2, 0], [1, 1, 0, 1]])
    messages = Messages.along(edge_index, torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64), nodes=3)
    matrix = torch.tensor([[0.0, 0.0, 3.0], [5.0, 0.0, 2.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    x = signal(3)
    torch.testing.assert_close(messages(x), matrix @ x)
    assert torch.autograd.gradcheck(messages, (x,))


def test_a_network_without_layers_needs_no_edges() -> None:
    model = GraphNetwork("gcn", 4, classes=2, hidden=4, layers=0).double()
    assert model(signal(3, 4), torch.zeros(2, 0, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)).shape == (1, 2)
