"""A-NLSF behind a learned node encoder: its coefficients, its symmetry and its gradients."""

import importlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import from_networkx

from adacanon import Objective, RandomSearch, SampleAndRefine
from adacanon.core.loss import one_vs_rest
from adacanon.data.graph_batches import GraphBatches
from adacanon.data.tu import load_tu
from adacanon.errors import ShapeError
from adacanon.graphs import (
    BandRotations,
    EncodedANLSF,
    FramedGraphs,
    NodeRotations,
    Spectrum,
    anlsf,
    dyadic,
    framed_graphs,
    node_anlsf,
    uniform,
)
from adacanon.graphs.band_frames import band_frames_of, structural_signals
from adacanon.graphs.coefficients import spectra_and_signals
from adacanon.graphs.eigenbases import permuted, redrawn_in_bands, redrawn_in_eigenspaces
from adacanon.graphs.encoded_anlsf import Hop, NodeEncoder, coefficients_in_frames, invariants

spectra_module = importlib.import_module("adacanon.graphs.spectra")  # the package has a function of this name
FAMILY = BandRotations(uniform(4), rows=2)
WIDTH, CLASSES = 3, 3
TARGETS = torch.tensor([0, 1, 2, 0, 1, 2])
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


def inputs(some: list[Data], spectra: list[Spectrum]) -> FramedGraphs:
    """What the model reads, in float64: the preparation itself rounds to float32."""
    x, edge_index, graph = GraphBatches.of(some).batch(torch.arange(len(some)))
    pairs = [(spectrum, one.x.double()) for spectrum, one in zip(spectra, some, strict=True)]
    frames = band_frames_of(pairs, [one.edge_index for one in some], FAMILY.partition, width=WIDTH)
    signals = structural_signals(x, edge_index).double()
    return FramedGraphs(signals, edge_index, graph, frames.basis.double(), frames.sizes, frames.ranks)


def model() -> EncodedANLSF:
    """In evaluation mode, with batch statistics that say something."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = {"features": 4, "width": 8, "hidden": 16, "frame_width": WIDTH, "walk_steps": 0}
        built = EncodedANLSF(2, classes=CLASSES, family=FAMILY, dropout=0.0, **sizes).double()
        some = graphs()
        built.train()(inputs(some, spectra_of(some)))
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
        found = adaptive(inputs(moved, spectra_of(moved)))
        torch.testing.assert_close(found, adaptive(inputs(some, spectra_of(some))), atol=1e-5, rtol=1e-5)

    @pytest.mark.parametrize("group", ["bands", "eigenspaces"])
    def test_another_eigenbasis(self, group: str, generator: torch.Generator) -> None:
        some, adaptive = graphs(), model()
        spectra = spectra_of(some)
        expected = adaptive(inputs(some, spectra))
        for _ in range(3):
            others = [
                redrawn_in_bands(spectrum, FAMILY.partition, generator=generator)
                if group == "bands"
                else redrawn_in_eigenspaces(spectrum, generator=generator)
                for spectrum in spectra
            ]
            torch.testing.assert_close(adaptive(inputs(some, others)), expected, atol=1e-5, rtol=1e-5)

    def test_a_graph_alone_or_in_a_batch(self) -> None:
        some, adaptive = graphs(), model()
        together = adaptive(inputs(some, spectra_of(some)))
        alone = torch.cat([adaptive(inputs([graph], spectra_of([graph]))) for graph in some])
        torch.testing.assert_close(alone, together, atol=1e-9, rtol=1e-9)

    def test_classes_are_told_apart_at_all(self) -> None:
        some = graphs()
        logits = model()(inputs(some, spectra_of(some))).detach()
        assert logits.shape == (len(some), CLASSES)
        assert float(logits.std(0).min()) > 1e-3


class TestTraining:
    def test_gradients_reach_all_parameters(self) -> None:
        some, adaptive = graphs(), model().train()
        logits = adaptive(inputs(some, spectra_of(some)))
        one_vs_rest(logits, TARGETS).backward()
        silent = [name for name, p in adaptive.named_parameters() if p.grad is None or not bool((p.grad != 0).any())]
        assert silent == []

    def test_the_search_does_not_touch_the_statistics_of_the_encoder(self) -> None:
        some, adaptive = graphs(), model().train()
        adaptive(inputs(some, spectra_of(some)))
        counts = {int(module.num_batches_tracked) for module in adaptive.modules() if hasattr(module, "running_mean")}
        assert counts == {2}  # this pass and the one of ``model``

    def test_a_few_steps_lower_the_loss(self) -> None:
        some, adaptive, targets = graphs(), model().train(), TARGETS
        batch = inputs(some, spectra_of(some))
        optimizer = torch.optim.Adam(adaptive.parameters(), lr=1e-2)
        losses = []
        for _ in range(30):
            optimizer.zero_grad()
            loss = one_vs_rest(adaptive(batch), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.5 * losses[0]

    def test_other_searches_and_sizes(self) -> None:
        built = EncodedANLSF(2, classes=2, family=FAMILY, features=3, hops=0, layers=2, search=RandomSearch(4))
        assert built.eval()(graphs()).shape == (len(NETWORKS), 2)


def small(**options: Any) -> EncodedANLSF:
    """A model with the defaults of the library but for its width, in float64."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        built = EncodedANLSF(channels=2, classes=CLASSES, width=8, hidden=16, **options).double()
        built.standardise(graphs()).train()(graphs())
    return built.eval()


class TestGraphsOfTorchGeometric:
    def test_a_batch_a_list_and_what_was_prepared_beforehand_agree(self) -> None:
        some, built = graphs(), small()
        expected = built(Batch.from_data_list(some))
        assert expected.shape == (len(some), CLASSES)
        assert torch.equal(built(some), expected)
        prepared = framed_graphs(some, dyadic(6))
        assert torch.equal(built(prepared), expected)
        torch.testing.assert_close(built(some[2]), expected[2:3], atol=1e-9, rtol=1e-9)

    def test_nodes_in_another_order(self, generator: torch.Generator) -> None:
        some, built = graphs(), small()
        moved = [permuted(graph, torch.randperm(graph.num_nodes, generator=generator)) for graph in some]
        torch.testing.assert_close(built(moved), built(some), atol=1e-5, rtol=1e-5)

    @pytest.mark.parametrize("group", ["bands", "eigenspaces"])
    def test_another_eigenbasis(self, group: str, generator: torch.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
        """The eigensolver itself answers with another basis of the same graphs."""
        some, built = graphs(), small()
        expected = built(framed_graphs(some, dyadic(6), cache=False))
        solved, redrawn = spectra_module.decompose, []

        def another(matrix: Tensor) -> Spectrum:
            redrawn.append(matrix)
            if group == "bands":
                return redrawn_in_bands(solved(matrix), dyadic(6), generator=generator)
            return redrawn_in_eigenspaces(solved(matrix), generator=generator)

        monkeypatch.setattr(spectra_module, "decompose", another)
        torch.testing.assert_close(built(framed_graphs(some, dyadic(6), cache=False)), expected, atol=1e-5, rtol=1e-5)
        assert len(redrawn) == len(some)

    def test_gradients_reach_all_parameters(self) -> None:
        built = small().train()
        Objective(built)(Batch.from_data_list(graphs()), TARGETS).loss.backward()
        silent = [name for name, p in built.named_parameters() if p.grad is None or not bool((p.grad != 0).any())]
        assert silent == []

    def test_an_objective_over_some_forms_trains_encoder_and_network(self) -> None:
        built = small(dropout=0.0).train()
        objective = Objective(built, forms=2)
        whole, some = objective.eval()(graphs(), TARGETS).loss, objective.train()(graphs(), TARGETS).loss
        assert some.isfinite()
        assert whole.isfinite()
        some.backward()
        assert all(p.grad is not None for p in built.parameters())

    def test_what_was_found_belongs_to_evaluation_mode(self) -> None:
        built = small()
        expected = built(graphs())
        before = {name: value.clone() for name, value in built.state_dict().items()}
        found = built.train().canonicalize(graphs())
        after = built.state_dict()
        changed = [name for name in before if not torch.equal(before[name], after[name])]
        assert changed == ["canonicalized.draws"]
        assert found.scores.shape == (len(NETWORKS), CLASSES)
        torch.testing.assert_close(built.eval().canonicalize(graphs()).logits, expected)

    def test_the_scale_is_that_of_the_training_graphs_and_saved_with_the_model(self) -> None:
        built = EncodedANLSF(channels=2, classes=2, width=8, hidden=8)
        assert bool((built.scale == 1).all())
        signals = framed_graphs(graphs(), dyadic(6)).signals
        deviation = signals.std(0)
        assert built.standardise(graphs()) is built
        assert torch.equal(built.scale, torch.where(deviation > 1e-5, deviation, 1.0))
        assert float(built.scale[0]) == 1  # the constant signal
        other = EncodedANLSF(channels=2, classes=2, width=8, hidden=8)
        other.load_state_dict(built.state_dict())
        assert torch.equal(other.eval()(graphs()), built.eval()(graphs()))

    def test_standardised_signals_are_read_as_if_they_had_been_divided_before(self) -> None:
        built, prepared = small(), framed_graphs(graphs(), dyadic(6))
        expected = built(prepared)
        divided = replace(prepared, signals=prepared.signals.double() / built.scale)
        built.scale.fill_(1)
        assert torch.equal(built(divided), expected)
        assert not torch.equal(built(prepared), expected)

    def test_the_wrong_number_of_node_features_is_named(self) -> None:
        with pytest.raises(ShapeError, match=r"channels=3 and walk_steps=16 reads 34 signals of every node, got 29"):
            EncodedANLSF(channels=3, classes=2)(graphs())


class TestFramedGraphs:
    def test_a_choice_of_graphs_is_what_they_give_alone(self) -> None:
        some = graphs()
        chosen = framed_graphs(some, dyadic(6))[torch.tensor([4, 5, 0, 4])]
        expected = framed_graphs([some[4], some[5], some[0], some[4]], dyadic(6))
        for name in ("signals", "edge_index", "graph", "basis", "sizes", "ranks"):
            assert torch.equal(getattr(chosen, name), getattr(expected, name)), name

    def test_slices_and_masks_choose_as_in_a_tensor(self) -> None:
        prepared = framed_graphs(graphs(), dyadic(6))
        assert len(prepared) == len(NETWORKS)
        assert torch.equal(prepared[1:3].sizes, prepared.sizes[1:3])
        mask = torch.arange(len(NETWORKS)) % 2 == 0
        assert torch.equal(prepared[mask].graph, torch.repeat_interleave(torch.tensor([7, 12, 4])))


def test_all_a_nlsf_share_one_search() -> None:
    search, training_search = BandRotations(dyadic(3)).searches()
    assert search == SampleAndRefine(32, steps=1, step_size=10.0)
    models = (
        anlsf(BandRotations(dyadic(3)), 2, classes=2),
        node_anlsf(NodeRotations(dyadic(3)), 2, classes=2),
        EncodedANLSF(channels=2, classes=2).canonicalized,
    )
    assert [(model.search, model.resample_every) for model in models] == [(search, 32)] * 3
    assert [model.training_search for model in models] == [training_search, None, training_search]


def test_the_defaults_are_those_of_the_table() -> None:
    from adacanon.experiments.graphs.spectral_methods import search_of
    from adacanon.experiments.graphs.tu import TU

    options = TU.settings_of("A-NLSF", "MUTAG")
    built = EncodedANLSF(channels=7, classes=2)
    family = BandRotations(dyadic(options["bands"], decay=options["decay"]), rows=options["rows"])
    assert (built.family, options["partition"], options["operator"]) == (family, "dyadic", "normalized")
    other = EncodedANLSF(
        7,
        classes=2,
        features=options["embedding"],
        hops=options["hops"],
        width=options["width"],
        hidden=options["hidden"],
        layers=options["layers"],
        dropout=options["dropout"],
        frame_width=options["frame"],
        walk_steps=options["returns"],
        search=search_of(options),
        training_search=search_of(options, low_precision=options["low_precision"]),
        resample_every=options["resample_every"],
    )
    assert repr(other) == repr(built)
    assert (other.frame_width, other.canonicalized.resample_every) == (
        built.frame_width,
        built.canonicalized.resample_every,
    )


def test_the_code_of_the_document_runs(capsys: pytest.CaptureFixture[str]) -> None:
    document = Path(__file__).parents[2] / "docs" / "graphs.md"
    (block,) = re.findall(r"```python\n((?:(?!```).)*EncodedANLSF.*?)```", document.read_text(), flags=re.S)
    content: dict[str, Any] = {}
    exec(compile(block, "graphs.md", "exec"), content)
    assert capsys.readouterr().out == "torch.Size([8, 2])\n"
    torch.testing.assert_close(content["scores"], content["model"](content["graphs"])[[0, 3]])


@pytest.mark.data
def test_a_short_training_on_molecules_is_well_above_chance() -> None:
    """Two thirds of the molecules of MUTAG are of one class."""
    dataset = load_tu("MUTAG")
    order = torch.randperm(len(dataset.graphs), generator=torch.Generator().manual_seed(0))
    train, test = order[:150], order[150:]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        built = EncodedANLSF(dataset.channels, classes=dataset.classes)
        built.standardise([dataset.graphs[i] for i in train.tolist()])
        optimizer, objective = torch.optim.Adam(built.parameters(), lr=1e-3), Objective(built)
        for _ in range(10):
            for part in train.split(32):
                batch = Batch.from_data_list([dataset.graphs[i] for i in part.tolist()])
                optimizer.zero_grad()
                objective(batch, batch.y).loss.backward()
                optimizer.step()
    with torch.no_grad():
        answers = built.eval()([dataset.graphs[i] for i in test.tolist()]).argmax(1)
    assert float((answers == dataset.labels[test]).double().mean()) > 0.8


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
