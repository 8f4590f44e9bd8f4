r"""Theorem "prior maximization is adaptive canonicalization": :math:`f \mapsto f\circ\rho_f(g)` is 1-Lipschitz.

.. math:: |f\circ\rho_f(g) - y\circ\rho_y(g)| \le \max_u |f(\kappa_u(g)) - y(\kappa_u(g))|
"""

import pytest
import torch
from torch import Tensor

from adacanon import ClassScore, GridSearch, Monotone, RandomSearch
from adacanon.core import Canonicalized, Family, Prior
from adacanon.spaces import SO3
from cases.theory_cases import CloudNetwork, canonicalized, random_clouds, stream

CANDIDATES = SO3().sample(24, generator=stream(5))
PRIORS = {
    "score": ClassScore(),
    "sigmoid": Monotone(torch.sigmoid),
    "negative": Monotone(torch.neg),
    "one per class": Monotone([torch.exp, torch.neg, torch.tanh, lambda x: -x.atan()]),
}


class Nearby:
    """The network y = f + size times another network, at any distance from f."""

    def __init__(self, f: CloudNetwork, seed: int, size: float) -> None:
        self.f, self.other, self.size = f, CloudNetwork(seed), size

    def __call__(self, clouds: Tensor) -> Tensor:
        return self.f(clouds) + self.size * self.other(clouds)


def difference_over_candidates(f: CloudNetwork, y: Nearby, clouds: Tensor) -> Tensor:
    """The right-hand side of the theorem, (batch, classes)."""
    forms = clouds.unsqueeze(1) @ CANDIDATES.mT
    return (f(forms) - y(forms)).abs().amax(1)


def is_one_lipschitz(f_of_rho_f: Tensor, y_of_rho_y: Tensor, bound: Tensor) -> bool:
    return bool(((f_of_rho_f - y_of_rho_y).abs() <= bound + 1e-12).all())


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@pytest.mark.parametrize("size", [1e-6, 1e-2, 1.0, 10.0])
def test_canonicalization_is_1_lipschitz_in_the_network(prior: Prior, size: float) -> None:
    clouds = random_clouds(32)
    for seed in range(5):
        f = CloudNetwork(seed)
        y = Nearby(f, 100 + seed, size)
        ours = [canonicalized(network, GridSearch(points=CANDIDATES), prior=prior)(clouds) for network in (f, y)]
        assert is_one_lipschitz(*ours, difference_over_candidates(f, y, clouds))


def test_the_constant_one_is_attained() -> None:
    """Raising f by a constant raises the maximum by the same constant, so no constant below one would do."""
    f, clouds = CloudNetwork(0), random_clouds(8)
    search = GridSearch(points=CANDIDATES)
    raised = canonicalized(lambda x: f(x) + 0.25, search)(clouds)
    torch.testing.assert_close(raised - canonicalized(f, search)(clouds), torch.full((8, 4), 0.25, dtype=torch.float64))


def test_fresh_candidates_at_every_call_break_the_bound() -> None:
    """With new draws at each call the two maxima run over different sets: even f against itself violates the bound."""
    f, clouds = CloudNetwork(0), random_clouds(32)
    model = canonicalized(f, RandomSearch(24)).train()
    assert not is_one_lipschitz(model(clouds), model(clouds), torch.zeros(32, 4))
    model.eval()
    assert is_one_lipschitz(model(clouds), model(clouds), torch.zeros(32, 4))


def test_a_form_chosen_by_another_class_breaks_the_bound() -> None:
    """Evaluating class d at the form that maximizes class 0 is no prior maximization, and the theorem fails for it."""
    clouds, violated = random_clouds(64), False
    for seed in range(5):
        f = CloudNetwork(seed)
        y = Nearby(f, 100 + seed, 1e-2)
        ours = [_at_the_form_of_class_0(canonicalized(net, GridSearch(points=CANDIDATES)), clouds) for net in (f, y)]
        violated |= not is_one_lipschitz(*ours, difference_over_candidates(f, y, clouds))
    assert violated


def _at_the_form_of_class_0(model: Canonicalized, clouds: Tensor) -> Tensor:
    family: Family = model.family
    chosen = model.canonicalize(clouds).parameters[:, 0]
    return model.network(family.transform(clouds, chosen, torch.arange(len(clouds))))
