"""GatedGCN and PNA: shapes, batches, node orders, layers against dense formulas, training."""

from collections.abc import Callable

import networkx as nx
import pytest
import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.message_passing import ResidualGraphNetwork, degree_histogram, gated_gcn, pna
from adacanon.errors import InputError, ShapeError

NETWORKS = (
    nx.gnp_random_graph(9, 0.4, seed=1),
    nx.star_graph(5),
    nx.empty_graph(1),
    nx.disjoint_union(nx.path_graph(3), nx.empty_graph(2)),
)


def edges_of(network: nx.Graph) -> Tensor:
    nodes = range(network.number_of_nodes())
    return torch.from_numpy(nx.to_numpy_array(network, nodelist=nodes)).nonzero().T


def inputs(networks: tuple[nx.Graph, ...] = NETWORKS) -> tuple[Tensor, Tensor, Tensor]:
    """Node features, edges and graph of every node; features follow from the graph alone."""
    sizes = torch.tensor([network.number_of_nodes() for network in networks])
    x = torch.cat([torch.linspace(-1, 1, 3 * int(n)).double().reshape(-1, 3).sin() for n in sizes])
    return x, edges_of(nx.disjoint_union_all(networks)), torch.repeat_interleave(torch.arange(len(sizes)), sizes)


def gated() -> ResidualGraphNetwork:
    torch.manual_seed(0)
    return gated_gcn(3, classes=2, hidden=8, layers=2).double()


def principal() -> ResidualGraphNetwork:
    torch.manual_seed(0)
    degrees = degree_histogram((edges_of(network), network.number_of_nodes()) for network in NETWORKS)
    return pna(3, degrees, classes=2, hidden=8, layers=2).double()


@pytest.mark.parametrize("build", [gated, principal])
class TestBoth:
    def test_a_batch_of_unequal_graphs_equals_one_by_one(self, build: Callable[[], ResidualGraphNetwork]) -> None:
        model = build()
        together = model(*inputs())
        assert together.shape == (4, 2)
        assert bool(together.isfinite().all())
        torch.testing.assert_close(together, torch.cat([model(*inputs((network,))) for network in NETWORKS]))

    def test_the_order_of_nodes_is_irrelevant(self, build: Callable[[], ResidualGraphNetwork]) -> None:
        model, (x, edges, graph) = build(), inputs(NETWORKS[:1])
        order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(model(x[order], order.argsort()[edges], graph), model(x, edges, graph))

    def test_edges_matter(self, build: Callable[[], ResidualGraphNetwork]) -> None:
        model, (x, edges, graph) = build(), inputs(NETWORKS[:1])
        assert not torch.allclose(model(x, edges[:, :0], graph), model(x, edges, graph), atol=1e-4)

    def test_training_lowers_the_loss(self, build: Callable[[], ResidualGraphNetwork]) -> None:
        model, labels = build(), torch.tensor([0, 1, 0, 1])
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(40):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(*inputs()), labels)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.5 * losses[0]
        assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in model.parameters())


def test_a_gated_layer_is_its_formula() -> None:
    x, edges, _ = inputs(NETWORKS[:1])
    layer = gated().layers[0]
    h = gated().embedding(x)
    expected = layer.lin_skip(h) + layer.bias
    for source, target in edges.T.tolist():
        gate = torch.sigmoid(layer.lin_key(h[target]) + layer.lin_query(h[source]))
        expected = expected.index_add(0, torch.tensor([target]), (gate * layer.lin_value(h[source])).unsqueeze(0))
    torch.testing.assert_close(layer(h, edges), expected)


def test_layers_are_residual() -> None:
    class Negative(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return -x.abs() - 1

    torch.manual_seed(0)
    model = ResidualGraphNetwork(3, [Negative(), Negative()], classes=2, hidden=4).double()
    x, edges, graph = inputs(NETWORKS[2:3])
    torch.testing.assert_close(model(x, edges, graph), model.head(model.embedding(x)))


def test_the_degree_histogram_counts_isolated_nodes() -> None:
    found = degree_histogram((edges_of(network), network.number_of_nodes()) for network in NETWORKS)
    expected = torch.tensor([degree for network in NETWORKS for _, degree in network.degree()]).bincount()
    assert torch.equal(found, expected)
    assert found[0] >= 3


def test_bad_histograms_are_refused() -> None:
    with pytest.raises(InputError, match="no node of the histogram has a neighbour"):
        pna(3, torch.tensor([5, 0]), classes=2)
    with pytest.raises(ShapeError, match="histogram"):
        pna(3, torch.ones(2, 2), classes=2)
    with pytest.raises(InputError, match="one graph"):
        degree_histogram([])
