"""Fast against exact settings: the rows train, differ where they should, and resume."""

import math

import pytest
import torch

from adacanon import Canonicalized, Objective
from adacanon.data.modelnet import Clouds, ModelNet
from adacanon.experiments.clouds import fast_clouds
from adacanon.experiments.clouds.fast_clouds import FAST_CLOUDS, build, execute
from adacanon.experiments.clouds.rotated_clouds import randomly_rotated, rotated_clouds
from adacanon.maximizers import CoarseToFine, RandomSearch
from adacanon.runs.run import Run
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl

POINTS = 16


def toys(samples: int, seed: int) -> Clouds:
    """Rods and discs."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(samples) % 2
    scales = torch.tensor([[1.0, 0.1, 0.1], [0.7, 0.7, 0.1]])[labels]
    points = torch.randn(samples, POINTS, 3, generator=generator) * scales[:, None]
    return Clouds(points / points.norm(dim=2).amax(1)[:, None, None], labels, tuple(map(str, range(samples))))


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> ModelNet:
    data = ModelNet(toys(24, 0), toys(12, 1), ("rod", "disc"))
    monkeypatch.setattr(fast_clouds, "modelnet", lambda classes, points: data)
    return data


def run_of(row: str, epochs: int = 2) -> Run:
    options = {**FAST_CLOUDS.settings_of(row, "ModelNet10"), "epochs": epochs, "batch": 8, "points": POINTS}
    options |= {name: value for name, value in {"size": 8, "draws": 5}.items() if name in options}
    return Run.of(FAST_CLOUDS.name, row, "ModelNet10", 0, options)


def learner_of(row: str, data: ModelNet) -> Learner:
    return build(FAST_CLOUDS.row(row), rotated_clouds(data, seed=0), run_of(row).options(), seed=0)


@pytest.mark.parametrize("row", FAST_CLOUDS.row_names)
def test_a_row_trains_and_is_reproducible(row: str) -> None:
    metrics = execute(run_of(row), TrainingControl())
    assert 0 <= metrics["accuracy"] <= 100
    assert math.isfinite(metrics["train_loss"])
    assert ("accuracy_full_search" in metrics) == (row != "PointNet")
    again = execute(run_of(row), TrainingControl())
    assert {k: v for k, v in again.items() if "seconds" not in k} == {
        k: v for k, v in metrics.items() if "seconds" not in k
    }


def test_the_rows_search_as_their_names_say(small_data: ModelNet) -> None:
    exact, fast = (learner_of(f"AC-PointNet ({name})", small_data) for name in ("exact", "fast"))
    assert isinstance(exact.module, Canonicalized)
    assert isinstance(fast.module, Canonicalized)
    assert isinstance(exact.module.search, RandomSearch)
    assert exact.module.training_search is None
    assert isinstance(fast.module.training_search, CoarseToFine)
    assert fast.module.training_search.contenders == 0
    assert isinstance(exact.objective, Objective)
    assert isinstance(fast.objective, Objective)
    assert (exact.objective.forms, fast.objective.forms) == (None, 2.0)


def test_rows_of_one_seed_share_initialisation_and_test_poses(small_data: ModelNet) -> None:
    first, second = rotated_clouds(small_data, seed=3), rotated_clouds(small_data, seed=3)
    assert torch.equal(first.points, second.points)
    assert torch.equal(first.points[:24], small_data.train.points)
    assert not torch.equal(first.points[24:], small_data.test.points)
    torch.testing.assert_close(first.points[24:].norm(dim=2), small_data.test.points.norm(dim=2))
    assert not torch.equal(rotated_clouds(small_data, seed=4).points, first.points)


def test_every_training_pose_is_new() -> None:
    points = toys(5, 2).points
    assert not torch.equal(randomly_rotated(points), randomly_rotated(points))
