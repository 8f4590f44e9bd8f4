"""The grid of losses, scores and temperatures: rows differ where they say so, and train."""

import math

import pytest
import torch
from torch import nn

from adacanon.core import Canonicalized, one_vs_rest
from adacanon.experiments.clouds.rotated_clouds import rotated_clouds
from adacanon.experiments.clouds.soft_clouds import effective_forms, soft_learner
from adacanon.experiments.clouds.temperature import ROWS, TEMPERATURE_GRID
from adacanon.points import PointNet
from adacanon.runs.run import number
from cases.small_clouds import small_modelnet


def test_rows_are_the_whole_grid_and_differ_in_nothing_else() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS) == 13
    common = {
        tuple(sorted((name, str(value)) for name, value in options.items() if name not in row.settings))
        for row in ROWS
        for options in [TEMPERATURE_GRID.settings(row, "accuracy", "cpu")]
    }
    assert len(common) == 1
    assert all(TEMPERATURE_GRID.settings(row, "accuracy", "cpu")["held_out"] == 10 for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_takes_a_step(row: object) -> None:
    data = rotated_clouds(small_modelnet(), seed=0)
    options = TEMPERATURE_GRID.settings(row, "accuracy", "cpu")
    learner = soft_learner(PointNet(data.classes), data, options)
    assert isinstance(learner.module, Canonicalized)
    assert isinstance(learner.module.network, nn.Sequential) == (options["scores"] == "log-probabilities")
    assert (learner.criterion is one_vs_rest) == (options["loss"] == "one-vs-rest")
    tau = number(options["temperature"])
    learner.module.train()
    learner.loss(torch.tensor([0, 1, 2])).backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in learner.module.network.parameters())
    forms = effective_forms(learner.module, data, batch=4)
    assert 1 <= forms <= 4 + 1e-4
    assert tau not in (0.0, math.inf) or forms == pytest.approx(1 if tau == 0 else 4)
