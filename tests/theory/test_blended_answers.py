"""Blended answers are equivariant and continuous; those of one form are equivariant and jump."""

import math

import pytest
import torch
from torch import Tensor

from adacanon import AnchoredSearch, Canonicalized, Confidence, EqualWeights, GridSearch
from adacanon.core import Prior
from adacanon.points import Rotations
from adacanon.spaces import SO3, rotation_group
from cases.theory_cases import CloudNetwork, random_clouds

FINE, FINER = 250, 1000


def vector_model(temperature: float, prior: Prior | None = None) -> Canonicalized:
    network = CloudNetwork(2, classes=3 if isinstance(prior, EqualWeights) else 4)
    options = {"prior": prior or Confidence(), "answers": "vectors", "temperature": temperature}
    return Canonicalized(network, Rotations(), AnchoredSearch(24), **options).eval()


def path(steps: int) -> Tensor:
    """Clouds on a straight line between two, along which variances cross."""
    a, b = random_clouds(2)
    t = torch.linspace(0, 1, steps + 1, dtype=torch.float64)[:, None, None]
    return (1 - t) * a + t * b


def largest_step(model: Canonicalized, steps: int) -> float:
    with torch.no_grad():
        return float(model(path(steps)).diff(dim=0).norm(dim=1).max())


def test_blended_answers_are_continuous_and_equivariant_where_those_of_one_form_jump() -> None:
    """On a path of four times as many steps the steps of a continuous answer are four times as short, a jump is not."""
    one, blended = vector_model(0.0), vector_model(0.1)
    jump = [largest_step(one, steps) for steps in (FINE, FINER)]
    smooth = [largest_step(blended, steps) for steps in (FINE, FINER)]
    assert jump[1] > 0.9 * jump[0] > 0.1
    assert smooth[1] < 0.3 * smooth[0]
    assert smooth[1] < 0.1 * jump[1]
    turn = SO3().sample(1, generator=torch.Generator().manual_seed(1))[0]
    for model in (one, blended):
        with torch.no_grad():
            moved, still = model(path(FINE) @ turn.T), model(path(FINE))
        assert float((moved - still @ turn.T).abs().max()) < 1e-8
        assert float((moved - still).abs().max()) > 0.1


@pytest.mark.parametrize(("temperature", "prior"), [(0.0, None), (0.1, None), (math.inf, EqualWeights())])
def test_an_equivariant_network_is_returned_unchanged(temperature: float, prior: Prior | None) -> None:
    """So every continuous equivariant function is reached, whatever the confidence."""
    confident = CloudNetwork(3, classes=1)

    def network(x: Tensor) -> Tensor:
        vector = (x * x.norm(dim=2, keepdim=True)).mean(1)
        return vector if isinstance(prior, EqualWeights) else torch.cat([vector, confident(x)], 1)

    options = {"prior": prior or Confidence(), "answers": "vectors", "temperature": temperature}
    model = Canonicalized(network, Rotations(), GridSearch(points=rotation_group("cube")), **options).eval()
    g = random_clouds(3, seed=1)
    torch.testing.assert_close(model(g), (g * g.norm(dim=2, keepdim=True)).mean(1))


def test_blended_answers_are_not_lipschitz_in_the_network_where_the_confidence_depends_on_it() -> None:
    """Two networks that differ by epsilon, in the confidence alone, have answers that differ by many times as much."""

    def network(shift: float) -> Canonicalized:
        def outputs(x: Tensor) -> Tensor:
            up = x[:, :1, 2].sign()
            return torch.cat([100 * up, 0.5 * shift * up], 1)

        points = torch.stack([torch.eye(3), torch.diag(torch.tensor([1.0, -1.0, -1.0]))])
        search = GridSearch(points=points)
        return Canonicalized(outputs, Rotations(), search, prior=Confidence(), temperature=0.05).eval()

    g, epsilon = random_clouds(1), 0.01
    difference = float((network(epsilon)(g) - network(0.0)(g)).abs())
    assert difference > 100 * epsilon


def test_the_mean_with_equal_weights_is_lipschitz_in_the_network() -> None:
    g, epsilon = random_clouds(5, seed=4), 0.01
    base = CloudNetwork(2, classes=3)

    def model(shift: float) -> Canonicalized:
        options = {"prior": EqualWeights(), "answers": "vectors", "temperature": math.inf}
        return Canonicalized(lambda x: base(x) + shift * x[:, 0].sin(), Rotations(), AnchoredSearch(24), **options)

    difference = (model(epsilon).eval()(g) - model(0.0).eval()(g)).norm(dim=1)
    assert 0 < float(difference.max()) <= epsilon * math.sqrt(3)
