"""A-NLSF with a temperature, against a loop over all candidates: fused layers, padded spaces, masks, gradients."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from adacanon import Canonicalized, Objective, RandomSearch, SampleAndRefine, one_vs_rest
from adacanon.errors import InputError
from adacanon.graphs import BandRotations, EncodedANLSF, anlsf, uniform
from oracles.canonicalization import soft_logits

FAMILY = BandRotations(uniform(4), rows=2)
CLASSES, DRAWS = 3, 9
NETWORKS = (
    nx.cycle_graph(7),
    nx.gnp_random_graph(12, 0.3, seed=1),
    nx.empty_graph(2),  # all but one of its bands are empty
    nx.complete_graph(4),  # a band smaller than the frame is wide
    nx.gnp_random_graph(25, 0.2, seed=2),
)
TARGETS = torch.tensor([0, 1, 2, 0, 1])
TEMPERATURES: list[Any] = [0.0, 0.02, 0.7, 30.0, math.inf, [0.0, 0.7, math.inf]]


def graphs() -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    found = []
    for network in NETWORKS:
        nodes = network.number_of_nodes()
        x = functional.one_hot(torch.randint(2, (nodes,), generator=generator), 2).double()
        edge_index = from_networkx(network).edge_index.reshape(2, -1).long()
        found.append(Data(x=x, edge_index=edge_index, num_nodes=nodes))
    return found


def encoded(temperature: Any) -> EncodedANLSF:
    """With batch statistics that say something, and scores far enough apart that the temperature matters."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        sizes = {"features": 4, "width": 8, "hidden": 16, "frame_width": 3, "walk_steps": 2, "dropout": 0.0}
        search = RandomSearch(DRAWS)
        built = EncodedANLSF(2, classes=CLASSES, family=FAMILY, search=search, temperature=temperature, **sizes)
        spread(built.canonicalized.network)
        built.double().train().prepare(graphs())
    return built.eval()


def plain(temperature: Any) -> Canonicalized:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        search = RandomSearch(DRAWS)
        built = anlsf(FAMILY, 2, classes=CLASSES, hidden=16, search=search, temperature=temperature).double()
        spread(built.network)
    return built.eval()


def spread(network: Any) -> None:
    with torch.no_grad():
        network.rest[-1].weight.mul_(20)


def by_the_loop(built: Any, some: list[Data], temperature: Any) -> Tensor:
    """All candidates of the next call, plainly: no fused layer, no blocks."""
    canonicalized = built.canonicalized if isinstance(built, EncodedANLSF) else built
    draws = canonicalized.draws.clone()
    generator = canonicalized.next_generator()
    canonicalized.draws.copy_(draws)
    g = built.prepare(some)
    points = FAMILY.space(g).sample(DRAWS, generator=generator)
    each = [temperature] * CLASSES if isinstance(temperature, float) else temperature
    return soft_logits(canonicalized.network, FAMILY, g, points, each)


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """The preparation of raw graphs follows the default precision."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.mark.parametrize("temperature", TEMPERATURES, ids=str)
@pytest.mark.parametrize("model", [encoded, plain], ids=lambda model: model.__name__)
class TestAgainstALoop:
    def test_scores_in_every_way_to_ask_for_them(self, model: Any, temperature: Any) -> None:
        built, some = model(temperature), graphs()
        expected = by_the_loop(built, some, temperature).detach()
        torch.testing.assert_close(built(some).detach(), expected)  # the fused layer with gradients
        with torch.no_grad():
            torch.testing.assert_close(built(some), expected)  # in blocks, by the fused layer without
        torch.testing.assert_close(built.canonicalize(some).logits, expected)  # without the fused layer

    def test_a_graph_alone_has_the_candidates_and_scores_that_it_has_in_a_batch(
        self, model: Any, temperature: Any
    ) -> None:
        built, some = model(temperature), graphs()
        together = built(some)
        for i, graph in enumerate(some):
            torch.testing.assert_close(built([graph])[0], together[i])
            torch.testing.assert_close(by_the_loop(built, [graph], temperature)[0], together[i])

    @pytest.mark.parametrize("loss", [one_vs_rest, functional.cross_entropy], ids=lambda loss: loss.__name__)
    def test_gradients_of_a_training_step(self, model: Any, temperature: Any, loss: Any) -> None:
        fast, slow = model(temperature).train(), model(temperature).train()
        Objective(fast, loss=loss)(graphs(), TARGETS).loss.backward()
        loss(by_the_loop(slow, graphs(), temperature), TARGETS).backward()
        compared = 0
        for (name, p), q in zip(fast.named_parameters(), slow.parameters(), strict=True):
            torch.testing.assert_close(p.grad, q.grad, msg=lambda text, name=name: f"{name}: {text}")
            compared += int(bool((p.grad != 0).any()))
        assert compared >= 6


@pytest.mark.parametrize("temperature", TEMPERATURES[1:], ids=str)
@pytest.mark.parametrize("model", [encoded, plain], ids=lambda model: model.__name__)
def test_an_objective_over_as_many_forms_as_draws_is_exact(model: Any, temperature: Any) -> None:
    """There is no dropout here: the network is the same in the search and in the pass with gradients."""
    exact, some = model(temperature).train(), model(temperature).train()
    Objective(exact)(graphs(), TARGETS).loss.backward()
    Objective(some, forms=DRAWS)(graphs(), TARGETS).loss.backward()
    for p, q in zip(exact.parameters(), some.parameters(), strict=True):
        torch.testing.assert_close(p.grad, q.grad)


def test_the_temperatures_differ_on_these_graphs() -> None:
    """Otherwise the comparisons above would show nothing."""
    scores = [encoded(temperature)(graphs()).detach() for temperature in (0.0, 0.7, math.inf)]
    assert min(float((a - b).abs().amax(0).min()) for a, b in pairwise(scores)) > 0.05


def test_weights_are_over_the_draws_and_a_graph_with_one_form_has_equal_ones() -> None:
    found = encoded(0.7).canonicalize(graphs())
    assert found.weights is not None
    assert found.weights.shape == (DRAWS, len(NETWORKS), CLASSES)
    torch.testing.assert_close(found.weights.sum(0), torch.ones(len(NETWORKS), CLASSES))
    assert found.effective_forms is not None
    assert bool(((found.effective_forms >= 1) & (found.effective_forms <= DRAWS + 1e-9)).all())


@pytest.mark.parametrize("build", [EncodedANLSF, lambda *a, **k: anlsf(FAMILY, *a, **k)], ids=["encoded", "plain"])
def test_without_a_search_the_draws_are_kept_and_the_refinement_left_out(build: Any) -> None:
    soft, hard = build(2, classes=2, temperature=1.0), build(2, classes=2)
    soft, hard = (getattr(model, "canonicalized", model) for model in (soft, hard))
    assert soft.search == RandomSearch(hard.search.candidates)
    assert soft.training_search is None
    assert isinstance(hard.search, SampleAndRefine)
    assert hard.temperature is None


def test_a_search_with_refinement_is_refused() -> None:
    soft = EncodedANLSF(2, classes=2, temperature=1.0, search=SampleAndRefine(4, steps=1)).double().eval()
    with pytest.raises(InputError, match="finite set of candidates"):
        soft(graphs())
