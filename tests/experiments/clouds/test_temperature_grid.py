"""The grid of losses, scores and temperatures: rows differ where they say so, and train."""

import math

import pytest
import torch
from torch import nn

from adacanon.core import Canonicalized, one_vs_rest
from adacanon.experiments.clouds import temperature
from adacanon.experiments.clouds.rotated_clouds import rotated_clouds
from adacanon.experiments.clouds.temperature import INFINITE, ROWS, TEMPERATURE_GRID, build, temperature_of
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
    learner = build(data, options, seed=0)
    assert isinstance(learner.module, Canonicalized)
    assert isinstance(learner.module.network, nn.Sequential) == (options["scores"] == "log-probabilities")
    assert (learner.criterion is one_vs_rest) == (options["loss"] == "one-vs-rest")
    tau = temperature_of(options)
    assert tau == (math.inf if options["temperature"] == INFINITE else options["temperature"])
    learner.module.train()
    learner.loss(torch.tensor([0, 1, 2])).backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in learner.module.network.parameters())
    number = temperature.effective_forms(learner.module, data, batch=4)
    assert 1 <= number <= 4 + 1e-4
    assert tau not in (0.0, math.inf) or number == pytest.approx(1 if tau == 0 else 4)
