"""Other devices, lower precision and several processes, by Lightning Fabric. Needs ``adacanon[devices]``.

Fabric places modules, scales and reduces gradients, and starts processes. It is imported here and nowhere else.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from inspect import signature
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed, nn

from adacanon.errors import AdacanonError
from adacanon.extras import optional
from adacanon.synchronization import synchronize
from adacanon.training.engine import Step
from adacanon.training.hardware import Hardware
from adacanon.training.learner import Learner
from adacanon.training.placement import inputs_on, on_device
from adacanon.training.sharding import in_order, own_batches, own_rows, weight_of

T = TypeVar("T")
PRECISIONS = {"bf16": "bf16-mixed", "16": "16-mixed"}
WAIT = timedelta(days=30)
"""How long a process waits for the next run of a table; runs themselves have the usual limit of torch."""


class ProcessesDisagreeError(AdacanonError, RuntimeError):
    """A training has failed in some of its processes and not in others, which cannot go on without them.

    Example:
        >>> raise ProcessesDisagreeError("process 1 of 2 failed alone")
        Traceback (most recent call last):
            ...
        adacanon.training.fabric_engine.ProcessesDisagreeError: process 1 of 2 failed alone
    """


class FabricEngine:
    """A training on the hardware that is asked for. With several processes, making it starts the others.

    Args:
        hardware: checked.
    """

    def __init__(self, hardware: Hardware) -> None:
        with optional(f"--device {hardware.device} with --precision {hardware.precision}, or several processes,"):
            from lightning.fabric import Fabric
            from lightning.fabric.plugins import MixedPrecision
            from lightning.fabric.strategies import DDPStrategy

        _quiet()
        self.hardware = hardware
        kind, several = hardware.kind, hardware.processes > 1
        mixed = PRECISIONS.get(hardware.precision)
        self._mixed = MixedPrecision(mixed, "cpu" if kind == "cpu" else kind) if mixed else None  # type: ignore[arg-type]
        self.fabric = Fabric(
            accelerator=kind,
            devices=hardware.devices,
            num_nodes=hardware.nodes,
            strategy=DDPStrategy(**_wrapper_options()) if several else "auto",
            plugins=[self._mixed] if self._mixed else None,
        )
        if kind == "cuda":  # 32 means 32: convolutions would otherwise be computed in 19 bits
            torch.backends.cudnn.allow_tf32 = False
        if several:
            with _waiting_for_machines(hardware.nodes):
                self.fabric.launch()
        self.device: torch.device = self.fabric.device
        self.rank, self.world = self.fabric.global_rank, self.fabric.world_size
        self.main = self.rank == 0
        self._messages = distributed.new_group(backend="gloo", timeout=WAIT) if several else None

    def __repr__(self) -> str:
        return f"FabricEngine({self.hardware!r})"

    @contextmanager
    def placed(self, learner: Learner) -> Iterator[Learner]:
        if self.device.type == "cpu":
            yield learner
            return
        seen = learner.training_inputs
        learner.module.to(self.device)
        try:
            yield replace(
                learner,
                labels=on_device(learner.labels, self.device),
                inputs=inputs_on(learner.inputs, self.device),
                training_inputs=None if seen is None else inputs_on(seen, self.device),
            )
        finally:
            learner.module.to("cpu")

    def steps(self, learner: Learner, optimizer: torch.optim.Optimizer) -> Step:
        forward, optimizer = self.fabric.setup(_Loss(learner, self.device.type), optimizer)

        def step(rows: Tensor) -> Tensor:
            optimizer.zero_grad()
            loss = forward(own_rows(rows, self.rank, self.world)) * weight_of(rows, self.rank, self.world)
            self.fabric.backward(loss)
            optimizer.step()
            return loss.detach()

        return step

    def begin_epoch(self, generator: torch.Generator) -> None:
        """Dropout and augmentation of the other processes are independent of the main one, and follow from it."""
        if not self.main:
            twin = torch.Generator()
            twin.set_state(generator.get_state())
            torch.manual_seed(int(torch.randint(2**62, (), generator=twin)) + self.rank)

    def end_epoch(self, module: nn.Module) -> None:
        synchronize(module)

    def mean(self, losses: Tensor) -> float:
        return float(self.fabric.all_reduce(losses, reduce_op="mean").mean())

    def scores(self, learner: Learner, batches: Sequence[Tensor]) -> Tensor:
        own = own_batches(batches, self.rank, self.world)
        found = torch.cat([self._scores(learner, rows) for rows in own])
        if len(own) == len(batches):
            return found.cpu()
        return in_order(self._from_all(found, batches), batches, self.world).cpu()

    def _scores(self, learner: Learner, rows: Tensor) -> Tensor:
        inputs = learner.inputs(rows)
        with self.fabric.autocast():
            scores = learner.module(*inputs)
        return scores.float() if self._mixed else scores

    def _from_all(self, found: Tensor, batches: Sequence[Tensor]) -> list[Tensor]:
        """The scores of every process; they have different numbers of rows, so that they are padded on the way."""
        counts = [sum(len(rows) for rows in own_batches(batches, rank, self.world)) for rank in range(self.world)]
        padded = found.new_zeros(max(counts), *found.shape[1:])
        padded[: len(found)] = found
        gathered = [torch.empty_like(padded) for _ in counts]
        distributed.all_gather(gathered, padded)
        return [part[:count] for part, count in zip(gathered, counts, strict=True)]

    def shared(self, value: T) -> T:
        return self.fabric.broadcast(value) if self.world > 1 else value

    def state(self) -> dict[str, Any]:
        return self._mixed.state_dict() if self._mixed else {}

    def resume(self, state: dict[str, Any]) -> None:
        if self._mixed is not None and self._mixed.scaler is not None:
            self._mixed.scaler = torch.amp.GradScaler(device=self.device.type)  # no run starts with that of another
            self._mixed.load_state_dict(state or self._mixed.state_dict())

    def tell(self, message: Any) -> Any:
        """What the main process tells all others; it may take its time."""
        told = [message]
        with _others():
            distributed.broadcast_object_list(told, src=0, group=self._messages)
        return told[0]

    def agree(self, failure: str) -> None:
        """Whether a run has failed must be the same in all processes: some alone cannot go on."""
        found: list[str] = [""] * self.world
        with _others():
            distributed.all_gather_object(found, failure, group=self._messages)
        failed = [f"process {rank} of {self.world} failed: {text}" for rank, text in enumerate(found) if text]
        if 0 < len(failed) < self.world:
            raise ProcessesDisagreeError(
                f"{failed[0]}; others did not. Hint: the same command goes on from the last checkpoint"
            )


class _Loss(nn.Module):
    """The loss of some samples of a learner, for a wrapper that has to see parameters and loss in one module.

    Samples come by their indices: Fabric would round the inputs themselves to the lower precision.
    """

    def __init__(self, learner: Learner, kind: str) -> None:
        super().__init__()
        self.module, self.kind = learner.module, kind
        if isinstance(learner.objective, nn.Module):
            self.objective = learner.objective
        self.learner = learner

    def forward(self, rows: Tensor) -> Tensor:
        rows = rows.cpu()
        with torch.autocast(self.kind, enabled=False):
            inputs = self.learner.seen(rows)
        return self.learner.loss_at(inputs, rows)


@contextmanager
def _others() -> Iterator[None]:
    """Around an exchange of messages: torch reports the end of another process in words of its own."""
    try:
        yield
    except RuntimeError as error:
        raise ProcessesDisagreeError(
            f"Another process of the training has ended ({str(error).splitlines()[0]}). "
            "Hint: the same command goes on from the last checkpoint"
        ) from error


@contextmanager
def _waiting_for_machines(nodes: int) -> Iterator[None]:
    """Around the meeting of several machines, in which torch waits half an hour and looks at no signal: requests to end
    are answered by the system.
    """
    if nodes == 1 or threading.current_thread() is not threading.main_thread():
        yield
        return
    address = ":".join(
        os.environ.get(name, none) for name, none in (("MASTER_ADDR", "this machine"), ("MASTER_PORT", ""))
    )
    print(f"Waiting for {nodes} machines with the same command, at {address.rstrip(':')}", file=sys.stderr, flush=True)
    before = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wrapper_options() -> dict[str, bool]:
    """Of DistributedDataParallel. A network may have parameters that no loss reaches, always the same ones. Buffers are
    made the same once per epoch, by ``synchronize``; torch 2.13 has a new name for that option.
    """
    known = signature(nn.parallel.DistributedDataParallel).parameters
    buffers = "forward_sync_buffers" if "forward_sync_buffers" in known else "broadcast_buffers"
    return {"static_graph": True, buffers: False}


def _quiet() -> None:
    """Lightning tells what it found; only that a process has died is worth a line."""
    for name in ("lightning.fabric", "lightning.pytorch"):
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.getLogger("lightning.fabric.strategies.launchers").setLevel(logging.INFO)
