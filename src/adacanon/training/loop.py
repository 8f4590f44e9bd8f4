"""The training loop: one for every method, so that rows of a table differ in the method alone."""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler

from adacanon.checked_files import set_aside
from adacanon.training.checkpoint import ANEW, MISFIT, load_checkpoint, save_checkpoint
from adacanon.training.engine import Engine, Step, engine_of
from adacanon.training.hardware import Hardware
from adacanon.training.learner import Learner
from adacanon.training.ranking import class_accuracy
from adacanon.training.schedule import Schedule

OnEpoch = Callable[[int, float], None]


def silent(epoch: int, loss: float) -> None:
    """What an epoch calls if nobody looks."""


@dataclass(frozen=True)
class TrainingControl:
    """How a training is carried out. On the default hardware, nothing of it changes the result.

    Attributes:
        checkpoint: where its state goes now and then, if anywhere.
        checkpoint_every: seconds between two checkpoints.
        on_epoch: called with the number of epochs done and the loss.
        until: stop after this many epochs of the training, which a later call goes on with; None goes to the end.
        hardware: what it is computed on. Results differ by rounding between devices, by more in lower precision.

    Example:
        >>> TrainingControl(until=3).lasts(3)
        False
    """

    checkpoint: Path | None = None
    checkpoint_every: float = 10.0
    on_epoch: OnEpoch = silent
    until: int | None = None
    hardware: Hardware = field(default_factory=Hardware)

    @property
    def engine(self) -> Engine:
        """What computes the training."""
        return engine_of(self.hardware)

    def silenced(self) -> "TrainingControl":
        """The same for a process that shows nothing."""
        return replace(self, on_epoch=silent)

    def lasts(self, epoch: int) -> bool:
        """Whether it goes on after this number of epochs."""
        return self.until is None or epoch < self.until


@dataclass(frozen=True)
class DataSplit:
    """Indices of the training, validation and test samples.

    An empty validation part means that nothing is chosen. With an empty test part a training never looks at test
    samples: whoever needs their figure computes it afterwards, once.

    Example:
        >>> DataSplit(torch.arange(8), torch.arange(0), torch.arange(8, 10)).test
        tensor([8, 9])
    """

    train: Tensor
    validation: Tensor
    test: Tensor


@dataclass
class History:
    """What is known after some epochs.

    Attributes:
        epoch: epochs done.
        loss: mean training loss of the last epoch.
        selected: the epoch of best validation accuracy, ties broken by validation loss.
        smallest: the epoch of smallest validation loss.
        best_test: the largest test accuracy of any epoch; nothing is chosen by it, it is reported as what it is. Zero
            without a test part.
        weights: the parameters of the selected epoch.
        curve: the figures after every epoch, where there is a validation part.
        seconds: time spent, over all calls.

    Example:
        >>> history = History()
        >>> now = {"epoch": 1.0, "validation_accuracy": 80.0, "validation_loss": 0.5, "test_accuracy": 75.0}
        >>> history.observe(now, nn.Linear(2, 2))
        >>> history.selected["epoch"]
        1.0
    """

    epoch: int = 0
    loss: float = float("nan")
    selected: dict[str, float] = field(default_factory=dict)
    smallest: dict[str, float] = field(default_factory=dict)
    best_test: float = 0.0
    weights: dict[str, Tensor] = field(default_factory=dict)
    seconds: float = 0.0
    curve: list[dict[str, float]] = field(default_factory=list)

    def observe(self, now: dict[str, float], module: nn.Module) -> None:
        """Take in the validation and test figures after an epoch."""
        self.curve.append(now)
        rank = (now["validation_accuracy"], -now["validation_loss"])
        if not self.selected or rank > (self.selected["validation_accuracy"], -self.selected["validation_loss"]):
            self.selected = now
            self.weights = copy.deepcopy(module.state_dict())
        if not self.smallest or now["validation_loss"] < self.smallest["validation_loss"]:
            self.smallest = now
        self.best_test = max(self.best_test, now.get("test_accuracy", 0.0))

    def patient(self, schedule: Schedule) -> bool:
        """Whether another epoch is due."""
        waited = self.epoch - self.selected["epoch"] if self.selected and schedule.patience is not None else 0
        return self.epoch < schedule.epochs and (schedule.patience is None or waited < schedule.patience)


def train(
    learner: Learner,
    split: DataSplit,
    schedule: Schedule,
    *,
    generator: torch.Generator,
    control: TrainingControl | None = None,
) -> History:
    """Train, and leave the parameters of the selected epoch in the module (of the last one without a validation part).

    With a checkpoint the whole state is written there now and then. A later call with the same arguments goes on from
    it and, on one thread, ends with the same parameters as if nothing had happened. The file stays after the last
    epoch: whoever stores the outcome removes it then.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> x = torch.randn(60, 2)
        >>> learner = Learner(nn.Linear(2, 2), (x[:, 0] > 0).long(), lambda index: (x[index],))
        >>> split = random_split(60, seed=0)
        >>> history = train(learner, split, Schedule(20, 10, 0.1), generator=torch.Generator().manual_seed(0))
        >>> history.epoch, accuracy(learner, split.test, batch=10) > 60
        (20, True)
    """
    with learner.engine.placed(learner) as placed:
        return _trained(placed, split, schedule, generator, control or TrainingControl())


def _trained(
    learner: Learner, split: DataSplit, schedule: Schedule, generator: torch.Generator, control: TrainingControl
) -> History:
    engine, optimizer = learner.engine, schedule.optimizer(learner.module)
    state = _State(learner.module, optimizer, schedule.rates(optimizer), generator, engine)
    history = state.resumed(control.checkpoint)
    step = engine.steps(learner, optimizer)
    before, begin = history.seconds, time.perf_counter()
    saved = begin
    while history.patient(schedule) and control.lasts(history.epoch):
        history.loss = _epoch(learner, step, split.train, schedule.batch, generator)
        state.rates.step()
        history.epoch += 1
        if len(split.validation):
            history.observe(_figures(learner, split, schedule.batch, history.epoch), learner.module)
        control.on_epoch(history.epoch, history.loss)
        now = time.perf_counter()
        history.seconds = before + now - begin
        ends = not (history.patient(schedule) and control.lasts(history.epoch))
        due = now - saved >= control.checkpoint_every or ends
        if control.checkpoint is not None and due and engine.main:
            save_checkpoint(control.checkpoint, state.saved(history))
            saved = time.perf_counter()
    if history.weights:
        learner.module.load_state_dict(history.weights)
    return history


def evaluate(learner: Learner, index: Tensor, *, batch: int) -> tuple[float, float]:
    """Accuracy or the learner's own metric, in percent, and mean loss.

    Example:
        >>> x = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
        >>> learner = Learner(nn.Identity(), torch.tensor([0, 0]), lambda index: (x[index],))
        >>> evaluate(learner, torch.arange(2), batch=1)[0]
        50.0
    """
    with learner.engine.placed(learner) as placed:
        return _evaluated(placed, index, batch)


def _evaluated(learner: Learner, index: Tensor, batch: int) -> tuple[float, float]:
    """Of a learner that is placed. Figures of all scores are computed on the processor."""
    learner.module.eval()
    with torch.no_grad():
        scores = learner.engine.scores(learner, index.split(batch))
        targets = learner.labels[index].cpu()
        metric = learner.metric or class_accuracy
        return 100 * metric(scores, targets), float(learner.criterion(scores, targets))


def accuracy(learner: Learner, index: Tensor, *, batch: int) -> float:
    """Share of samples, in percent, whose largest score is that of their class; or the learner's own metric.

    Example:
        >>> x = torch.tensor([[9.0, 0.0], [0.0, 9.0]])
        >>> accuracy(Learner(nn.Identity(), torch.tensor([0, 1]), lambda index: (x[index],)), torch.arange(2), batch=1)
        100.0
    """
    return evaluate(learner, index, batch=batch)[0]


def stratified_folds(labels: Tensor, count: int, *, generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
    """Training and test indices of ``count``-fold cross-validation, with the classes in equal shares in every fold.

    Example:
        >>> labels = torch.tensor([0, 0, 0, 1, 1, 1])
        >>> folds = stratified_folds(labels, 3, generator=torch.Generator().manual_seed(0))
        >>> [labels[test].tolist() for _, test in folds]
        [[0, 1], [0, 1], [0, 1]]
    """
    order = torch.randperm(len(labels), generator=generator)
    by_class = order[labels[order].argsort(stable=True)]
    parts = [by_class[i::count] for i in range(count)]
    return [(torch.cat([p for j, p in enumerate(parts) if j != i]), part) for i, part in enumerate(parts)]


def random_split(samples: int, *, seed: int, held_out: float = 0.1) -> DataSplit:
    """A random division into training, validation and test part, the last two of equal size.

    Example:
        >>> split = random_split(50, seed=0)
        >>> len(split.train), len(split.validation), len(split.test)
        (40, 5, 5)
    """
    order = torch.randperm(samples, generator=torch.Generator().manual_seed(seed))
    size = max(1, round(held_out * samples))
    return DataSplit(order[2 * size :], order[size : 2 * size], order[:size])


def training_epoch(
    learner: Learner, optimizer: torch.optim.Optimizer, index: Tensor, batch: int, generator: torch.Generator
) -> float:
    """One pass over shuffled batches; returns their mean loss."""
    return _epoch(learner, learner.engine.steps(learner, optimizer), index, batch, generator)


def _epoch(learner: Learner, step: Step, index: Tensor, batch: int, generator: torch.Generator) -> float:
    learner.module.train()
    learner.engine.begin_epoch(generator)
    losses = [step(rows) for rows in index[torch.randperm(len(index), generator=generator)].split(batch)]
    learner.engine.end_epoch(learner.module)
    return learner.engine.mean(torch.stack(losses))


def _figures(learner: Learner, split: DataSplit, batch: int, epoch: int) -> dict[str, float]:
    validation_accuracy, validation_loss = _evaluated(learner, split.validation, batch)
    figures = {
        "epoch": float(epoch),
        "validation_accuracy": validation_accuracy,
        "validation_loss": validation_loss,
    }
    if len(split.test):
        figures["test_accuracy"] = _evaluated(learner, split.test, batch)[0]
    return figures


@dataclass(frozen=True)
class _State:
    """Everything that changes while a training goes on."""

    module: nn.Module
    optimizer: torch.optim.Optimizer
    rates: LRScheduler
    generator: torch.Generator
    engine: Engine

    def saved(self, history: History) -> dict[str, Any]:
        state = {
            "module": self.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "rates": self.rates.state_dict(),
            "generator": self.generator.get_state(),
            "torch": torch.get_rng_state(),
            "history": vars(history),
        }
        engine = self.engine.state()
        return {**state, "engine": engine} if engine else state

    def resumed(self, checkpoint: Path | None) -> History:
        """What a checkpoint knows, after which the training goes on from it; nothing if there is none that fits."""
        state = None if checkpoint is None or not self.engine.main else load_checkpoint(checkpoint)
        state = self.engine.shared(state)
        self.engine.resume((state or {}).get("engine", {}))
        if state is None:
            return History()
        assert checkpoint is not None
        before = copy.deepcopy(self.saved(History()))
        try:
            return self._given(state)
        except MISFIT as error:
            self._given(before)
            if self.engine.main:
                set_aside(checkpoint, f"it is of another network or program: {error}", then=ANEW)
            return History()

    def _given(self, state: dict[str, Any]) -> History:
        """Go on from a state."""
        if _shapes(state["module"]) != _shapes(self.module.state_dict()):
            raise ValueError("the parameters have other names or shapes")
        if _options(state["optimizer"]) != _options(self.optimizer.state_dict()):
            raise ValueError("the optimizer has other options")
        self.module.load_state_dict(state["module"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.rates.load_state_dict(state["rates"])
        self.generator.set_state(state["generator"])
        torch.set_rng_state(state["torch"])
        return History(**state["history"])


def _options(optimizer: dict[str, Any]) -> list[set[str]]:
    """The names of the options of every group of parameters."""
    return [set(group) for group in optimizer["param_groups"]]


def _shapes(weights: dict[str, Any]) -> dict[str, torch.Size | None]:
    """By name; what a module keeps beside its tensors has none."""
    return {name: value.shape if isinstance(value, Tensor) else None for name, value in weights.items()}
