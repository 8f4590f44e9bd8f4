"""The calibration of views: lines that are learnt in training mode, applied in both, and saved with the model."""

import copy

import pytest
import torch
from torch import Tensor

from adacanon import Canonicalized, CoarseToFine, Objective, RandomSearch
from adacanon.core import ClassScore, Landscape, SearchResult
from adacanon.errors import InputError
from adacanon.maximizers import Calibration
from adacanon.points import Rotations
from cases.coarse_cases import CLASSES, POINTS, MaxNetwork, large_clouds

SLOPES = torch.linspace(0.5, 1.5, CLASSES, dtype=torch.float64)
SHIFTS = torch.linspace(-3, 3, CLASSES, dtype=torch.float64)


class Distorted(MaxNetwork):
    """On small clouds the scores of every class are stretched and shifted."""

    def forward(self, x: Tensor) -> Tensor:
        scores = super().forward(x)
        return scores if x.shape[1] == POINTS else (scores - SHIFTS) / SLOPES


def repeated_clouds(batch: int = 5) -> Tensor:
    """Of eight different points, each five times: a view of eight loses nothing."""
    return large_clouds(batch)[:, :8].repeat(1, POINTS // 8, 1)


def searched(calibration: Calibration, seed: int, *, learning: bool = True, **options: bool) -> SearchResult:
    where = Landscape(Distorted(), Rotations(), ClassScore(), repeated_clouds(), learning=learning)
    search = CoarseToFine(
        RandomSearch(10), size=8, contenders=0, low_precision=False, pilot=False, calibration=calibration, **options
    )
    return search.maximize(where, generator=torch.Generator().manual_seed(seed))


def error(found: SearchResult) -> float:
    """Between estimates and what the network says of the whole input there."""
    where = Landscape(MaxNetwork(), Rotations(), ClassScore(), repeated_clouds())
    return float((where.values(found.parameters.unsqueeze(0))[0] - found.values).abs().mean())


def test_it_learns_lines() -> None:
    calibration = Calibration(inputs=5, forget=0.05)
    errors = [error(searched(calibration, seed)) for seed in range(60)]
    raw = error(searched(Calibration(), 0, learning=False))
    assert raw > 1
    assert errors[-1] < 0.05 * raw


def test_poses_are_found_as_without_it() -> None:
    calibration = Calibration()
    for seed in range(5):
        found = searched(calibration, seed)
    plain = searched(Calibration(), 4, learning=False)
    assert torch.equal(found.parameters, plain.parameters)


def test_it_learns_in_training_mode_only() -> None:
    calibration = Calibration()
    search = CoarseToFine(RandomSearch(10), size=8, calibration=calibration)
    model = Canonicalized(Distorted(), Rotations(), search)
    model.eval()(repeated_clouds())
    assert calibration.moments is None
    model.train()(repeated_clouds())
    assert calibration.batches.tolist() == [1] * CLASSES


def test_a_line_never_falls() -> None:
    calibration = Calibration()
    x = torch.randn(100, 2, dtype=torch.float64)
    y = -x
    calibration.moments = torch.stack([x.mean(0), y.mean(0), (x * x).mean(0), (x * y).mean(0)])
    values = calibration(torch.linspace(-2, 2, 9, dtype=torch.float64).unsqueeze(1).expand(-1, 2))
    assert bool((values.diff(dim=0) > 0).all())


def test_a_class_without_spread_is_shifted() -> None:
    calibration = Calibration()
    x = torch.ones(4, 1)
    calibration.moments = torch.stack([x.mean(0), x.mean(0) + 2, (x * x).mean(0), (x * (x + 2)).mean(0)])
    torch.testing.assert_close(calibration(torch.tensor([[5.0]]))[0, 0].isfinite(), torch.tensor(True))
    torch.testing.assert_close(calibration(torch.tensor([[1.0]])), torch.tensor([[3.0]]))


def test_rounding_is_no_evidence() -> None:
    """Equal scores, whose spread is rounding only and may come out below zero."""
    calibration = Calibration()
    x = torch.full((2,), 1000.1)
    noise = torch.tensor([-0.06, 0.06])
    calibration.moments = torch.stack([x, x, x * x + noise, x * x + 1.0])
    values = calibration(torch.tensor([[1000.1, 1000.1], [1001.1, 1001.1]]))
    assert bool((values - 1000.1).abs().amax() < 11)


def test_it_is_saved_with_the_model_once() -> None:
    def build() -> Canonicalized:
        calibration = Calibration()
        training = CoarseToFine(RandomSearch(10), size=8, contenders=0, pilot=False, calibration=calibration)
        evaluation = CoarseToFine(RandomSearch(20), size=8, calibration=calibration)
        return Canonicalized(Distorted(), Rotations(), evaluation, training_search=training)

    model, other = build(), build()
    assert len(model.search_state) == 1
    for _ in range(3):
        Objective(model)(repeated_clouds(), torch.tensor([0, 1, 2, 3, 4])).loss.backward()
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    assert other.search_state[0].batches.tolist() == [3] * CLASSES
    assert torch.equal(other.search_state[0].moments, model.search_state[0].moments)
    torch.testing.assert_close(other.eval()(repeated_clouds()), model.eval()(repeated_clouds()))


@pytest.mark.parametrize("forget", [0.0, 1.5])
def test_settings_that_mean_nothing_are_refused(forget: float) -> None:
    with pytest.raises(InputError, match="needs forget in"):
        Calibration(forget=forget)


@pytest.mark.parametrize("score", [torch.inf, -torch.inf, 1e300])
def test_an_infinite_score_does_not_stay(score: float) -> None:
    class Unbounded(Distorted):
        def forward(self, x: Tensor) -> Tensor:
            scores = super().forward(x).clone()
            scores[:, 0] = score
            return scores

    calibration = Calibration(inputs=5, forget=0.05)
    where = Landscape(Unbounded(), Rotations(), ClassScore(), repeated_clouds())
    search = CoarseToFine(
        RandomSearch(10), size=8, contenders=0, low_precision=False, pilot=False, calibration=calibration
    )
    search.maximize(where, generator=torch.Generator().manual_seed(0))
    assert calibration.moments is not None
    assert bool(calibration.moments.isfinite().all())
    views = torch.zeros(2, CLASSES, dtype=torch.float64)
    assert torch.equal(calibration(views)[:, 0], views[:, 0])  # nothing is known of this class
    errors = [error(searched(calibration, seed)) for seed in range(60)]
    assert errors[-1] < 0.05 * error(searched(Calibration(), 0, learning=False))


def test_what_one_of_several_processes_has_learned_alone_is_not_used_in_silence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("adacanon.maximizers.calibration.in_several_processes", lambda: True)
    calibration = Calibration()
    searched(calibration, 0)
    calibration.eval()
    with pytest.warns(UserWarning, match="learned in one of several processes"):
        searched(calibration, 1, learning=False)
    searched(calibration.train(), 2)
    calibration.merge([calibration.learned()])
    searched(calibration.eval(), 3, learning=False)
