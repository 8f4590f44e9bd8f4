r"""Theorem "continuous prior maximization gives continuous functions": :math:`g \mapsto f\circ\rho_f(g)` is continuous.

The path crosses a cloud with two equal principal axes. One and the same check, that the largest change between
consecutive clouds shrinks in proportion to the step, holds for a fixed candidate set and fails for alignment with
principal axes.
"""

import pytest
import torch

from adacanon import GridSearch, Monotone, RandomSearch
from adacanon.baselines.clouds.vn_networks import VNPointNet
from adacanon.points import principal_frames
from adacanon.points.neighbours import nearest_neighbours
from adacanon.spaces import SO3, rotation_group
from cases.theory_cases import (
    CloudNetwork,
    canonicalized,
    crossing_path,
    largest_change,
    pca_canonicalized,
    random_clouds,
    shrinks_with_the_step,
)

FIXED_SETS = {
    "random": RandomSearch(48),
    "covering": GridSearch(48),
    "icosahedral": GridSearch(points=rotation_group("icosahedron")),
}


def test_the_principal_frame_jumps_on_the_path() -> None:
    """The case itself: the cloud moves smoothly and its principal frame turns by a right angle or more at once."""
    path = crossing_path(64)
    frames = principal_frames(path)
    nearest = SO3().distance(frames[:-1, :1], frames[1:]).amin(1)
    assert nearest.max() > 1.5
    assert shrinks_with_the_step(lambda clouds: clouds.flatten(1), crossing_path)


@pytest.mark.parametrize("search", FIXED_SETS.values(), ids=FIXED_SETS)
@pytest.mark.parametrize("seed", range(3))
def test_prior_maximization_is_continuous(search: RandomSearch | GridSearch, seed: int) -> None:
    assert shrinks_with_the_step(canonicalized(CloudNetwork(seed), search), crossing_path)


def test_minimization_is_continuous() -> None:
    """A decreasing prior."""
    model = canonicalized(CloudNetwork(0), RandomSearch(48), prior=Monotone(torch.neg))
    assert shrinks_with_the_step(model, crossing_path)


@pytest.mark.parametrize("seed", range(3))
def test_alignment_with_principal_axes_is_not_continuous(seed: int) -> None:
    aligned = pca_canonicalized(CloudNetwork(seed))
    assert not shrinks_with_the_step(aligned, crossing_path)
    assert largest_change(aligned, crossing_path(4096)) > 0.9 * largest_change(aligned, crossing_path(64)) > 0.05


def test_vector_neurons_jump_where_a_nearest_neighbour_is_replaced_and_nowhere_else() -> None:
    """An invariant network is not continuous for that: VN-PointNet averages over the nearest neighbours of a point."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = VNPointNet(4, k=4).double().eval()

    def changes(steps: int) -> tuple[float, float]:
        """The largest change of a score where all points keep their neighbours, and where one does not."""
        path = crossing_path(steps)
        neighbours = nearest_neighbours(path, 4).sort(-1).values.flatten(1)
        kept = (neighbours[1:] == neighbours[:-1]).all(1)
        change = network(path).diff(dim=0).abs().amax(1)
        return change[kept].max().item(), change[~kept].max().item()

    with torch.no_grad():
        coarse, fine = changes(64), changes(1024)
    assert fine[0] < 1.5 * coarse[0] / 16
    assert fine[1] > 0.9 * coarse[1] > 10 * coarse[0]


def test_fresh_candidates_at_every_call_are_not_continuous() -> None:
    model = canonicalized(CloudNetwork(0), RandomSearch(48)).train()
    assert not shrinks_with_the_step(lambda path: torch.cat([model(cloud[None]) for cloud in path]), crossing_path)


def test_the_modulus_of_continuity_is_that_of_the_network() -> None:
    r""":math:`|f\circ\rho_f(g) - f\circ\rho_f(g')| \le \max_u |f(\kappa_u g) - f(\kappa_u g')|` for any two clouds."""
    f, clouds = CloudNetwork(1), random_clouds(64)
    candidates = SO3().cover(48)
    scores = f(clouds.unsqueeze(1) @ candidates.mT)
    bound = (scores[:32] - scores[32:]).abs().amax(1)
    outputs = canonicalized(f, GridSearch(points=candidates))(clouds)
    assert ((outputs[:32] - outputs[32:]).abs() <= bound + 1e-12).all()
