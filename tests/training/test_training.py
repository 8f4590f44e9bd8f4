"""The training loop: which epoch is selected, and that an interruption leaves no trace."""

import dataclasses
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacanon.errors import InputError
from adacanon.experiments.graphs.tu import TU, trained
from adacanon.experiments.toy.orientation import TOY, build, task_of
from adacanon.runs.run import Run
from adacanon.training.checkpoint import load_checkpoint, remove_checkpoint, save_checkpoint
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, History, TrainingControl, random_split, stratified_folds, train
from adacanon.training.schedule import Schedule
from cases.full_disk import files_limited_to


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class TestParts:
    def test_folds_are_a_partition_with_equal_classes(self) -> None:
        labels = torch.arange(60) % 2
        folds = stratified_folds(labels, 5, generator=stream())
        assert sorted(torch.cat([test for _, test in folds]).tolist()) == list(range(60))
        for train_index, test in folds:
            assert not set(train_index.tolist()) & set(test.tolist())
            assert labels[test].double().mean() == 0.5

    def test_random_parts_are_a_partition_that_follows_from_the_seed(self) -> None:
        parts = random_split(103, seed=3)
        assert (len(parts.train), len(parts.validation), len(parts.test)) == (83, 10, 10)
        assert sorted(torch.cat([parts.train, parts.validation, parts.test]).tolist()) == list(range(103))
        assert torch.equal(parts.test, random_split(103, seed=3).test)
        assert not torch.equal(parts.test, random_split(103, seed=4).test)


Script = list[tuple[int, float]]
"""Percent of hits and loss after every epoch."""


class Scripted(nn.Module):
    """Its validation and test figures are given: samples 100.. are validated, samples 200.. tested.

    Counts the epochs in its state, beside a parameter that Adam moves.
    """

    epoch: Tensor

    def __init__(self, validation: Script, test: list[int]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.register_buffer("epoch", torch.tensor(0))
        self.validation, self.test = validation, test

    def forward(self, index: Tensor) -> Tensor:
        """The third column carries the loss."""
        if self.training:
            self.epoch += 1
            return self.weight.expand(len(index), 3)
        now = int(self.epoch) - 1
        hits, loss = (self.test[now], 0.0) if int(index[0]) >= 200 else self.validation[now]
        right = (torch.arange(len(index)) < hits).float()
        return torch.stack([right, 1 - right, torch.full_like(right, -loss)], dim=1)


def scripted(validation: Script, test: list[int]) -> Learner:
    module, labels = Scripted(validation, test), torch.zeros(300, dtype=torch.int64)
    return Learner(module, labels, lambda index: (index,), lambda scores, targets: -scores[:, 2].mean())


EVERYTHING = DataSplit(torch.arange(100), torch.arange(100, 200), torch.arange(200, 300))


def follow(
    validation: Script, test: list[int] | None = None, *, patience: int | None = None
) -> tuple[Learner, History]:
    learner = scripted(validation, test or [50] * len(validation))
    schedule = Schedule(epochs=len(validation), batch=100, learning_rate=0.1, patience=patience)
    return learner, train(learner, EVERYTHING, schedule, generator=stream())


class TestSelectedEpoch:
    @pytest.mark.parametrize(
        ("script", "selected"),
        [
            ([(60, 1.0), (80, 2.0), (70, 0.5)], 2),
            ([(80, 1.0), (80, 0.9), (80, 0.95)], 2),
            ([(80, 1.0), (80, 1.0), (80, 1.0)], 1),
            ([(10, 1.0), (20, 2.0), (30, 3.0)], 3),
            ([(0, 1.0), (0, 2.0)], 1),
        ],
        ids=["accuracy counts", "ties go to the smaller loss", "full ties go to the first", "late", "no hit at all"],
    )
    def test_it_has_the_best_validation_accuracy_and_its_weights_are_restored(
        self, script: Script, selected: int
    ) -> None:
        learner, history = follow(script)
        assert history.selected["epoch"] == selected
        assert history.selected["validation_accuracy"] == script[selected - 1][0]
        assert history.selected["validation_loss"] == pytest.approx(script[selected - 1][1])
        assert int(learner.module.epoch) == selected
        alone, _ = follow(script[:selected])
        assert torch.equal(learner.module.weight, alone.module.weight)
        assert history.epoch == len(script)

    def test_the_epoch_of_smallest_loss_is_reported_beside_it(self) -> None:
        _, history = follow([(60, 1.0), (80, 2.0), (70, 0.5)], [10, 20, 30])
        assert (history.smallest["epoch"], history.smallest["test_accuracy"]) == (3, 30)
        assert (history.selected["epoch"], history.selected["test_accuracy"]) == (2, 20)

    def test_nothing_is_chosen_by_test_accuracy(self) -> None:
        script: Script = [(60, 1.0), (80, 2.0), (80, 3.0), (70, 0.5)]
        outcomes = [follow(script, test) for test in ([0, 0, 100, 50], [100, 90, 0, 0], [7, 7, 7, 7])]
        assert [history.best_test for _, history in outcomes] == pytest.approx([100, 100, 7])
        assert {history.selected["epoch"] for _, history in outcomes} == {2}
        assert {history.smallest["epoch"] for _, history in outcomes} == {4}
        assert len({float(learner.module.weight.detach()) for learner, _ in outcomes}) == 1

    @pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 4), (3, 8), (None, 9)])
    def test_training_stops_after_so_many_epochs_without_a_better_one(self, patience: int | None, epochs: int) -> None:
        """Better ones are epochs 1, 2 and, by its loss alone, 5."""
        script: Script = [(50, 1.0), (80, 1.0), (70, 0.1), (80, 1.0), (80, 0.9), (60, 0.1), (80, 0.9), (40, 0.1)]
        _, history = follow([*script, (80, 1.5)], patience=patience)
        assert history.epoch == epochs

    def test_without_a_validation_part_the_last_epoch_stays(self) -> None:
        learner = scripted([], [])
        nothing = torch.arange(0)
        schedule = Schedule(epochs=4, batch=100, learning_rate=0.1, patience=1)
        history = train(learner, DataSplit(EVERYTHING.train, nothing, nothing), schedule, generator=stream())
        assert (int(learner.module.epoch), history.epoch, history.selected) == (4, 4, {})


class InterruptError(Exception):
    """What stops a training in these tests."""


def interrupt_after(last: int) -> Callable[[int, float], None]:
    def stop(epoch: int, loss: float) -> None:
        if epoch == last:
            raise InterruptError

    return stop


def dropout_network() -> Learner:
    """Dropout draws from torch's own generator, BatchNorm has statistics beside its parameters."""
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 2))
    x = torch.randn(60, 6)
    return Learner(module, (x[:, 0] > 0).long(), looked_up(x))


def drawing_network() -> Learner:
    """A-NLSF draws its candidates from a stream of its own."""
    torch.manual_seed(1)
    tiny = {"samples": 60, "size": 8, "period": 4, "hidden": 8, "rows": 2, "draws": 4, "steps": 1}
    run = Run.of("toy", "A-NLSF", "accuracy", 0, TOY.settings_of("A-NLSF", "accuracy", "demo") | tiny)
    return build(TOY.row("A-NLSF"), task_of(run), run.options(), train=torch.arange(40), seed=1)


EPOCHS = 5


def whole_call(make: Callable[[], Learner], checkpoint: Path | None, **options: Any) -> dict[str, Any]:
    """What a process does from beginning to end, and everything that it leaves behind but the time."""
    learner, generator = make(), stream(7)
    parts = DataSplit(torch.arange(40), torch.arange(40, 50), torch.arange(50, 60))
    schedule = Schedule(EPOCHS, 16, learning_rate=1e-2, weight_decay=1e-3, patience=EPOCHS)
    history = train(learner, parts, schedule, generator=generator, control=TrainingControl(checkpoint, 0.0, **options))
    return {
        "module": learner.module.state_dict(),
        "history": dataclasses.asdict(history) | {"seconds": None},
        "generator": generator.get_state(),
        "torch": torch.get_rng_state(),
    }


def assert_identical(a: Any, b: Any) -> None:
    """Bit by bit, through dictionaries."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for name in a:
            assert_identical(a[name], b[name])
    elif isinstance(a, Tensor):
        assert torch.equal(a, b)
    else:
        assert a == b


MAKERS = [dropout_network, drawing_network]


class TestResuming:
    @pytest.mark.parametrize("last", range(1, EPOCHS + 1))
    @pytest.mark.parametrize("make", MAKERS)
    def test_an_interruption_after_any_epoch_leaves_no_trace(
        self, make: Callable[[], Learner], last: int, tmp_path: Path
    ) -> None:
        checkpoint = tmp_path / "run.pt"
        with pytest.raises(InterruptError):
            whole_call(make, checkpoint, on_epoch=interrupt_after(last))
        assert checkpoint.exists() == (last > 1)
        assert_identical(whole_call(make, checkpoint), whole_call(make, None))

    def test_neither_do_interruptions_after_every_epoch(self, tmp_path: Path) -> None:
        for last in range(1, EPOCHS + 1):
            with pytest.raises(InterruptError):
                whole_call(dropout_network, tmp_path / "run.pt", on_epoch=interrupt_after(last))
        assert_identical(whole_call(dropout_network, tmp_path / "run.pt"), whole_call(dropout_network, None))

    def test_neither_does_a_training_in_several_calls(self, tmp_path: Path) -> None:
        whole = whole_call(dropout_network, None)
        for until in (1, 3):
            part = whole_call(dropout_network, tmp_path / "run.pt", until=until)
            assert part["history"]["epoch"] == until
        assert_identical(whole_call(dropout_network, tmp_path / "run.pt"), whole)

    def test_a_call_that_ends_before_the_first_epoch_trains_nothing(self, tmp_path: Path) -> None:
        assert whole_call(dropout_network, tmp_path / "run.pt", until=0)["history"]["epoch"] == 0
        assert not (tmp_path / "run.pt").exists()

    def test_the_comparison_sees_a_lost_random_state(self, tmp_path: Path) -> None:
        """A checkpoint without the state of torch's generator would not have gone unnoticed."""
        checkpoint = tmp_path / "run.pt"
        with pytest.raises(InterruptError):
            whole_call(dropout_network, checkpoint, on_epoch=interrupt_after(4))
        state = load_checkpoint(checkpoint)
        assert state is not None
        save_checkpoint(checkpoint, state | {"torch": stream(99).get_state()})
        resumed, whole = whole_call(dropout_network, checkpoint), whole_call(dropout_network, None)
        assert resumed["history"]["loss"] != whole["history"]["loss"]

    def test_a_finished_training_is_not_trained_again(self, tmp_path: Path) -> None:
        first = whole_call(dropout_network, tmp_path / "run.pt")
        refuse = interrupt_after(EPOCHS)
        assert_identical(whole_call(dropout_network, tmp_path / "run.pt", on_epoch=refuse), first)

    def test_time_adds_up_over_calls(self, tmp_path: Path) -> None:
        checkpoint = tmp_path / "run.pt"
        with pytest.raises(InterruptError):
            whole_call(dropout_network, checkpoint, on_epoch=interrupt_after(3))
        state = load_checkpoint(checkpoint)
        assert state is not None
        state["history"]["seconds"] = 1000.0
        save_checkpoint(checkpoint, state)
        whole_call(dropout_network, checkpoint)
        final = load_checkpoint(checkpoint)
        assert final is not None
        assert 1000 < final["history"]["seconds"] < 1100

    @pytest.mark.data
    @pytest.mark.parametrize("row", ["A-NLSF", "FA+GIN"])
    def test_on_real_graphs_too(self, row: str, tmp_path: Path) -> None:
        options = TU.settings_of(row, "MUTAG") | {"epochs": 3, "hidden": 16, "learning_rate": 1e-2}
        run = Run.of("tu", row, "MUTAG", 0, options)
        whole, expected = trained(run, TrainingControl())
        with pytest.raises(InterruptError):
            trained(run, TrainingControl(tmp_path / "run.pt", 0.0, interrupt_after(3)))
        torch.randn(5)
        resumed, history = trained(run, TrainingControl(tmp_path / "run.pt", 0.0))
        assert_identical(resumed.module.state_dict(), whole.module.state_dict())
        assert_identical(dataclasses.asdict(history) | {"seconds": 0}, dataclasses.asdict(expected) | {"seconds": 0})


class TestCheckpoints:
    @pytest.mark.parametrize("damage", [b"", b"nonsense", None], ids=["empty", "nonsense", "cut off"])
    def test_one_that_cannot_be_read_costs_the_time_and_nothing_else(
        self, damage: bytes | None, tmp_path: Path
    ) -> None:
        checkpoint = tmp_path / "run.pt"
        with pytest.raises(InterruptError):
            whole_call(dropout_network, checkpoint, on_epoch=interrupt_after(3))
        checkpoint.write_bytes(checkpoint.read_bytes()[:2000] if damage is None else damage)
        with pytest.warns(UserWarning, match="cannot be used.*now run.pt.broken; the training starts anew"):
            resumed = whole_call(dropout_network, checkpoint)
        assert_identical(resumed, whole_call(dropout_network, None))

    def test_so_does_one_of_another_network(self, tmp_path: Path) -> None:
        checkpoint = tmp_path / "run.pt"
        whole_call(drawing_network, checkpoint)
        with pytest.warns(UserWarning, match="another network.*starts anew"):
            resumed = whole_call(dropout_network, checkpoint)
        assert_identical(resumed, whole_call(dropout_network, None))

    @pytest.mark.parametrize("part", ["optimizer", "rates", "generator", "history"])
    def test_so_does_one_of_another_program_and_it_is_set_aside(self, part: str, tmp_path: Path) -> None:
        """It was an error at every start, for ever; and half of it had been loaded when the error came."""
        checkpoint = tmp_path / "run.pt"
        with pytest.raises(InterruptError):
            whole_call(dropout_network, checkpoint, on_epoch=interrupt_after(3))
        state = load_checkpoint(checkpoint)
        assert state is not None
        del state[part]
        if part == "optimizer":
            state[part] = torch.optim.SGD(dropout_network().module.parameters(), lr=0.1).state_dict()
        if part == "history":
            state[part] = {"years": 7}
        save_checkpoint(checkpoint, state)
        with pytest.warns(UserWarning, match="another network or program.*now run.pt.broken; the training starts anew"):
            resumed = whole_call(dropout_network, checkpoint)
        assert_identical(resumed, whole_call(dropout_network, None))

    def test_a_full_disk_costs_the_checkpoint_and_not_the_training(self, tmp_path: Path) -> None:
        with files_limited_to(1000), pytest.warns(UserWarning, match="could not be written.*the training goes on"):
            trained_anyway = whole_call(dropout_network, tmp_path / "run.pt")
        assert list(tmp_path.iterdir()) == []
        assert_identical(trained_anyway, whole_call(dropout_network, None))

    def test_a_disk_that_fills_up_leaves_the_checkpoint_before(self, tmp_path: Path) -> None:
        save_checkpoint(tmp_path / "run.pt", {"x": torch.arange(3)})
        with files_limited_to(2000), pytest.warns(UserWarning, match="File too large"):
            save_checkpoint(tmp_path / "run.pt", {"x": torch.zeros(10_000)})
        assert [file.name for file in tmp_path.iterdir()] == ["run.pt"]
        state = load_checkpoint(tmp_path / "run.pt")
        assert state is not None
        assert state["x"].tolist() == [0, 1, 2]

    def test_removing_one_takes_what_a_killed_writer_left(self, tmp_path: Path) -> None:
        for name in ("run.pt", "run.pt.123.part", "other.pt", "other.pt.123.part"):
            (tmp_path / name).touch()
        remove_checkpoint(tmp_path / "run.pt")
        remove_checkpoint(tmp_path / "absent.pt")
        assert sorted(file.name for file in tmp_path.iterdir()) == ["other.pt", "other.pt.123.part"]


def closed_formula(schedule: Schedule, epoch: int) -> float:
    """The learning rate after some epochs, by its formula."""
    if schedule.cosine:
        share = (1 + math.cos(math.pi * epoch / schedule.epochs)) / 2
        return schedule.last_rate + (schedule.learning_rate - schedule.last_rate) * share
    return schedule.learning_rate * 0.5 ** (epoch // schedule.halved_every if schedule.halved_every else 0)


def rates_of(schedule: Schedule, epochs: int) -> list[float]:
    """Before every epoch of a training."""
    optimizer = schedule.optimizer(nn.Linear(2, 1))
    rates, found = schedule.rates(optimizer), []
    for _ in range(epochs):
        found.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        rates.step()
    return found


class TestRates:
    @pytest.mark.parametrize("decay", [0.0, 0.1])
    def test_a_fused_step_of_adam_is_the_same_up_to_rounding(self, decay: float) -> None:
        trained = []
        for fused in (False, True):
            torch.manual_seed(0)
            network = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2)).double()
            optimizer = Schedule(1, 8, 0.01, weight_decay=decay, fused=fused).optimizer(network)
            for _ in range(20):
                optimizer.zero_grad()
                network(torch.randn(8, 5, dtype=torch.float64)).square().mean().backward()
                optimizer.step()
            trained.append(torch.cat([parameter.detach().flatten() for parameter in network.parameters()]))
        torch.testing.assert_close(trained[1], trained[0], rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize(
        "schedule",
        [
            Schedule(250, 32, 0.1, cosine=True, last_rate=1e-3, momentum=0.9),
            Schedule(12, 32, 1e-3, cosine=True),
            Schedule(30, 128, 3e-3, cosine=True),
            Schedule(250, 32, 1e-3, halved_every=20),
            Schedule(200, 128, 1e-2),
        ],
        ids=["to a last rate", "to zero", "longer", "halved", "constant"],
    )
    def test_rates_are_those_of_the_formula(self, schedule: Schedule) -> None:
        expected = [closed_formula(schedule, epoch) for epoch in range(schedule.epochs)]
        assert rates_of(schedule, schedule.epochs) == pytest.approx(expected, rel=1e-12, abs=1e-15)

    def test_a_cosine_falls_from_the_first_rate_to_the_last(self) -> None:
        rates = rates_of(Schedule(10, 8, 0.1, cosine=True, last_rate=0.001), 11)
        assert rates[0] == 0.1
        assert rates[5] == pytest.approx(0.0505)
        assert rates[10] == pytest.approx(0.001)
        assert all(a > b for a, b in pairwise(rates))

    def test_a_rate_is_halved_again_and_again(self) -> None:
        rates = rates_of(Schedule(100, 8, 0.8, halved_every=20), 61)
        assert [rates[epoch] for epoch in (0, 19, 20, 59, 60)] == [0.8, 0.8, 0.4, 0.2, 0.1]

    def test_a_resumed_training_has_the_rates_of_one_that_was_not_interrupted(self, tmp_path: Path) -> None:
        schedule, parts = (
            Schedule(5, 8, 0.1, cosine=True),
            DataSplit(torch.arange(40), torch.arange(0), torch.arange(0)),
        )
        whole, interrupted = dropout_network(), dropout_network()
        torch.manual_seed(2)
        train(whole, parts, schedule, generator=stream())
        torch.manual_seed(2)
        control = TrainingControl(tmp_path / "run.pt", 0.0, until=3)
        generator = stream()
        train(interrupted, parts, schedule, generator=generator, control=control)
        resumed = dropout_network()
        train(resumed, parts, schedule, generator=stream(9), control=TrainingControl(tmp_path / "run.pt"))
        assert_identical(resumed.module.state_dict(), whole.module.state_dict())

    def test_two_ways_to_lower_the_rate_are_refused(self) -> None:
        with pytest.raises(InputError, match=r"cosine=True and halved_every=3.*Hint: leave one"):
            Schedule(9, 1, 0.1, cosine=True, halved_every=3)

    def test_a_schedule_takes_from_the_settings_what_it_knows(self) -> None:
        settings = {"epochs": 3, "batch": 8, "learning_rate": 0.1, "hidden": 128, "patience": 7}
        assert Schedule.of(settings, cosine=True) == Schedule(3, 8, 0.1, patience=7, cosine=True)
        assert Schedule.of(settings, epochs=9).epochs == 9

    def test_momentum_means_gradient_descent(self) -> None:
        module = torch.nn.Linear(2, 1)
        descent = Schedule(1, 1, 0.1, weight_decay=0.01, momentum=0.9).optimizer(module)
        assert isinstance(descent, torch.optim.SGD)
        assert {name: descent.defaults[name] for name in ("lr", "momentum", "weight_decay")} == {
            "lr": 0.1,
            "momentum": 0.9,
            "weight_decay": 0.01,
        }
        assert isinstance(Schedule(1, 1, 0.1).optimizer(module), torch.optim.Adam)
