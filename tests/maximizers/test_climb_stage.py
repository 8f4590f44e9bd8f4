"""Successive halving: a climb from many candidates where the views are whole inputs, cheap where they are not."""

import pytest
import torch

from adacanon import GridSearch, RandomSearch, SampleAndRefine
from adacanon.errors import InputError
from adacanon.maximizers import ClimbStage, CoarseToFine, successive_halving
from adacanon.maximizers.ascent import climb
from adacanon.maximizers.finalists import best_few
from cases.coarse_cases import CLASSES, POINTS, MaxNetwork, found_by, landscape

TWO = (ClimbStage(8, keep=4, steps=2), ClimbStage(16, keep=2, steps=2))


@pytest.mark.parametrize("rungs", [(ClimbStage(8, 1),), (ClimbStage(8, 3, steps=2),), TWO], ids=str)
@pytest.mark.parametrize("steps", [0, 3])
@pytest.mark.parametrize("contenders", [1, 2, 99])
def test_values_are_those_of_the_network_on_the_whole_input(
    rungs: tuple[ClimbStage, ...], steps: int, contenders: int
) -> None:
    where = landscape()
    found = found_by(successive_halving(RandomSearch(40), rungs, contenders=contenders, steps=steps), where)
    assert found.exact
    torch.testing.assert_close(where.values(found.parameters.unsqueeze(0))[0], found.values)


def test_one_rung_without_steps_is_coarse_to_fine() -> None:
    search = RandomSearch(40)
    found = found_by(successive_halving(search, (ClimbStage(8, keep=2),), contenders=3, steps=0))
    expected = found_by(CoarseToFine(search, size=8, keep=2, contenders=3))
    assert torch.equal(found.values, expected.values)
    assert torch.equal(found.parameters, expected.parameters)


def test_on_whole_inputs_it_is_the_best_of_many_climbs() -> None:
    """Written down plainly: the best five draws of every class climb, then the best two of these, then the best one."""
    where = landscape()
    space = where.space.sample(30, generator=torch.Generator().manual_seed(0))
    points, _ = best_few(where, [space[:, None].expand(-1, where.batch, -1, -1)], 5)
    for steps, keep in ((4, 2), (3, 1), (2, 1)):
        path = climb(where, points, steps=steps, step_size=0.05)
        best = path.values.argsort(dim=0, descending=True)[:keep]
        points = torch.stack(
            [
                torch.stack([path.parameters[best[:, i, d], i, d] for d in range(CLASSES)], dim=1)
                for i in range(where.batch)
            ],
            dim=1,
        )
        value = path.values.amax(0)
    rungs = (ClimbStage(POINTS, 5, steps=4), ClimbStage(POINTS, 2, steps=3))
    found = found_by(
        successive_halving(RandomSearch(30), rungs, contenders=CLASSES, steps=2, step_size=0.05, low_precision=False)
    )
    # Finalists are shared: a class may end above its own path, never below.
    assert bool((found.values >= value - 1e-9).all())
    assert float((found.values - value).abs().median()) < 1e-9


def test_steps_on_the_input_only_help_and_only_the_contenders() -> None:
    plain, refined = (found_by(successive_halving(RandomSearch(40), TWO, contenders=2, steps=n)) for n in (0, 4))
    gain = refined.values - plain.values
    assert bool((gain >= 0).all())
    assert bool(((gain > 0).sum(1) == 2).all())


def test_rungs_find_more_than_draws_of_the_same_cost() -> None:
    where = landscape(MaxNetwork())
    found = found_by(successive_halving(RandomSearch(40), TWO, contenders=CLASSES), where)
    count = int(where.pairs_evaluated / where.batch) + 1
    assert float((found.values - found_by(RandomSearch(count)).values).mean()) > 0


def test_fewer_candidates_than_are_kept() -> None:
    assert found_by(successive_halving(GridSearch(1), TWO)).values.shape == (5, CLASSES)


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="CoarseToFine needs a search over a set of candidates"):
        successive_halving(SampleAndRefine(10))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one ClimbStage"):
        successive_halving(stages=())
    with pytest.raises(InputError, match="at least one ClimbStage"):
        successive_halving(stages=(64,))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a tuple of at least one ClimbStage"):
        successive_halving(stages=ClimbStage(64, keep=1))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="ClimbStage needs step_size > 0"):
        ClimbStage(64, keep=1, step_size=0.0)
