"""A-NLSF behind a learned node encoder: its coefficients, its symmetry and its gradients."""

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from adacanon import RandomSearch
from adacanon.core.loss import one_vs_rest
from adacanon.data.graph_batches import GraphBatches
from adacanon.graphs import BandRotations, Spectrum, uniform
from adacanon.graphs.band_frames import band_frames_of, structural_signals
from adacanon.graphs.coefficients import spectra_and_signals
from adacanon.graphs.eigenbases import redrawn_in_bands, redrawn_in_eigenspaces
from adacanon.graphs.encoded_anlsf import EncodedANLSF, Hop, NodeEncoder, coefficients_in_frames, invariants
from cases.permuted_graphs import permuted

FAMILY = BandRotations(uniform(4), rows=2)
WIDTH, CLASSES = 3, 3
NETWORKS = (
    nx.cycle_graph(7),
    nx.path_graph(5),
    nx.gnp_random_graph(12, 0.3, seed=1),
    nx.star_graph(4),
    nx.complete_graph(4),
    nx.empty_graph(2),
)


def graphs() -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    found = []
    for network in NETWORKS:
        nodes = network.number_of_nodes()
        x = torch.nn.functional.one_hot(torch.randint(2, (nodes,), generator=generator), 2).float()
        edge_index = from_networkx(network).edge_index.reshape(2, -1).long()
        found.append(Data(x=x, edge_index=edge_index, num_nodes=nodes))
    return found


def spectra_of(some: list[Data]) -> list[Spectrum]:
    return [spectrum for spectrum, _ in spectra_and_signals(some, cache=False)]


def inputs(some: list[Data], spectra: list[Spectrum]) -> tuple[Tensor, ...]:
    """What the model reads, in float64: the preparation itself rounds to float32."""
    x, edge_index, graph = GraphBatches.of(some).batch(torch.arange(len(some)))
    pairs = [(spectrum, one.x.double()) for spectrum, one in zip(spectra, some, strict=True)]
    frames = band_frames_of(pairs, [one.edge_index for one in some], FAMILY.partition, width=WIDTH)
    signals = structural_signals(x, edge_index).double()
    return signals, edge_index, graph, frames.basis.double(), frames.sizes, frames.ranks


def model(**options: int | float) -> EncodedANLSF:
    """In evaluation mode, with batch statistics that say something."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        channels = structural_signals(torch.ones(1, 2), torch.zeros(2, 0, dtype=torch.int64)).shape[1]
        built = EncodedANLSF(FAMILY, channels, classes=CLASSES, features=4, width=8, hidden=16, **options).double()  # type: ignore[arg-type]
        some = graphs()
        built.train()(*inputs(some, spectra_of(some)))
    return built.eval()


class TestCoefficientsInFrames:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_against_a_loop_over_graphs_and_bands(self, dtype: torch.dtype, generator: torch.Generator) -> None:
        nodes = [5, 1, 9, 3]
        graph = torch.repeat_interleave(torch.tensor(nodes))
        h = torch.randn(sum(nodes), 4, generator=generator, dtype=torch.float64).to(dtype)
        basis = torch.randn(sum(nodes), 2, 3, generator=generator)
        found = coefficients_in_frames(h, graph, basis)
        assert found.dtype == dtype
        assert found.shape == (4, 2, 3, 4)
        for number, count in enumerate(nodes):
            mine = graph == number
            for band in range(2):
                expected = 2 * count**-0.5 * basis[mine, band].to(dtype).T @ h[mine]
                torch.testing.assert_close(found[number, band], expected)

    def test_gradients_reach_the_features(self, generator: torch.Generator) -> None:
        graph = torch.tensor([0, 0, 1, 1, 1])
        h = torch.randn(5, 2, generator=generator, dtype=torch.float64, requires_grad=True)
        basis = torch.randn(5, 2, 3, generator=generator, dtype=torch.float64)
        assert torch.autograd.gradcheck(lambda h: coefficients_in_frames(h, graph, basis), h)


class TestInvariants:
    def test_no_rotation_of_the_rows_changes_them(self, generator: torch.Generator) -> None:
        factors = torch.randn(3, 2, 4, 5, generator=generator, dtype=torch.float64)
        turn = torch.linalg.qr(torch.randn(3, 2, 4, 4, generator=generator, dtype=torch.float64))[0]
        sizes = torch.tensor([[4, 9], [0, 1], [2, 2]])
        found = invariants(factors, sizes)
        assert found.shape == (3, 2 * 5 + 2)
        torch.testing.assert_close(invariants(turn @ factors, sizes), found)

    def test_empty_bands_have_finite_gradients(self) -> None:
        factors = torch.zeros(1, 2, 3, 4, requires_grad=True)
        invariants(factors, torch.zeros(1, 2, dtype=torch.int64)).sum().backward()
        assert factors.grad is not None
        assert bool((factors.grad == 0).all())


class TestEncoder:
    def test_a_hop_adds_the_messages_of_the_neighbours(self) -> None:
        hop, x = Hop(3, 3).eval(), torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
        edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        with torch.no_grad():
            hop.epsilon.fill_(0.5)
            neighbours = torch.stack([x[1], x[0] + x[2], x[1], torch.zeros(3)])
            torch.testing.assert_close(hop(x, edge_index), x + hop.mlp(1.5 * x + neighbours))

    @pytest.mark.parametrize("hops", [0, 1, 3])
    def test_it_is_equivariant(self, hops: int, generator: torch.Generator) -> None:
        graph, encoder = graphs()[2], NodeEncoder(2, 5, hops=hops, width=8).eval()
        order = torch.randperm(graph.num_nodes, generator=generator)
        moved = permuted(graph, order)
        found = encoder(moved.x, moved.edge_index)
        assert found.shape == (graph.num_nodes, 5)
        torch.testing.assert_close(found, encoder(graph.x, graph.edge_index)[order], atol=1e-5, rtol=1e-5)


class TestSymmetry:
    def test_nodes_in_another_order(self, generator: torch.Generator) -> None:
        some, adaptive = graphs(), model()
        moved = [permuted(graph, torch.randperm(graph.num_nodes, generator=generator)) for graph in some]
        found = adaptive(*inputs(moved, spectra_of(moved)))
        torch.testing.assert_close(found, adaptive(*inputs(some, spectra_of(some))), atol=1e-5, rtol=1e-5)

    @pytest.mark.parametrize("group", ["bands", "eigenspaces"])
    def test_another_eigenbasis(self, group: str, generator: torch.Generator) -> None:
        some, adaptive = graphs(), model()
        spectra = spectra_of(some)
        expected = adaptive(*inputs(some, spectra))
        for _ in range(3):
            others = [
                redrawn_in_bands(spectrum, FAMILY.partition, generator=generator)
                if group == "bands"
                else redrawn_in_eigenspaces(spectrum, generator=generator)
                for spectrum in spectra
            ]
            torch.testing.assert_close(adaptive(*inputs(some, others)), expected, atol=1e-5, rtol=1e-5)

    def test_a_graph_alone_or_in_a_batch(self) -> None:
        some, adaptive = graphs(), model()
        together = adaptive(*inputs(some, spectra_of(some)))
        alone = torch.cat([adaptive(*inputs([graph], spectra_of([graph]))) for graph in some])
        torch.testing.assert_close(alone, together, atol=1e-9, rtol=1e-9)

    def test_classes_are_told_apart_at_all(self) -> None:
        some = graphs()
        logits = model()(*inputs(some, spectra_of(some))).detach()
        assert logits.shape == (len(some), CLASSES)
        assert float(logits.std(0).min()) > 1e-3


class TestTraining:
    def test_gradients_reach_all_parameters(self) -> None:
        some, adaptive = graphs(), model().train()
        logits = adaptive(*inputs(some, spectra_of(some)))
        one_vs_rest(logits, torch.tensor([0, 1, 2, 0, 1, 2])).backward()
        silent = [name for name, p in adaptive.named_parameters() if p.grad is None or not bool((p.grad != 0).any())]
        assert silent == []

    def test_the_search_does_not_touch_the_statistics_of_the_encoder(self) -> None:
        some, adaptive = graphs(), model().train()
        adaptive(*inputs(some, spectra_of(some)))
        counts = {int(module.num_batches_tracked) for module in adaptive.modules() if hasattr(module, "running_mean")}
        assert counts == {2}  # this pass and the one of ``model``

    def test_a_few_steps_lower_the_loss(self) -> None:
        some, adaptive, targets = graphs(), model().train(), torch.tensor([0, 1, 2, 0, 1, 2])
        batch = inputs(some, spectra_of(some))
        optimizer = torch.optim.Adam(adaptive.parameters(), lr=1e-2)
        losses = []
        for _ in range(30):
            optimizer.zero_grad()
            loss = one_vs_rest(adaptive(*batch), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]

    def test_other_searches_and_sizes(self) -> None:
        some = graphs()
        built = EncodedANLSF(FAMILY, 13, classes=2, features=3, hops=1, layers=2, maximizer=RandomSearch(4)).eval()
        signals, *rest = (t.float() if t.is_floating_point() else t for t in inputs(some, spectra_of(some)))
        assert built(signals, *rest).shape == (len(some), 2)


@pytest.mark.data
@pytest.mark.parametrize("row", ["A-NLSF", "A-NLSF (paper)"])
def test_a_model_trained_on_molecules_answers_the_same_in_every_eigenbasis(row: str) -> None:
    from benchmarks.graphs.basis_invariance import measured

    bands, eigenspaces, control = measured(row, "MUTAG", epochs=2, times=1, seed=0)
    for rows in (bands, eigenspaces):
        assert rows["answers"] == 19
        assert rows["changed, %"] == 0
        assert rows["largest change of a logit"] < 1e-4 * rows["spread of the logits"]
    assert control["largest change of a logit"] > 0.01 * control["spread of the logits"]


@pytest.mark.data
def test_one_long_step_finds_more_than_five_short_ones() -> None:
    from benchmarks.graphs.step_length import parser, rows_of

    rows = rows_of("MUTAG", parser().parse_args(["--epochs", "3"]))
    gain = {row["search"]: row["gain"] for row in rows}
    assert gain["32 draws, 1 step of 1.0"] > gain["32 draws, 5 steps of 0.1"] == 1 > gain["32 draws, 1 step of 0.1"] > 0
