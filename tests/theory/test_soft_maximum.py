"""Soft prior maximization: the laws of the paper's maximum hold for every temperature, up to the mean."""

import math

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, GridSearch, Monotone, RandomSearch, Temperature
from adacanon.core.soft import RunningSoftMaximum, effective_number, soft_maximum, soft_weights
from adacanon.points import Rotations
from adacanon.spaces import SO3, rotation_group
from cases.theory_cases import CloudNetwork, random_clouds

TEMPERATURES = [0.0, 1e-3, 0.1, 1.0, 30.0, 1e6, math.inf]
CUBE = rotation_group("cube")


def values(seed: int = 0, *, candidates: int = 9) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(candidates, 5, 4, generator=generator, dtype=torch.float64)


def soft(network: nn.Module, temperature: float, *, points: Tensor = CUBE) -> Canonicalized:
    return Canonicalized(network, Rotations(), GridSearch(points=points), temperature=temperature).eval()


def answers(model: Canonicalized, clouds: Tensor) -> Tensor:
    with torch.no_grad():
        return model(clouds)


class TestFormula:
    @pytest.mark.parametrize("temperature", [0.05, 1.0, 20.0])
    def test_it_is_what_is_written_down(self, temperature: float) -> None:
        v = values()
        expected = temperature * (v / temperature).exp().mean(0).log()
        torch.testing.assert_close(soft_maximum(v, temperature), expected)

    def test_its_ends_are_the_maximum_and_the_mean(self) -> None:
        v = values()
        assert torch.equal(soft_maximum(v, 0.0), v.amax(0))
        torch.testing.assert_close(soft_maximum(v, math.inf), v.mean(0))

    def test_it_converges_to_both(self) -> None:
        v = values()
        to_maximum = [float((soft_maximum(v, t) - v.amax(0)).abs().max()) for t in (1.0, 0.1, 0.01)]
        to_mean = [float((soft_maximum(v, t) - v.mean(0)).abs().max()) for t in (1e1, 1e3, 1e5)]
        for errors in (to_maximum, to_mean):
            assert errors[0] > 5 * errors[1] > 25 * errors[2] > 0

    @pytest.mark.parametrize("temperature", TEMPERATURES)
    def test_it_lies_between_maximum_minus_log_and_maximum(self, temperature: float) -> None:
        v = values()
        gap = v.amax(0) - soft_maximum(v, temperature)
        assert bool((gap >= -1e-12).all())
        assert bool((gap <= temperature * math.log(len(v)) + 1e-9).all())

    @pytest.mark.parametrize("temperature", TEMPERATURES)
    def test_single_precision_loses_few_digits(self, temperature: float) -> None:
        v = values()
        torch.testing.assert_close(
            soft_maximum(v.float(), temperature).double(), soft_maximum(v, temperature), atol=2e-6, rtol=2e-6
        )

    @pytest.mark.parametrize("temperature", TEMPERATURES)
    def test_blocks_give_the_same(self, temperature: float) -> None:
        v, counts = values(), torch.rand(9, 5, generator=torch.Generator().manual_seed(1)) > 0.3
        running = RunningSoftMaximum(temperature)
        for block, real in zip(v.split(2), counts.split(2), strict=True):
            running.add(block, real)
        torch.testing.assert_close(running.result(), soft_maximum(v, temperature, counts=counts), atol=1e-9, rtol=1e-9)

    def test_one_temperature_per_class(self) -> None:
        v, tau = values(), torch.tensor([0.0, 0.5, 2.0, math.inf], dtype=torch.float64)
        expected = torch.stack([soft_maximum(v[..., d : d + 1], float(tau[d]))[..., 0] for d in range(4)], 1)
        torch.testing.assert_close(soft_maximum(v, tau), expected)

    @pytest.mark.parametrize("temperature", [1e-3, 0.3, 1.0, 1e4])
    def test_its_gradient_is_the_weights(self, temperature: float) -> None:
        v = values().requires_grad_()
        (gradient,) = torch.autograd.grad(soft_maximum(v, temperature).sum(), v)
        torch.testing.assert_close(gradient, soft_weights(v.detach(), temperature))
        assert torch.autograd.gradcheck(lambda x: soft_maximum(x, 0.7), values(candidates=3).requires_grad_())

    def test_the_effective_number_goes_from_one_to_all(self) -> None:
        numbers = [float(effective_number(soft_weights(values(), t)).mean()) for t in TEMPERATURES]
        assert numbers == sorted(numbers)
        assert (numbers[0], numbers[-1]) == pytest.approx((1.0, 9.0))


@pytest.mark.parametrize("temperature", TEMPERATURES)
class TestLaws:
    def test_it_is_1_lipschitz_in_the_network(self, temperature: float) -> None:
        clouds, network, other = random_clouds(6), CloudNetwork(0), CloudNetwork(1)
        turned = torch.cat([clouds @ r.T for r in CUBE.to(clouds)])
        distance = float((network(turned) - other(turned)).abs().max())
        found = (answers(soft(network, temperature), clouds) - answers(soft(other, temperature), clouds)).abs().max()
        assert 0 < float(found) <= distance + 1e-9

    def test_it_is_continuous_in_the_input(self, temperature: float) -> None:
        clouds = random_clouds(6)
        direction = torch.randn(clouds.shape, generator=torch.Generator().manual_seed(2), dtype=clouds.dtype)
        model = soft(CloudNetwork(0), temperature)
        steps = [
            float((answers(model, clouds + e * direction) - answers(model, clouds)).abs().max())
            for e in (1e-2, 1e-4, 1e-6)
        ]
        assert steps[0] > 10 * steps[1] > 100 * steps[2]

    def test_it_is_invariant_under_a_finite_group(self, temperature: float) -> None:
        clouds, model = random_clouds(4), soft(CloudNetwork(0), temperature)
        expected = answers(model, clouds)
        for turn in CUBE.to(clouds)[:6]:
            torch.testing.assert_close(answers(model, clouds @ turn.T), expected)
        other = SO3().sample(1, generator=torch.Generator().manual_seed(0))[0].to(clouds)
        assert not torch.allclose(answers(model, clouds @ other.T), expected)

    def test_a_symmetric_function_is_returned_unchanged(self, temperature: float) -> None:
        clouds = random_clouds(4)
        symmetric = lambda x: torch.stack([x.norm(dim=2).sum(1), x.norm(dim=2).amax(1)], 1)  # noqa: E731
        torch.testing.assert_close(answers(soft(symmetric, temperature), clouds), symmetric(clouds))

    def test_a_decreasing_prior_has_the_soft_minimum(self, temperature: float) -> None:
        clouds, network = random_clouds(4), CloudNetwork(0)
        model = Canonicalized(
            network, Rotations(), GridSearch(points=CUBE), prior=Monotone(torch.neg), temperature=temperature
        ).eval()
        scores = torch.stack([network(clouds @ r.T) for r in CUBE.to(clouds)]).detach()
        torch.testing.assert_close(answers(model, clouds), -soft_maximum(-scores, temperature), atol=1e-8, rtol=1e-8)


def test_random_draws_approach_it_like_their_square_root() -> None:
    """Against the value of very many draws, at a fixed temperature and in any dimension."""
    clouds, network = random_clouds(8), CloudNetwork(0)
    truth = answers(Canonicalized(network, Rotations(), RandomSearch(20000), temperature=1.0, seed=99).eval(), clouds)

    def error(count: int) -> float:
        models = [Canonicalized(network, Rotations(), RandomSearch(count), temperature=1.0, seed=s) for s in range(12)]
        return float(torch.stack([answers(m.eval(), clouds) - truth for m in models]).square().mean().sqrt())

    rate = math.log(error(16) / error(1024)) / math.log(64)
    assert rate == pytest.approx(0.5, abs=0.12)


def test_what_is_no_temperature_is_refused() -> None:
    for wrong in (-1.0, math.nan, "hot", [[1.0]]):
        with pytest.raises(ValueError, match="temperature"):
            soft(CloudNetwork(0), wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive and finite"):
        Temperature(0.0, learned=True)
