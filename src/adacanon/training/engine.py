"""Engines carry out the steps and evaluations of a training; the loop itself is the same for all of them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import torch
from torch import Tensor, nn

from adacanon.training.hardware import Hardware

if TYPE_CHECKING:
    from adacanon.training.learner import Learner

T = TypeVar("T")
Step = Callable[[Tensor], Tensor]
"""One optimizer step on some samples; returns this process's share of their loss, without gradients."""


class Engine(Protocol):
    """How a training is computed. Every process of a training calls the same verbs in the same order.

    Attributes:
        main: whether this is the process that writes files and shows progress.
    """

    main: bool

    @contextmanager
    def placed(self, learner: "Learner") -> Iterator["Learner"]:
        """The learner with its module and samples on the device; afterwards the module is back on the processor."""

    def steps(self, learner: "Learner", optimizer: torch.optim.Optimizer) -> Step:
        """The steps of a training, for a learner that is placed."""

    def begin_epoch(self, generator: torch.Generator) -> None:
        """Called before the batches of an epoch are drawn from the generator."""

    def end_epoch(self, module: nn.Module) -> None:
        """Make what the processes have learned one by one the same in all of them."""

    def mean(self, losses: Tensor) -> float:
        """The mean of losses of whole batches, from the shares that steps have returned."""

    def scores(self, learner: "Learner", batches: Sequence[Tensor]) -> Tensor:
        """Scores of all batches, on the processor and in the same order for every process."""

    def shared(self, value: T) -> T:
        """The value of the main process."""

    def state(self) -> dict[str, Any]:
        """What a checkpoint has to keep of the engine."""

    def resume(self, state: dict[str, Any]) -> None:
        """Go on from such a state; from nothing, if it is empty."""


class OneProcess:
    """torch on the processor, in this process: the default.

    Example:
        >>> OneProcess().mean(torch.tensor([1.0, 3.0]))
        2.0
    """

    main = True

    def __repr__(self) -> str:
        return "OneProcess()"

    @contextmanager
    def placed(self, learner: "Learner") -> Iterator["Learner"]:
        yield learner

    def steps(self, learner: "Learner", optimizer: torch.optim.Optimizer) -> Step:
        def step(rows: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = learner.loss(rows)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    def begin_epoch(self, generator: torch.Generator) -> None:
        pass

    def end_epoch(self, module: nn.Module) -> None:
        pass

    def mean(self, losses: Tensor) -> float:
        return float(losses.mean())

    def scores(self, learner: "Learner", batches: Sequence[Tensor]) -> Tensor:
        return torch.cat([learner.scores(rows) for rows in batches])

    def shared(self, value: T) -> T:
        return value

    def state(self) -> dict[str, Any]:
        return {}

    def resume(self, state: dict[str, Any]) -> None:
        pass


@cache
def engine_of(hardware: Hardware) -> Engine:
    """The engine for some hardware. It is made once in a process: process groups are.

    With several processes, the first call starts the others, which run the same command and come to the same call.

    Example:
        >>> engine_of(Hardware())
        OneProcess()
    """
    if hardware.is_default:
        return OneProcess()
    from adacanon.training.fabric_engine import FabricEngine

    return FabricEngine(hardware.checked())
