"""Predictions that a rotation changes, and jumps along paths on which principal axes change places."""

import pytest
import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.pca_frames import PCAAligned
from adacanon.baselines.clouds.vn_networks import VNPointNet
from adacanon.experiments.clouds.invariance_errors import crossing_paths, invariance_errors, largest_jumps, scored
from adacanon.experiments.clouds.rotated_clouds import randomly_rotated
from adacanon.points.frames import centred, principal_axes
from adacanon.training.smoke import smoke


class Smooth(nn.Module):
    """A smooth function of a cloud that sees its pose."""

    def forward(self, points: Tensor) -> Tensor:
        moments = torch.cat([points.square().mean(1), points.pow(3).mean(1)], 1)
        signs = torch.tensor([[1.0, -1.0], [-1.0, 1.0], [0.5, 0.0]], dtype=points.dtype)
        return torch.sin(4 * moments) @ signs.repeat(2, 1)


@pytest.fixture
def clouds(generator: torch.Generator) -> Tensor:
    scales = torch.tensor([1.0, 0.7, 0.3], dtype=torch.float64)
    x = torch.randn(12, 60, 3, generator=generator, dtype=torch.float64) * scales
    return randomly_rotated(x / x.norm(dim=2).amax(1)[:, None, None], generator)


class TestPaths:
    def test_it_begins_at_the_shape_and_stays_in_the_unit_ball(self, clouds: Tensor) -> None:
        paths = crossing_paths(clouds, 9)
        start = centred(clouds)
        torch.testing.assert_close(paths[:, 0], start / start.norm(dim=2).amax(1)[:, None, None])
        torch.testing.assert_close(paths.norm(dim=3).amax(2), torch.ones(12, 9, dtype=torch.float64))

    def test_the_two_longest_axes_change_places_half_way(self, clouds: Tensor) -> None:
        paths = crossing_paths(clouds, 9)
        longest = principal_axes(clouds)[:, 2]
        for step in range(9):
            found = principal_axes(paths[:, step])
            along = (found @ longest.unsqueeze(2)).squeeze(2).abs()
            assert (along[:, 2] > 0.999).all() == (step < 4)
            variances = torch.linalg.eigvalsh(paths[:, step].mT @ paths[:, step])
            equal = (variances[:, 2] - variances[:, 1]).abs() < 1e-9 * variances[:, 2]
            assert equal.all() == (step == 4)

    @pytest.mark.parametrize("tilt", [0.0, 2.0])
    def test_the_shortest_axis_is_left_alone(self, tilt: float, clouds: Tensor) -> None:
        """Also where the two shorter ones are alike, and the path ends early."""
        axes = principal_axes(clouds)
        rod = clouds @ axes.mT * torch.tensor([0.9, 0.55, 1.0], dtype=torch.float64) @ axes
        paths = crossing_paths(rod, 101, tilt=tilt)
        variances = torch.linalg.eigvalsh(paths.mT @ paths)
        assert (variances[..., 0] / variances[..., 1]).max() < 0.999

    def test_tilted_paths_pass_the_crossing_and_turn_the_axes_all_the_same(self, clouds: Tensor) -> None:
        paths = crossing_paths(clouds, 201, tilt=2.0)
        variances = torch.linalg.eigvalsh(paths.mT @ paths)
        assert ((variances[..., 2] - variances[..., 1]) / variances[..., 2]).min() > 1e-3
        longest = principal_axes(paths.flatten(0, 1))[:, 2].unflatten(0, paths.shape[:2])
        between = (longest[:, 1:] * longest[:, :-1]).sum(2).abs()
        assert between.min() > 0.5  # nowhere a right angle at once
        assert (longest[:, 0] * longest[:, -1]).sum(1).abs().max() < 0.5
        torch.testing.assert_close(crossing_paths(clouds, 5, tilt=0.0), crossing_paths(clouds, 5))

    def test_steps_shrink_with_their_number(self, clouds: Tensor) -> None:
        sizes = [crossing_paths(clouds, n).diff(dim=1).abs().max() for n in (11, 101)]
        assert sizes[1] < 0.12 * sizes[0]

    def test_points_that_coincide_stay_where_they_are(self) -> None:
        assert (crossing_paths(torch.ones(2, 5, 3), 4) == 0).all()


def test_only_an_alignment_with_principal_axes_jumps_however_small_the_steps(clouds: Tensor) -> None:
    jumps = {
        name: [
            float(largest_jumps(model(crossing_paths(clouds, n).flatten(0, 1)).unflatten(0, (-1, n))).mean())
            for n in (200, 2000)
        ]
        for name, model in {"smooth": Smooth(), "aligned": PCAAligned(Smooth())}.items()
    }
    assert jumps["smooth"][1] < 0.12 * jumps["smooth"][0]
    assert jumps["aligned"][1] > 0.8 * jumps["aligned"][0]


def test_vector_neurons_do_not_change_and_a_plain_network_does(clouds: Tensor) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        invariant = VNPointNet(3, k=5, widths=(4, 4, 6, 8), context=((4, 6), (5,)), head=(12,)).double()
        invariant(clouds)
    for model, same in ((invariant, True), (Smooth(), False)):
        found = invariance_errors(model, clouds, scored(model, clouds, batch=5), seed=0, batch=5)
        assert (found["changed"] == 0) == same
        assert (found["moved"] < 1e-6) == same


def test_figures_follow_from_the_seed_and_from_nothing_else(clouds: Tensor) -> None:
    scores = scored(Smooth(), clouds, batch=3)
    one, other = (invariance_errors(Smooth(), clouds, scores, seed=1, batch=batch) for batch in (3, 12))
    assert one == pytest.approx(other)
    assert invariance_errors(Smooth(), clouds, scores, seed=2, batch=3)["moved"] != one["moved"]


def test_a_smoke_run_turns_a_few_clouds_only(clouds: Tensor) -> None:
    """Its one evaluation batch has been evaluated before; with a search a second one would take as long again."""
    turned = list[int]()
    model = Smooth()
    scores = scored(model, clouds, batch=12)
    model.register_forward_hook(lambda module, arguments, scores: turned.append(len(scores)))
    with smoke(batch=12):
        few = invariance_errors(model, clouds, scores, seed=0, batch=12)
    invariance_errors(model, clouds, scores, seed=0, batch=12)
    assert turned == [4, 12]
    assert few == invariance_errors(model, clouds[:4], scores[:4], seed=0, batch=12)
