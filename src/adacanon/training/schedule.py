"""How a training goes: optimizer, learning rates, epochs and batches."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import ConstantLR, CosineAnnealingLR, LRScheduler, StepLR

from adacanon.arguments import set_flags, set_real_numbers, set_whole_numbers
from adacanon.errors import InputError


@dataclass(frozen=True)
class Schedule:
    """Adam, or gradient descent with momentum, over shuffled batches.

    Attributes:
        epochs: at most this many.
        patience: stop after this many epochs without a better one on the validation part; None never stops early.
        cosine: let the learning rate fall along half a cosine, epoch by epoch.
        last_rate: what it falls to.
        halved_every: epochs after which the learning rate is halved, again and again.
        momentum: of stochastic gradient descent; None means Adam.
        fused: a step of Adam in one pass over all parameters: the same up to rounding, and several times faster.
        temperature_rate: the learning rate of learned temperatures, which do not decay; that of the network if None.

    Example:
        >>> schedule = Schedule.of({"epochs": 10, "batch": 32, "learning_rate": 0.1, "points": 128}, cosine=True)
        >>> optimizer = schedule.optimizer(nn.Linear(2, 2))
        >>> rates = schedule.rates(optimizer)
        >>> for _ in range(5):
        ...     optimizer.step()
        ...     rates.step()
        >>> round(optimizer.param_groups[0]["lr"], 3)
        0.05
    """

    epochs: int
    batch: int
    learning_rate: float
    weight_decay: float = 0.0
    patience: int | None = None
    cosine: bool = False
    last_rate: float = 0.0
    halved_every: int | None = None
    momentum: float | None = None
    fused: bool = False
    temperature_rate: float | None = None

    def __post_init__(self) -> None:
        set_whole_numbers(self, "epochs", least=0)
        set_whole_numbers(self, "batch", least=1)
        set_whole_numbers(self, "patience", "halved_every", least=0, optional=True)
        set_flags(self, "cosine", "fused")
        set_real_numbers(self, "learning_rate", "weight_decay", "last_rate", least=0.0)
        set_real_numbers(self, *(name for name in ("momentum", "temperature_rate") if getattr(self, name) is not None))
        if self.cosine and self.halved_every:
            raise InputError(
                f"A learning rate falls along a cosine or is halved, got cosine=True and halved_every="
                f"{self.halved_every}. Hint: leave one of them out"
            )

    @classmethod
    def of(cls, settings: Mapping[str, Any], **others: Any) -> "Schedule":
        """From the settings of a run, which may hold more than this; ``others`` come first."""
        named = {field.name: settings[field.name] for field in fields(cls) if field.name in settings}
        return cls(**{**named, **others})

    def optimizer(self, module: nn.Module) -> torch.optim.Optimizer:
        """For the parameters of a module."""
        rate, decay = self.learning_rate, self.weight_decay
        groups = self._groups(module)
        if self.momentum is None:
            return torch.optim.Adam(groups, lr=rate, weight_decay=decay, fused=self.fused or None)
        return torch.optim.SGD(groups, lr=rate, momentum=self.momentum, weight_decay=decay)

    def _groups(self, module: nn.Module) -> list[dict[str, Any]]:
        """All parameters, and apart from them the learned temperatures if they have a rate of their own."""
        if self.temperature_rate is None:
            return [{"params": list(module.parameters())}]
        named = [(name.endswith("temperature.logarithm"), parameter) for name, parameter in module.named_parameters()]
        others, temperatures = ([p for is_one, p in named if is_one == wanted] for wanted in (False, True))
        return [{"params": others}, {"params": temperatures, "lr": self.temperature_rate, "weight_decay": 0.0}]

    def rates(self, optimizer: torch.optim.Optimizer) -> LRScheduler:
        """Sets the learning rates of an optimizer; to be stepped after every epoch."""
        if self.cosine:
            return CosineAnnealingLR(optimizer, T_max=self.epochs, eta_min=self.last_rate)
        if self.halved_every:
            return StepLR(optimizer, step_size=self.halved_every, gamma=0.5)
        return ConstantLR(optimizer, factor=1.0)
