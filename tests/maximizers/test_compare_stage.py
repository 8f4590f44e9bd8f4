"""The stage between coarse view and input: what a slow loop finds, and nothing where there is nothing between."""

from collections import Counter

import pytest
import torch
from torch import Tensor

from adacanon import CoarseToFine, RandomSearch, fast_training_searches
from adacanon.core import Landscape
from adacanon.errors import InputError
from adacanon.maximizers import CompareStage
from cases.coarse_cases import CLASSES, POINTS, MaxNetwork, found_by, landscape

DRAWS = 40


class Counting(MaxNetwork):
    """Remembers how many clouds of each size it has seen."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = Counter[int]()

    def forward(self, x: Tensor) -> Tensor:
        self.rows[x.shape[1]] += len(x)
        return super().forward(x)


def slowly(where: Landscape, search: CoarseToFine) -> Tensor:
    """Values (batch, classes) of the same search, one input after the other, from tables of all scores."""
    (stage,) = search.stages
    assert isinstance(stage, CompareStage)
    points = where.space.sample(DRAWS, generator=torch.Generator().manual_seed(0))
    grid = points[:, None].expand(-1, where.batch, -1, -1)
    with (
        where.coarse(search.size, low_precision=False) as view,
        where.coarse(stage.size, low_precision=False) as middle,
    ):
        coarse, between, whole = (each(grid).unbind(1) for each in (view, middle, where))
    answers = []
    for first, second, on_input in zip(coarse, between, whole, strict=True):
        pilot = int(first.amax(1).argmax())
        first = first + on_input[pilot] - first[pilot]
        second = second + on_input[pilot] - second[pilot]
        classes = first.amax(0).topk(min(stage.contenders, CLASSES)).indices
        sent = {int(p) for d in classes for p in first[:, d].topk(stage.keep).indices}
        lead = second[sorted(sent)].amax(0).topk(min(stage.leaders, CLASSES)).indices
        sent |= {int(p) for d in lead for p in first[:, d].topk(stage.deeper).indices}
        value = {p: float(second[p].max()) for p in sent}
        ranked = sorted(sent, key=lambda p: -value[p])[: stage.finalists]
        margin = float("inf") if stage.margin is None else stage.margin
        finalists = {p for p in ranked if value[p] >= value[ranked[0]] - margin}
        answers.append(on_input[sorted(finalists | {pilot})].amax(0))
    return torch.stack(answers)


@pytest.mark.parametrize(
    "middle",
    [
        CompareStage(16, contenders=4, keep=3, finalists=3),
        CompareStage(20),
        CompareStage(20, margin=0.0),
        CompareStage(20, margin=0.2, deeper=9),
        CompareStage(39, contenders=2, keep=1, leaders=0, margin=None),
        CompareStage(16, keep=1, leaders=3, deeper=4, finalists=6, margin=None),
        CompareStage(16, keep=5, leaders=1, deeper=2, finalists=DRAWS, margin=None),
    ],
    ids=repr,
)
def test_it_finds_what_a_slow_loop_finds(middle: CompareStage) -> None:
    search = CoarseToFine(RandomSearch(DRAWS), 8, low_precision=False, stages=(middle,))
    torch.testing.assert_close(found_by(search).values, slowly(landscape(), search))


def test_a_margin_saves_evaluations_of_the_input() -> None:
    seen = []
    for margin in (0.0, 0.1, None):
        network = Counting()
        found_by(CoarseToFine(RandomSearch(DRAWS), 8, stages=(CompareStage(16, margin=margin),)), landscape(network))
        seen.append(network.rows[POINTS])
    assert seen[0] < seen[1] < seen[2] <= 5 * (4 + 1)


def test_values_are_those_of_the_network_on_the_whole_input() -> None:
    where = landscape()
    found = found_by(CoarseToFine(RandomSearch(DRAWS), 8, stages=(CompareStage(16),)), where)
    assert found.exact
    torch.testing.assert_close(where.values(found.parameters.unsqueeze(0))[0], found.values)


def test_the_cost_counts_every_view_by_its_share() -> None:
    network = Counting()
    where = landscape(network)
    found_by(
        CoarseToFine(RandomSearch(DRAWS), 8, stages=(CompareStage(16, contenders=3, keep=2, leaders=0, finalists=2),)),
        where,
    )
    views = network.rows
    assert views[8] == (DRAWS + 1) * 5
    assert 5 < views[16] <= 5 * (3 * 2 + 1)
    assert 5 <= views[POINTS] <= 5 * 3
    assert where.pairs_evaluated == pytest.approx(sum(size / POINTS * rows for size, rows in views.items()))


@pytest.mark.parametrize("size", [POINTS, 2 * POINTS])
def test_inputs_that_are_no_larger_go_without_it(size: int) -> None:
    plain, other = (CoarseToFine(RandomSearch(DRAWS), 8, stages=stages) for stages in ((), (CompareStage(size),)))
    where, there = landscape(), landscape()
    assert torch.equal(found_by(plain, where).values, found_by(other, there).values)
    assert where.pairs_evaluated == there.pairs_evaluated


def test_settings_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="margin to be a number, at least 0"):
        CompareStage(margin=-1.0)
    with pytest.raises(InputError, match="finer view than the first one of 64"):
        CoarseToFine(size=64, stages=(CompareStage(64),))
    with pytest.raises(InputError, match="must be a tuple of stages"):
        CoarseToFine(stages=128)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [8, 32, 256])
def test_searches_that_learn_have_a_view_four_times_as_fine(size: int) -> None:
    evaluation, training = fast_training_searches(10, size=size)
    assert isinstance(evaluation, CoarseToFine)
    assert isinstance(training, CoarseToFine)
    assert (evaluation.stages, training.stages) == ((CompareStage(4 * size),), ())
