"""Model selection inside a run: the best point on validation data wins, test samples are never seen, runs resume."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from adacanon.errors import InputError
from adacanon.runs.nested import Selection, points, select_and_train
from adacanon.runs.run import Run, Settings
from adacanon.training.checkpoint import remove_checkpoint
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, TrainingControl

SPLIT = DataSplit(torch.arange(40), torch.arange(40, 60), torch.arange(0))
TEST = 60


def run_of(grid: dict[str, list[float]], *, split: int = 0) -> Run:
    settings = {"grid": grid, "seed": 0, "epochs": 6, "batch": 10, "patience": 3}
    return Run.of("nested", "linear", "points", split, settings)


class Samples:
    """Points of two classes that a line divides; remembers which of them were read."""

    def __init__(self) -> None:
        self.x = torch.randn(80, 2, generator=torch.Generator().manual_seed(0))
        self.labels = (self.x[:, 0] > 0).long()
        self.read: set[int] = set()
        self.built: list[tuple[Settings, int]] = []

    def inputs(self, index: Tensor) -> tuple[Tensor]:
        self.read |= set(index.tolist())
        return (self.x[index],)

    def build(self, options: Settings, seed: int) -> Learner:
        self.built.append((options, seed))
        return Learner(nn.Linear(2, 2), self.labels, self.inputs)


def selected(run: Run, samples: Samples, control: TrainingControl | None = None) -> Selection:
    return select_and_train(run, samples.build, SPLIT, control or TrainingControl())


GRID = {"learning_rate": [1e-9, 0.1], "weight_decay": [0.0, 1e-3]}


def test_the_point_of_best_validation_accuracy_is_trained_once_more() -> None:
    samples = Samples()
    found = selected(run_of(GRID), samples)
    ranks = [(h.selected["validation_accuracy"], -h.selected["validation_loss"]) for h in found.grid]
    assert len(ranks) == len(points(GRID)) == 4
    assert found.chosen == ranks.index(max(ranks))
    assert points(GRID)[found.chosen]["learning_rate"] == 0.1
    *tried, (final, seed) = samples.built
    assert [options["learning_rate"] for options, _ in tried] == [1e-9, 1e-9, 0.1, 0.1]
    assert final["learning_rate"] == 0.1
    assert seed not in [own for _, own in tried]
    assert len({own for _, own in samples.built}) == 5
    assert found.seconds == pytest.approx(found.history.seconds + sum(h.seconds for h in found.grid))


def test_test_samples_are_neither_read_nor_allowed() -> None:
    samples = Samples()
    selected(run_of(GRID), samples)
    assert samples.read == set(range(TEST))
    with pytest.raises(InputError, match="must not see a test part"):
        select_and_train(run_of(GRID), samples.build, replace(SPLIT, test=torch.arange(60, 80)), TrainingControl())
    with pytest.raises(InputError, match="needs a validation part"):
        select_and_train(run_of(GRID), samples.build, replace(SPLIT, validation=SPLIT.test), TrainingControl())


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("stop_after", [2, 8, 25])
def test_a_run_that_was_stopped_ends_as_if_nothing_had_happened(tmp_path: Path, stop_after: int) -> None:
    whole = selected(run_of(GRID), Samples())
    epochs = 0

    def on_epoch(epoch: int, loss: float) -> None:
        nonlocal epochs
        epochs += 1
        if epochs == stop_after:
            raise StoppedError

    checkpoint = tmp_path / "run.pt"
    with pytest.raises(StoppedError):
        selected(run_of(GRID), Samples(), TrainingControl(checkpoint, 0.0, on_epoch))
    calls = epochs
    again = selected(run_of(GRID), Samples(), TrainingControl(checkpoint, 0.0, on_epoch))
    total = whole.history.epoch + sum(h.epoch for h in whole.grid)
    assert epochs - calls == total - (stop_after - 1)  # what has a checkpoint is not done again
    assert again.chosen == whole.chosen
    for name, value in whole.learner.module.state_dict().items():
        assert torch.equal(value, again.learner.module.state_dict()[name])
    assert len(list(tmp_path.iterdir())) == 5
    remove_checkpoint(checkpoint)
    assert list(tmp_path.iterdir()) == []


def test_it_goes_to_the_end() -> None:
    with pytest.raises(InputError, match="until"):
        selected(run_of(GRID), Samples(), TrainingControl(until=3))
