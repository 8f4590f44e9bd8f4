"""Fast against exact settings of A-NLSF: paired halves, rows that differ where they should."""

import math

import pytest
import torch

from adacanon.experiments import tu
from adacanon.experiments.fast_graphs import FAST_GRAPHS, METHOD, ROWS, execute, halves, settings
from adacanon.experiments.run import Run
from adacanon.training.loop import Sitting


def test_the_halves_are_disjoint_and_belong_to_the_seed() -> None:
    parts = halves(9, seed=1)
    assert sorted(torch.cat([parts.train, parts.test]).tolist()) == list(range(9))
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (5, 0, 4)
    assert torch.equal(halves(9, seed=1).test, parts.test)
    assert not torch.equal(halves(9, seed=2).train, parts.train)


def test_the_fast_row_has_the_settings_of_tu_and_the_exact_one_a_stronger_search() -> None:
    exact, fast = (settings(row, "ENZYMES", "cpu") for row in ROWS)
    table = tu.settings(METHOD, "ENZYMES", "cpu")
    assert {name for name in exact if exact[name] != fast[name]} == {"redraw", "steps"}
    assert {name for name in fast if fast[name] != table[name]} == {"epochs"}


@pytest.mark.data
@pytest.mark.parametrize("row", ROWS)
def test_a_row_trains_and_is_reproducible(row: str) -> None:
    run = Run.of(FAST_GRAPHS.name, row, "MUTAG", 0, {**settings(row, "MUTAG", "cpu"), "epochs": 2})
    first, again = (execute(run, Sitting()) for _ in range(2))
    assert 0 <= first["accuracy"] <= 100
    assert math.isfinite(first["train_loss"])
    assert {**first, "seconds": 0} == {**again, "seconds": 0}
