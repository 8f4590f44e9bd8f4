"""Models with a temperature: every search with a finite set of candidates, training, records, and what is refused."""

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    CoarseToFine,
    GridSearch,
    Maximizer,
    NegativeEntropy,
    Objective,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    Temperature,
    WithMemory,
    cross_entropy,
    one_vs_rest,
)
from adacanon.core.soft import soft_maximum, soft_weights
from adacanon.errors import InputError
from adacanon.frozen import OverForms
from adacanon.graphs import BandRotations, SpectralMLP, uniform
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.maximizers import CompareStage
from adacanon.points import Rotations
from adacanon.points.rotations import axis_frames
from adacanon.spaces import rotation_group
from cases.coarse_cases import MaxNetwork, large_clouds
from cases.networks import cloud_network, clouds

CUBE = rotation_group("cube")
LABELS = torch.tensor([0, 1, 2])
TAU = 0.7


def model(search: Maximizer | None = None, temperature: Any = TAU, **options: Any) -> Canonicalized:
    network = options.pop("network", None) or cloud_network()
    return Canonicalized(network, Rotations(), search or GridSearch(points=CUBE), temperature=temperature, **options)


def plainly(network: nn.Module, points: Tensor, temperature: Any = TAU) -> Tensor:
    """The soft maximum over points (candidates, batch, 3, 3), one form after the other."""
    scores = torch.stack([network(clouds() @ turn.mT) for turn in points.to(clouds())])
    return soft_maximum(scores, temperature)


def everywhere(points: Tensor) -> Tensor:
    return points.unsqueeze(1).expand(-1, 3, -1, -1)


class TestSearches:
    def test_a_fixed_set(self) -> None:
        expected = plainly(cloud_network(), everywhere(CUBE)).detach()
        torch.testing.assert_close(model().eval()(clouds()).detach(), expected)
        with torch.no_grad():
            torch.testing.assert_close(model().eval()(clouds()), expected)

    def test_anchors_of_the_input(self) -> None:
        expected = plainly(cloud_network(), axis_frames(clouds()).transpose(0, 1)).detach()
        found = model(AnchoredSearch(24)).eval().canonicalize(clouds())
        torch.testing.assert_close(found.logits, expected)
        assert found.evaluations == 24

    def test_a_subset_of_all_is_all(self) -> None:
        expected = model().eval()(clouds())
        torch.testing.assert_close(model(SubsetSearch(GridSearch(points=CUBE), 99)).eval()(clouds()), expected)

    def test_a_remembered_winner_counts_once(self) -> None:
        remembering = model(WithMemory(GridSearch(points=CUBE), 3), training_search=None)
        ids = torch.arange(3)
        first = remembering.train()(clouds(), ids=ids)
        assert bool(remembering.search.memory.known.all())
        torch.testing.assert_close(remembering(clouds(), ids=ids), first)
        torch.testing.assert_close(first, model().eval()(clouds()))

    @pytest.mark.parametrize("stages", [(), (CompareStage(16),)])
    def test_coarse_to_fine_by_its_finalists(self, stages: tuple[CompareStage, ...]) -> None:
        search = CoarseToFine(GridSearch(points=CUBE), 8, keep=2, contenders=2, stages=stages, low_precision=False)
        soft, hard = (model(search, t, network=MaxNetwork()).eval().canonicalize(large_clouds()) for t in (TAU, 0.0))
        assert soft.weights is not None
        finalists = (soft.weights > 0).any(2).sum(0)
        assert bool((finalists >= 1).all())
        assert bool((finalists <= 2 * 2 + 1).all())
        gap = hard.logits - soft.logits
        assert bool((gap >= -1e-9).all())
        assert bool((gap <= TAU * finalists.log().unsqueeze(1) + 1e-9).all())

    def test_a_batch_of_spaces(self) -> None:
        sizes = torch.tensor([[3, 1], [5, 2], [9, 4]])
        g = BandCoefficients(
            torch.randn(3, 2, 2, 4, generator=torch.Generator().manual_seed(0)), sizes, sizes.clamp(max=2)
        )
        network = SpectralMLP(4, 4, classes=3, hidden=8)
        family = BandRotations(uniform(2), rows=2)
        soft = Canonicalized(network, family, RandomSearch(7), temperature=TAU).eval()
        found = soft.canonicalize(g)
        assert found.weights is not None
        assert found.weights.shape == (7, 3, 3)
        with torch.no_grad():
            torch.testing.assert_close(soft(g), found.logits)
        torch.testing.assert_close(soft(g).detach(), found.logits)  # with gradients, by the fused layer

    @pytest.mark.parametrize(
        "search",
        [SampleAndRefine(4), AnchoredSearch(24, 2), Restarts(RandomSearch(4)), CoarseToFine(steps=1)],
        ids=repr,
    )
    def test_what_is_no_finite_set_is_refused(self, search: Maximizer) -> None:
        with pytest.raises(InputError, match="finite set of candidates"):
            model(search).eval()(clouds())


class TestEnds:
    def test_zero_is_the_model_without_a_temperature(self) -> None:
        plain = Canonicalized(cloud_network(), Rotations(), GridSearch(points=CUBE)).eval()
        zero = model(temperature=0.0).eval()
        assert torch.equal(plain(clouds()), zero(clouds()))
        assert set(plain.state_dict()) == set(zero.state_dict())

    def test_infinity_is_the_mean(self) -> None:
        expected = torch.stack([cloud_network()(clouds() @ turn.T) for turn in CUBE.to(clouds())]).mean(0)
        torch.testing.assert_close(model(temperature=math.inf).eval()(clouds()), expected)

    def test_a_tiny_temperature_is_close_to_the_maximum(self) -> None:
        tiny, zero = (model(temperature=t).eval()(clouds()) for t in (1e-4, 0.0))
        torch.testing.assert_close(tiny, zero, atol=1e-3, rtol=0)


class TestRecord:
    def test_weights_and_the_chosen_form(self) -> None:
        found = model().eval().canonicalize(clouds())
        scores = torch.stack([cloud_network()(clouds() @ turn.T) for turn in CUBE.to(clouds())]).detach()
        torch.testing.assert_close(found.weights, soft_weights(scores, TAU))
        best = scores.argmax(0)
        torch.testing.assert_close(found.parameters, CUBE.to(clouds())[best])
        assert found.effective_forms is not None
        assert bool(((found.effective_forms > 1) & (found.effective_forms < len(CUBE))).all())

    def test_without_a_temperature_there_are_none(self) -> None:
        found = model(temperature=0.0).eval().canonicalize(clouds())
        assert found.weights is None
        assert found.effective_forms is None


class TestTraining:
    def test_gradients_are_those_of_the_formula(self) -> None:
        soft, network = model().train(), cloud_network()
        Objective(soft)(clouds(), LABELS).loss.backward()
        cross_entropy(plainly(network, everywhere(CUBE)), LABELS).backward()
        for ours, theirs in zip(soft.network.parameters(), network.parameters(), strict=True):
            torch.testing.assert_close(ours.grad, theirs.grad)

    @pytest.mark.parametrize("loss", [None, one_vs_rest])
    def test_all_forms_are_exact_and_few_are_close(self, loss: Any) -> None:
        options = {} if loss is None else {"loss": loss}
        gradients, losses = {}, {}
        for forms in (None, float(len(CUBE)), 6.0, 2.0):
            soft = model().train()
            losses[forms] = Objective(soft, forms=forms, **options)(clouds(), LABELS).loss
            losses[forms].backward()
            gradients[forms] = torch.cat([p.grad.flatten() for p in soft.network.parameters()])
        torch.testing.assert_close(gradients[float(len(CUBE))], gradients[None])
        for forms in (6.0, 2.0):
            torch.testing.assert_close(losses[forms], losses[None])
        similar = [float(functional.cosine_similarity(gradients[f], gradients[None], dim=0)) for f in (2.0, 6.0)]
        assert 0.3 < similar[0] < similar[1] <= 1

    def test_a_learned_temperature_gets_a_gradient(self) -> None:
        soft = model(temperature=Temperature(1.0, learned=True)).train()
        Objective(soft)(clouds(), LABELS).loss.backward()
        assert soft.temperature is not None
        (parameter,) = soft.temperature.parameters()
        assert parameter.grad is not None
        assert float(parameter.grad) != 0

    def test_a_state_dict_takes_the_temperature_along(self) -> None:
        other = model(temperature=3.0).eval()
        other.load_state_dict(model(temperature=TAU).state_dict())
        torch.testing.assert_close(other(clouds()), model().eval()(clouds()))
        torch.testing.assert_close(copy.deepcopy(other)(clouds()), other(clouds()))

    def test_batch_statistics_and_flags_are_left_alone_in_evaluation(self) -> None:
        network = nn.Sequential(nn.Flatten(), nn.Linear(12, 5), nn.BatchNorm1d(5)).double()
        soft = model(network=network).train()
        before = copy.deepcopy(network.state_dict())
        soft.canonicalize(clouds())
        assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


class TestShared:
    def test_answers_are_blended_by_their_confidence(self) -> None:
        network = cloud_network()
        soft = model(prior=NegativeEntropy(), temperature=0.3).eval()
        outputs = torch.stack([network(clouds() @ turn.T) for turn in CUBE.to(clouds())]).detach()
        confidence = torch.stack([NegativeEntropy().rank(rows) for rows in outputs])
        expected = (soft_weights(confidence, 0.3) * outputs).sum(0)
        torch.testing.assert_close(soft(clouds()).detach(), expected)
        with torch.no_grad():
            torch.testing.assert_close(soft(clouds()), expected)
        torch.testing.assert_close(soft.canonicalize(clouds()).logits, expected)

    def test_one_form_has_one_temperature(self) -> None:
        with pytest.raises(InputError, match="One shared form has one temperature"):
            model(prior=NegativeEntropy(), temperature=[1.0, 2.0, 3.0]).eval()(clouds())


def test_frozen_features_have_the_same_soft_maximum() -> None:
    features = torch.randn(5, 7, 8, generator=torch.Generator().manual_seed(0))
    head = nn.Linear(8, 3)
    expected = soft_maximum(head(features).transpose(0, 1), TAU)
    torch.testing.assert_close(OverForms(head, temperature=TAU)(features), expected)
    assert torch.equal(OverForms(head)(features), head(features).amax(1))
