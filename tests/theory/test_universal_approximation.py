r"""The two universal approximation theorems, on vectors of the plane under rotations.

1. If :math:`\|f-\theta\|_\infty < \epsilon` then :math:`|f\circ\rho_f - \theta\circ\rho_\theta| < \epsilon`.
2. A continuous symmetric Q is approximated by some :math:`\theta\circ\rho_\theta`, found here by training under the
   maximum. A search with error e adds at most e.
"""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, GridSearch, Objective, RandomSearch
from adacanon.testing.problems import PlaneRotations
from cases.theory_cases import canonicalized, largest_difference, stream

EPSILON = 0.1
EXACT = GridSearch(720)


def disk(count: int = 41) -> Tensor:
    """A dense grid of the disk of radius 3/2."""
    axis = torch.linspace(-1.5, 1.5, count, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis)
    return grid[grid.norm(dim=1) <= 1.5]


def symmetric_target(x: Tensor) -> Tensor:
    """Q: two functions of the radius, one of them not monotone."""
    radius = x.norm(dim=1)
    return torch.stack([torch.sin(3 * radius), radius.square() / 2 - 0.5], dim=1)


def target_without_symmetry(x: Tensor) -> Tensor:
    """f: its maximum over rotations is no function that is given in advance."""
    return torch.stack([torch.sin(2 * x[:, 0]) * x[:, 1], torch.cos(x[:, 0] + 2 * x[:, 1])], dim=1)


def perceptron(*, width: int = 32, activation: Callable[[], nn.Module] = nn.Tanh) -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Linear(2, width), activation(), nn.Linear(width, width), activation(), nn.Linear(width, 2)]
    return nn.Sequential(*layers).double()


def fit(loss: Callable[[Tensor], Tensor], network: nn.Module, *, steps: int) -> None:
    """Adam on random points of the disk, with a rate that falls to zero."""
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    draws, grid = stream(1), disk(61)
    for _ in range(steps):
        batch = grid[torch.randint(len(grid), (128,), generator=draws)]
        optimizer.zero_grad()
        loss(batch).backward()
        optimizer.step()
        schedule.step()


def train_under_maximum(network: nn.Module, *, steps: int = 600) -> Canonicalized:
    model = Canonicalized(network, PlaneRotations(), GridSearch(24))
    objective = Objective(model, loss=nn.functional.mse_loss)
    fit(lambda batch: objective(batch, symmetric_target(batch)).loss, network, steps=steps)
    return model


@cache
def trained_network() -> nn.Module:
    return train_under_maximum(perceptron()).network


def outputs(network: Callable[[Tensor], Tensor], search: GridSearch | RandomSearch) -> Tensor:
    return canonicalized(network, search, PlaneRotations())(disk()).detach()


def test_a_network_close_to_f_is_close_after_canonicalization() -> None:
    theta = perceptron()
    fit(lambda batch: nn.functional.mse_loss(theta(batch), target_without_symmetry(batch)), theta, steps=1500)
    gap = largest_difference(theta(disk(121)), target_without_symmetry(disk(121)))
    canonical_gap = largest_difference(outputs(theta, EXACT), outputs(target_without_symmetry, EXACT))
    assert canonical_gap <= gap < EPSILON


def test_a_symmetric_function_is_learnt_under_the_maximum() -> None:
    assert largest_difference(outputs(trained_network(), EXACT), symmetric_target(disk())) < EPSILON


def test_without_universal_approximators_it_is_not_learnt() -> None:
    """The same training with a linear network stays far off, and so does an untrained one."""
    linear = train_under_maximum(perceptron(activation=nn.Identity), steps=200).network
    for network in (linear, perceptron()):
        assert largest_difference(outputs(network, EXACT), symmetric_target(disk())) > 2 * EPSILON


def test_a_search_with_error_e_adds_at_most_e() -> None:
    r""":math:`|\hat s(g) - Q(g)| \le \epsilon + e(g)`, with :math:`\hat s` the maximum found and e what it lacks.

    A single random pose is so weak a search that :math:`\epsilon` alone is exceeded: the term e is needed.
    """
    network = trained_network()
    best, q = outputs(network, EXACT), symmetric_target(disk())
    assert largest_difference(best, q) < EPSILON
    totals = []
    for samples in (1, 2, 4, 64):
        found = outputs(network, RandomSearch(samples))
        search_error = best - found
        assert search_error.min() > -1e-3, "the dense grid must come close to the true maximum"
        totals.append(largest_difference(found, q))
        assert ((found - q).abs() <= EPSILON + search_error.abs()).all()
    assert totals[0] > 2 * EPSILON
    assert totals[-1] < EPSILON
