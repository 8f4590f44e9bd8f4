r"""Appendix "Randomized Prior Maximization": the maximum over K draws approaches the true one.

Lemma. If :math:`P(B(x,r)) \ge \kappa (2r)^d` for all :math:`r \le r_0`, then for every
:math:`\rho \ge e^{-n\kappa(2r_0)^d}`, with probability at least :math:`1-\rho`, the error of a
:math:`K_g`-Lipschitz function with q outputs is at most

.. math:: \frac{K_g}{2}\Big(\frac{\ln(q/\rho)}{n\kappa}\Big)^{1/d}

because a ball of that radius around the maximum is missed by all draws with probability
:math:`(1 - P(B))^n \le e^{-n\kappa(2r)^d} = \rho/q`.

The constants for Haar measures, with geodesic balls:

- circle, d = 1: :math:`P(B(r)) = r/\pi`, so :math:`\kappa = 1/(2\pi)` with :math:`r_0 = \pi`;
- SO(3), d = 3: :math:`P(B(r)) = (r - \sin r)/\pi`, and since :math:`(r-\sin r)/r^3` falls,
  :math:`\kappa = (r_0 - \sin r_0)/(8\pi r_0^3)`: :math:`1/(8\pi^3)` for :math:`r_0 = \pi`, up to :math:`1/(48\pi)` for
  small balls.

The factor :math:`2^d` of the lemma belongs to balls that are cubes. Read with Euclidean balls,
:math:`\lambda_3(B(r)) = \frac43\pi r^3` and :math:`\kappa = 1/(8\pi^2)`, the stated bound is too small: it fails below.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
import torch
from torch import Tensor

from adacanon import RandomSearch
from adacanon.core import Family, Space
from adacanon.points import Rotations
from adacanon.spaces import SO3, Circle
from adacanon.testing.problems import PlaneRotations
from cases.theory_cases import canonicalized, stream

COUNTS = [2**k for k in range(3, 13)]
TARGETS = 64
SHARP_RADIUS = 0.5


@dataclass(frozen=True, eq=False)
class Case:
    """A group acting on itself: form :math:`\\kappa_u(g)` tells u, and output d is minus the distance to target d."""

    space: Space
    family: Family
    g: Tensor
    element: Callable[[Tensor], Tensor]
    dimension: int
    ball: Callable[[float], float]

    def distances(self, forms: Tensor) -> Tensor:
        targets = self.space.sample(TARGETS, generator=stream(123))
        return self.space.distance(self.element(forms).unsqueeze(1), targets)

    def retaining_constant(self, radius: float) -> float:
        """The largest kappa with :math:`P(B(r)) \\ge \\kappa(2r)^d` up to this radius."""
        return self.ball(radius) / (2 * radius) ** self.dimension


CIRCLE = Case(
    Circle(),
    PlaneRotations(),
    torch.tensor([[1.0, 0.0]], dtype=torch.float64),
    lambda x: torch.atan2(x[:, 1], x[:, 0]),
    1,
    lambda r: r / math.pi,
)
ROTATION = Case(
    SO3(),
    Rotations(),
    torch.eye(3, dtype=torch.float64)[None],
    lambda x: x.mT,
    3,
    lambda r: (r - math.sin(r)) / math.pi,
)


@cache
def search_errors(case: Case, samples: int, *, power: int, runs: int) -> Tensor:
    """Errors (runs, targets) of the maximum found of a cone (power 1) or a smooth top (power 2); the true one is 0."""
    model = canonicalized(lambda forms: -(case.distances(forms) ** power), RandomSearch(samples), case.family)
    return torch.cat([-model(case.g, generator=stream(1000 * samples + run)) for run in range(runs)])


def rate(case: Case, *, power: int, samples: Callable[[int], int] = lambda k: k, runs: int = 12) -> float:
    """The slope of log error against log K."""
    errors = [search_errors(case, samples(k), power=power, runs=runs).mean() for k in COUNTS]
    x, y = torch.tensor(COUNTS).double().log(), torch.stack(errors).log()
    return (((x - x.mean()) * (y - y.mean())).sum() / (x - x.mean()).square().sum()).item()


@pytest.mark.parametrize("case", [CIRCLE, ROTATION], ids=["circle", "SO(3)"])
@pytest.mark.parametrize("power", [1, 2], ids=["cone", "smooth"])
def test_the_error_falls_at_least_as_fast_as_the_lemma_says(case: Case, power: int) -> None:
    assert rate(case, power=power) <= -0.95 * power / case.dimension


def test_a_search_that_stops_at_eight_draws_has_no_rate() -> None:
    assert rate(ROTATION, power=1, samples=lambda k: 8) > -0.05


@pytest.mark.parametrize("case", [CIRCLE, ROTATION], ids=["circle", "SO(3)"])
@pytest.mark.parametrize("radius", [SHARP_RADIUS, 1.0, math.pi])
def test_the_haar_measure_retains_volume(case: Case, radius: float) -> None:
    """The probability of a ball by counting draws, and the constant that bounds it below for all smaller radii."""
    draws = case.space.sample(100_000, generator=stream(8))
    distances = case.space.distance(draws, case.space.sample(1, generator=stream(9)))
    counted = (distances <= radius).double().mean().item()
    assert abs(counted - case.ball(radius)) < 4 * math.sqrt(max(case.ball(radius), 1e-4) / 100_000)
    kappa = case.retaining_constant(radius)
    smaller = torch.linspace(0.01, 1, 100) * radius
    assert all(case.ball(float(r)) >= kappa * (2 * float(r)) ** case.dimension * (1 - 1e-6) for r in smaller)


def bound(case: Case, n: int, *, rho: float, kappa: float, q: int = 1) -> float:
    return 0.5 * (math.log(q / rho) / (n * kappa)) ** (1 / case.dimension)


def holds_with_probability(errors: Tensor, limit: float, *, rho: float, runs: int) -> bool:
    """Whether the errors exceed the limit at most as often as rho allows, up to three standard deviations."""
    exceeded = (errors > limit).double().mean().item()
    return exceeded <= rho + 3 * math.sqrt(rho * (1 - rho) / runs)


@pytest.mark.parametrize("case", [CIRCLE, ROTATION], ids=["circle", "SO(3)"])
@pytest.mark.parametrize("rho", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("radius", [SHARP_RADIUS, math.pi], ids=["sharp constant", "global constant"])
def test_the_tail_bound_holds(case: Case, rho: float, radius: float) -> None:
    n, runs, kappa = 1024, 300, case.retaining_constant(radius)
    assert rho >= math.exp(-n * kappa * (2 * radius) ** case.dimension)
    errors = search_errors(case, n, power=1, runs=runs)
    assert holds_with_probability(errors, bound(case, n, rho=rho, kappa=kappa), rho=rho, runs=runs)


def test_the_tail_bound_holds_for_all_outputs_at_once() -> None:
    r"""With q outputs the lemma pays :math:`\ln q`; without it the worst of them breaks the bound."""
    n, runs, rho, kappa = 1024, 300, 0.1, ROTATION.retaining_constant(SHARP_RADIUS)
    worst = search_errors(ROTATION, n, power=1, runs=runs).amax(1)
    assert holds_with_probability(worst, bound(ROTATION, n, rho=rho, kappa=kappa, q=TARGETS), rho=rho, runs=runs)
    assert not holds_with_probability(worst, bound(ROTATION, n, rho=rho, kappa=kappa), rho=rho, runs=runs)


def test_the_bound_read_with_euclidean_balls_fails() -> None:
    r"""With :math:`\kappa = 1/(8\pi^2)` the bound is exceeded with probability :math:`\rho^{\pi/6}`."""
    n, runs, rho = 1024, 300, 0.1
    errors = search_errors(ROTATION, n, power=1, runs=runs)
    limit = bound(ROTATION, n, rho=rho, kappa=1 / (8 * math.pi**2))
    assert not holds_with_probability(errors, limit, rho=rho, runs=runs)
    assert abs((errors > limit).double().mean().item() - rho ** (math.pi / 6)) < 0.03
