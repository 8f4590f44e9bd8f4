"""Fast against exact settings of A-NLSF: paired halves, rows that differ where they should."""

import json
import math
from pathlib import Path

import pytest
import torch

from adacanon.experiments.graphs import tu
from adacanon.experiments.graphs.fast_graphs import FAST_GRAPHS, METHOD, execute, halves
from adacanon.runs.run import Run, Settings
from adacanon.training.loop import TrainingControl


def test_the_halves_are_disjoint_and_belong_to_the_seed() -> None:
    parts = halves(9, seed=1)
    assert sorted(torch.cat([parts.train, parts.test]).tolist()) == list(range(9))
    assert (len(parts.train), len(parts.validation), len(parts.test)) == (5, 0, 4)
    assert torch.equal(halves(9, seed=1).test, parts.test)
    assert not torch.equal(halves(9, seed=2).train, parts.train)


def differing(one: Settings, other: Settings) -> set[str]:
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def test_rows_differ_in_the_search_alone() -> None:
    of = {row: FAST_GRAPHS.settings_of(row, "ENZYMES") for row in FAST_GRAPHS.row_names}
    short, fast = of["A-NLSF (one short step)"], of["A-NLSF (fast; full precision)"]
    assert differing(fast, of["A-NLSF (fast)"]) == {"low_precision"}
    assert differing(of["A-NLSF (exact)"], short) == {"resample_every", "steps"}
    assert differing(of["A-NLSF (exact; long steps)"], fast) == {"resample_every", "steps"}
    assert differing(short, fast) == {"step_size"}
    assert differing(tu.TU.settings_of(METHOD, "ENZYMES"), of["A-NLSF (fast)"]) == {"epochs", "patience"}


@pytest.mark.data
@pytest.mark.parametrize("row", FAST_GRAPHS.row_names)
def test_a_row_trains_and_is_reproducible(row: str) -> None:
    run = Run.of(FAST_GRAPHS.name, row, "MUTAG", 0, {**FAST_GRAPHS.settings_of(row, "MUTAG"), "epochs": 2})
    first, again = (execute(run, TrainingControl()) for _ in range(2))
    assert 0 <= first["accuracy"] <= 100
    assert math.isfinite(first["train_loss"])
    assert {**first, "seconds": 0} == {**again, "seconds": 0}


class TestPairedDifferences:
    def test_the_bound_is_that_of_student(self) -> None:
        from benchmarks.graphs.fast_accuracy import lower_bound

        assert lower_bound([0.0, 1.0, 2.0]) == pytest.approx(1 - 2.91999 / math.sqrt(3), abs=1e-4)
        assert lower_bound([1.0]) == -math.inf

    def test_pairs_are_splits_that_both_rows_have(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from benchmarks.graphs import fast_accuracy

        monkeypatch.setattr(fast_accuracy, "RESULTS", tmp_path)
        one, other = "A-NLSF (fast)", "A-NLSF (exact)"
        for run in FAST_GRAPHS.runs(rows=(one, other), columns=("MUTAG",), splits=3):
            if (run.row, run.split) != (other, 1):
                record = {**vars(run), "key": run.key, "settings": run.options(), "metrics": {}}
                record["metrics"] = {"accuracy": 80 + 10 * run.split + (run.row == one)}
                with (tmp_path / "fast-graphs.jsonl").open("a") as file:
                    file.write(json.dumps(record) + "\n")
        assert fast_accuracy.differences(FAST_GRAPHS, "MUTAG", one, other) == [1, 1]
