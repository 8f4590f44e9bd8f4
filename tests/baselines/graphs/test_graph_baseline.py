"""Graph baselines: batches, node orders, edge features, gradients, no edges, and torch-geometric's layers."""

import networkx as nx
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import ChebConv, GCNConv, GINEConv, GPSConv, PNAConv, SAGEConv

from adacanon.baselines.graphs.convolutions import GCN, GIN, PNA, SAGE, BatchNorm, Chebyshev
from adacanon.baselines.graphs.edges import Edges
from adacanon.baselines.graphs.gated_layer import EPSILON, GatedGCN
from adacanon.baselines.graphs.gps_layer import GPSLayer
from adacanon.baselines.graphs.graph_baseline import GraphBaseline
from adacanon.baselines.graphs.graph_encoder import CONVOLUTIONS, WITHOUT_EDGE_FEATURES
from adacanon.baselines.graphs.message_passing import degree_histogram
from adacanon.errors import InputError, ShapeError, UnknownNameError

NETWORKS = (
    nx.gnp_random_graph(9, 0.4, seed=1),
    nx.star_graph(5),
    nx.empty_graph(1),
    nx.disjoint_union(nx.path_graph(3), nx.empty_graph(2)),
)
WITH_EDGES = [kind for kind in CONVOLUTIONS if kind not in WITHOUT_EDGE_FEATURES]
Batch = tuple[Tensor, Tensor, Tensor]


def edges_of(network: nx.Graph) -> Tensor:
    return torch.from_numpy(nx.to_numpy_array(network, nodelist=range(network.number_of_nodes()))).nonzero().T


def batch(networks: tuple[nx.Graph, ...] = NETWORKS) -> Batch:
    """Node features, edges and graph of every node; features follow from the graph alone."""
    sizes = torch.tensor([network.number_of_nodes() for network in networks])
    x = torch.cat([torch.linspace(-1, 2, 3 * int(n)).double().reshape(-1, 3).sin() for n in sizes])
    return x, edges_of(nx.disjoint_union_all(networks)), torch.repeat_interleave(torch.arange(len(sizes)), sizes)


def edge_features(x: Tensor, edge_index: Tensor) -> Tensor:
    """Two numbers per edge, not the same in both directions."""
    source, target = x[edge_index[0]], x[edge_index[1]]
    return torch.stack([(3 * source - target).sum(1).cos(), (source * target).sum(1)], dim=1)


def build(kind: str, *, edges: int | None = None, **options: object) -> GraphBaseline:
    torch.manual_seed(0)
    degrees = degree_histogram((edges_of(n), n.number_of_nodes()) for n in NETWORKS) if kind == "pna" else None
    sizes = {"width": 8, "layers": 3}
    return GraphBaseline(kind, 3, classes=2, edges=edges, degrees=degrees, **{**sizes, **options}).double()  # type: ignore[arg-type]


def settled(model: nn.Module) -> nn.Module:
    """In evaluation mode, with running statistics that are not those of the start."""
    generator = torch.Generator().manual_seed(1)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.normal_(generator=generator)
            module.running_var.uniform_(0.5, 2, generator=generator)
    return model.eval()


@pytest.mark.parametrize("kind", CONVOLUTIONS)
class TestEveryKind:
    def test_a_batch_of_unequal_graphs_equals_one_by_one(self, kind: str) -> None:
        model = settled(build(kind))
        together = model(*batch())
        assert together.shape == (4, 2)
        torch.testing.assert_close(together, torch.cat([model(*batch((network,))) for network in NETWORKS]))

    def test_the_order_of_nodes_and_edges_is_irrelevant(self, kind: str) -> None:
        edges = None if kind in WITHOUT_EDGE_FEATURES else 2
        model, (x, index, graph) = settled(build(kind, edges=edges)), batch(NETWORKS[:1])
        features = () if edges is None else (edge_features(x, index),)
        generator = torch.Generator().manual_seed(0)
        order, shuffled = (torch.randperm(n, generator=generator) for n in (9, index.shape[1]))
        moved = order.argsort()[index][:, shuffled]
        found = model(x[order], moved, graph, *(f[shuffled] for f in features))
        torch.testing.assert_close(found, model(x, index, graph, *features))

    def test_edges_matter(self, kind: str) -> None:
        model, (x, index, graph) = settled(build(kind)), batch(NETWORKS[:1])
        assert not torch.allclose(model(x, index[:, :0], graph), model(x, index, graph), atol=1e-4)

    @pytest.mark.parametrize("with_edges", [False, True])
    def test_gradients_reach_all_parameters(self, kind: str, with_edges: bool) -> None:
        if with_edges and kind in WITHOUT_EDGE_FEATURES:
            pytest.skip("no place for edge features")
        model, (x, index, graph) = build(kind, edges=2 if with_edges else None), batch()
        scores = model(x, index, graph, edge_features(x, index) if with_edges else None)
        (scores * torch.tensor([1.0, -2.0])).square().sum().backward()
        gradients = {name: p.grad for name, p in model.named_parameters()}
        assert [name for name, gradient in gradients.items() if gradient is None] == []
        # A shift before a normalisation changes nothing: biases may have gradient zero.
        weights = {name: gradient for name, gradient in gradients.items() if not name.endswith("bias")}
        assert [name for name, gradient in weights.items() if not bool((gradient.abs() > 1e-9).any())] == []
        assert all(bool(gradient.isfinite().all()) for gradient in gradients.values())

    def test_graphs_without_edges_can_be_trained_on(self, kind: str) -> None:
        for networks in (NETWORKS[2:3], (nx.empty_graph(3), nx.empty_graph(1))):
            model = build(kind, dropout=0.5)
            scores = model(*batch(networks))
            scores.sum().backward()
            assert scores.shape == (len(networks), 2)
            assert bool(scores.isfinite().all())
            assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())

    def test_training_lowers_the_loss(self, kind: str) -> None:
        model, labels, losses = build(kind), torch.tensor([0, 1, 0, 1]), []
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(40):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(*batch()), labels)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        assert losses[-1] < 0.3 * losses[0]

    def test_dropout_is_for_training_alone(self, kind: str) -> None:
        model = build(kind, dropout=0.5)
        first, second = model(*batch()), model(*batch())
        assert not torch.equal(first, second)
        model.eval()
        assert torch.equal(model(*batch()), model(*batch()))


@pytest.mark.parametrize("kind", WITH_EDGES)
class TestEdgeFeatures:
    def test_they_change_the_answer(self, kind: str) -> None:
        model, (x, index, graph) = settled(build(kind, edges=2)), batch()
        features = edge_features(x, index)
        other = features.clone()
        other[0] += 1
        first, second = model(x, index, graph, features), model(x, index, graph, other)
        assert not torch.allclose(first[0], second[0], atol=1e-6)
        torch.testing.assert_close(first[1:], second[1:])  # the first edge belongs to the first graph

    def test_they_are_neither_forgotten_nor_ignored(self, kind: str) -> None:
        x, index, graph = batch()
        with pytest.raises(InputError, match="are missing"):
            build(kind, edges=2)(x, index, graph)
        with pytest.raises(InputError, match="without edge features"):
            build(kind)(x, index, graph, edge_features(x, index))
        with pytest.raises(ShapeError, match="one row per edge"):
            build(kind, edges=2)(x, index, graph, edge_features(x, index)[1:])


def linear(weight: Tensor, bias: Tensor | None = None) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None).double()
    layer.weight = nn.Parameter(weight.detach().clone())
    if bias is not None:
        layer.bias = nn.Parameter(bias.detach().clone())
    return layer


def given() -> tuple[Tensor, Tensor, Edges]:
    """Node features and edge features of width 8, and edges."""
    x, index, graph = batch()
    wide = torch.randn(len(x), 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    features = torch.randn(index.shape[1], 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return wide, features, Edges(index, graph, torch.float64)


class TestAgainstTorchGeometric:
    def test_gcn(self) -> None:
        (x, _, edges), ours, theirs = given(), GCN(8).double(), GCNConv(8, 8).double()
        ours.linear, ours.bias = linear(theirs.lin.weight), theirs.bias
        torch.testing.assert_close(ours(x, None, edges), theirs(x, edges.index))

    def test_chebnet(self) -> None:
        (x, _, edges), ours, theirs = given(), Chebyshev(8).double(), ChebConv(8, 8, K=3).double()
        biases = (theirs.bias, None, None)
        ours.linears = nn.ModuleList(linear(lin.weight, b) for lin, b in zip(theirs.lins, biases, strict=True))
        torch.testing.assert_close(ours(x, None, edges), theirs(x, edges.index))

    def test_sage(self) -> None:
        (x, _, edges), ours, theirs = given(), SAGE(8).double(), SAGEConv(8, 8).double()
        ours.own, ours.others = linear(theirs.lin_r.weight, theirs.lin_l.bias), linear(theirs.lin_l.weight)
        torch.testing.assert_close(ours(x, None, edges), theirs(x, edges.index))

    def test_gin_with_edge_features(self) -> None:
        x, features, edges = given()
        ours = GIN(8).double().eval()
        theirs = GINEConv(ours.mlp, train_eps=True).double()
        torch.nn.init.constant_(ours.epsilon, 0.3)
        torch.nn.init.constant_(theirs.eps, 0.3)
        torch.testing.assert_close(ours(x, features, edges), theirs(x, edges.index, features))

    def test_pna(self) -> None:
        x, features, edges = given()
        degrees = torch.bincount(edges.degree)
        names = ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"]
        theirs = PNAConv(8, 8, *names, degrees, edge_dim=8).double()
        ours = PNA(8, degrees, edge_features=True).double()
        (before,), (after,) = (part[0] for part in theirs.pre_nns), (part[0] for part in theirs.post_nns)
        own, others, encoded = before.weight.chunk(3, dim=1)
        bias = before.bias + encoded @ theirs.edge_encoder.bias
        ours.own, ours.others = linear(own, bias), linear(others)
        ours.features = linear(encoded @ theirs.edge_encoder.weight)
        ours.mix = linear(theirs.lin.weight @ after.weight, theirs.lin.weight @ after.bias + theirs.lin.bias)
        # Theirs has the mean logarithm in float32.
        torch.testing.assert_close(ours(x, features, edges), theirs(x, edges.index, features), rtol=1e-5, atol=1e-6)

    def test_gps(self) -> None:
        x, features, edges = given()
        ours = GPSLayer(8, GIN(8)).double()
        theirs = GPSConv(8, GINEConv(ours.local.mlp, train_eps=True), heads=4).double()
        theirs.attn, theirs.mlp = ours.attention, ours.mlp
        for mine, other in zip((ours.local_norm, ours.attention_norm, ours.norm), "123", strict=True):
            getattr(theirs, f"norm{other}").module.load_state_dict(settled(mine).state_dict())
        ours.eval(), theirs.eval()
        found, kept = ours(x, features, edges)
        torch.testing.assert_close(found, theirs(x, edges.index, edges.graph, edge_attr=features))
        assert kept is features


def test_a_gated_layer_is_its_formula() -> None:
    x, features, edges = given()
    layer = GatedGCN(8).double()
    assert layer.features is not None
    (u, a), (v, b) = layer.ends.weight.chunk(2), layer.begins.weight.chunk(2)
    (own, shift), total = layer.ends.bias.chunk(2), torch.zeros_like(x)
    weight, states = torch.zeros_like(x), []
    for (j, i), e in zip(edges.index.T.tolist(), features, strict=True):
        states.append(a @ x[i] + b @ x[j] + layer.features.weight @ e + shift)
        total[i] += states[-1].sigmoid() * (v @ x[j])
        weight[i] += states[-1].sigmoid()
    found, state = layer(x, features, edges)
    torch.testing.assert_close(state, torch.stack(states))
    torch.testing.assert_close(found, x @ u.T + own + total / (weight + EPSILON))


def test_gcn_with_edge_features_is_its_formula() -> None:
    x, features, edges = given()
    layer = GCN(8, edge_features=True).double()
    assert layer.loop is not None
    nn.init.normal_(layer.loop)
    h, d = layer.linear(x), (edges.degree + 1).double()
    expected = (h + layer.loop).relu() / d.unsqueeze(1) + layer.bias
    for (j, i), e in zip(edges.index.T.tolist(), features, strict=True):
        term = (h[j] + e).relu() / (d[i] * d[j]).sqrt()
        expected = expected.index_add(0, torch.tensor([i]), term.unsqueeze(0))
    torch.testing.assert_close(layer(x, features, edges), expected)


def test_jumping_knowledge_reads_all_layers() -> None:
    model, inputs = settled(build("gin")), batch()
    assert isinstance(model, GraphBaseline)
    stages = model.encoder.stages(*inputs)
    assert len(stages) == 4
    expected = torch.zeros(4, 2, dtype=torch.float64)
    for place, stage in zip(model.head.linears, stages, strict=True):
        for graph in range(4):
            expected[graph] += place(stage[inputs[2] == graph].sum(0))
    torch.testing.assert_close(model(*inputs), expected)


def test_a_readout_by_the_mean_divides_by_the_nodes() -> None:
    model, inputs = settled(build("gatedgcn")), batch()
    last = model.encoder(*inputs)
    means = torch.stack([last[inputs[2] == graph].mean(0) for graph in range(4)])
    torch.testing.assert_close(model(*inputs), model.head([means]))


def test_encoders_can_be_any_module() -> None:
    model = build("gcn", edges=nn.Embedding(4, 8)).encoder
    model.node_encoder = nn.Embedding(30, 8).double()
    _, index, graph = batch()
    kinds = torch.arange(index.shape[1]) % 4
    assert model(torch.arange(len(graph)), index, graph, kinds).shape == (len(graph), 8)
    with pytest.raises(ShapeError, match="node encoder"):
        model(torch.arange(len(graph) - 1), index, graph, kinds)


def test_normalisation_of_less_than_two_rows_takes_the_running_statistics() -> None:
    norm = BatchNorm(3)
    norm(torch.randn(10, 3, generator=torch.Generator().manual_seed(0)))
    row, before = torch.ones(1, 3), norm.running_mean.clone()
    found = norm(row)
    assert torch.equal(norm.running_mean, before)
    torch.testing.assert_close(found, norm.eval()(row))


def test_bad_choices_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="gatedgcn"):
        GraphBaseline("gnn", 3, classes=2)
    with pytest.raises(UnknownNameError, match="sum, mean"):
        GraphBaseline("gin", 3, classes=2, readout="max")
    with pytest.raises(InputError, match="no place for edge features"):
        GraphBaseline("chebnet", 3, classes=2, edges=2)
    with pytest.raises(InputError, match="degree_histogram"):
        GraphBaseline("pna", 3, classes=2)
    with pytest.raises(InputError, match="multiple of its 4 heads"):
        GraphBaseline("gps", 3, classes=2, width=6)
