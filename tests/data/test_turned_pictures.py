"""Pictures shown twice on a torus: what the samples of a picture share, and what tells them apart."""

import pytest
import torch
from torch import Tensor

from adacanon.data.turned_pictures import normalised_pictures, paired, steps_between, turned_pictures
from adacanon.errors import InputError, ShapeError
from oracles.torus import automorphisms, balls

SIZE, SIDE = 12, 3


def pictures(count: int, side: int = SIDE) -> Tensor:
    return torch.rand(count, side, side, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def twins(count: int, *, noise: float = 0.0) -> Tensor:
    """Grids (count, 2, size, size, 2): the two samples of every picture."""
    task = turned_pictures(pictures(count), size=SIZE, noise=noise, generator=torch.Generator().manual_seed(1))
    return task.signals.unflatten(0, (-1, 2)).unflatten(2, (SIZE, SIZE))


class TestTheLabel:
    def test_one_automorphism_carries_the_first_copy_to_the_second_and_its_turns_are_the_label(self) -> None:
        """Quarter turns stay quarter turns under every relabelling of the nodes, so that the label does not depend on
        it.
        """
        for pair in twins(3):
            for label, grid in enumerate(pair):
                first, second = grid.flatten(0, 1).unbind(-1)
                turns = [turns for turns, order in automorphisms(SIZE) if torch.allclose(first[order], second)]
                assert turns == [0] if label == 0 else turns in ([1], [3])

    def test_samples_are_moved_at_random(self) -> None:
        corners = {tuple(grid[..., 0].nonzero()[0].tolist()) for pair in twins(20) for grid in pair}
        assert len(corners) > 20


class TestWhatTheSamplesOfAPictureShare:
    @pytest.mark.parametrize("noise", [0.0, 1.0])
    def test_each_channel_is_the_same_up_to_an_automorphism(self, noise: float) -> None:
        for plain, turned in twins(3, noise=noise):
            for channel in range(2):
                orders = [
                    order
                    for _, order in automorphisms(SIZE)
                    if torch.equal(plain[..., channel].flatten()[order], turned[..., channel].flatten())
                ]
                assert len(orders) == 1

    @pytest.mark.parametrize("noise", [0.0, 1.0])
    def test_balls_that_cannot_meet_both_copies_are_the_same(self, noise: float) -> None:
        reach = (steps_between(SIZE, SIDE) - 1) // 2
        assert reach == 3
        for plain, turned in twins(3, noise=noise):
            assert balls(plain, reach) == balls(turned, reach)

    def test_balls_one_step_larger_are_not(self) -> None:
        for plain, turned in twins(3):
            assert balls(plain, 4) != balls(turned, 4)


class TestWindows:
    def test_the_distance_of_the_windows_is_the_smallest_number_of_steps(self) -> None:
        one = torch.ones(1, SIDE, SIDE)
        first, second = (paired(one, one, SIZE)[0, ..., channel].nonzero() for channel in range(2))
        apart = (first[:, None] - second[None]).abs()
        assert int(torch.minimum(apart, SIZE - apart).sum(-1).min()) == steps_between(SIZE, SIDE)

    @pytest.mark.parametrize(("size", "side"), [(13, 3), (12, 6), (12, 1)])
    def test_windows_that_do_not_fit_are_refused(self, size: int, side: int) -> None:
        with pytest.raises(InputError, match="even size"):
            steps_between(size, side)

    def test_pictures_have_mean_zero_and_deviation_one(self) -> None:
        found = normalised_pictures(5 + pictures(4)).flatten(1)
        torch.testing.assert_close(found.mean(1), torch.zeros(4, dtype=torch.float64), atol=1e-12, rtol=0.0)
        torch.testing.assert_close(found.std(1, correction=0), torch.ones(4, dtype=torch.float64))

    def test_pictures_of_one_colour_and_oblong_ones_are_refused(self) -> None:
        with pytest.raises(InputError, match="one colour"):
            normalised_pictures(torch.ones(2, 3, 3))
        with pytest.raises(ShapeError, match="squares"):
            normalised_pictures(torch.rand(2, 3, 4))
