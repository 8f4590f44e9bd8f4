"""What a training is computed on: what this machine does not have is refused before anything is trained."""

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import pytest
import torch

from adacanon.errors import InputError, MissingPackageError
from adacanon.runs.executors import executor_named
from adacanon.runs.runner import machine_notes
from adacanon.runs.seeded import train_seeded
from adacanon.training.engine import OneProcess, engine_of
from adacanon.training.fabric_engine import FabricEngine
from adacanon.training.hardware import Hardware
from adacanon.training.learner import LookedUp
from adacanon.training.loop import TrainingControl
from adacanon.training.placement import bytes_of, inputs_on, on_device
from adacanon.training.sharding import in_order, own_batches, own_rows, weight_of
from cases.data_parallel import PARTS, SCHEDULE, TABLE, learner_with

MANY = 10**6


@pytest.fixture
def without_graphics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


@pytest.fixture
def with_two_cuda_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


class TestChecks:
    @pytest.mark.usefixtures("without_graphics")
    @pytest.mark.parametrize(
        ("asked", "message"),
        [
            (Hardware("tpu"), "Devices are auto, cpu, cuda, mps; got 'tpu'"),
            (Hardware("cuda"), "The device cuda was asked for, and torch .* finds none. Hint: --device auto"),
            (Hardware("mps"), "The device mps was asked for"),
            (Hardware(precision="64"), "Precisions are 32, bf16, 16; got '64'"),
            (Hardware(precision="16"), "Precision 16 needs a graphics processor, got the device cpu. Hint:"),
            (Hardware(devices=MANY), f"This machine has .* processors, got devices={MANY}. Hint: lower --devices"),
            (Hardware(devices=0), "at least one process on one machine, got devices=0, nodes=1"),
            (Hardware(nodes=0), "got devices=1, nodes=0"),
        ],
    )
    def test_what_there_is_not_is_refused(self, asked: Hardware, message: str) -> None:
        with pytest.raises(InputError, match=message):
            asked.checked()
        with pytest.raises(InputError, match=message):
            executor_named(hardware=asked)

    @pytest.mark.usefixtures("with_two_cuda_devices")
    def test_more_cuda_devices_than_there_are(self) -> None:
        assert Hardware("auto", devices=2).checked().kind == "cuda"
        with pytest.raises(InputError, match="This machine has 2 cuda devices, got devices=3"):
            Hardware("auto", devices=3).checked()

    def test_mps_is_one_device(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
        with pytest.raises(InputError, match="mps is one device, got 2 processes"):
            Hardware("mps", nodes=2).checked()

    @pytest.mark.parametrize("where", [{"jobs": 2}, {"name": "ray"}])
    def test_several_processes_share_one_run_at_a_time(self, where: dict[str, Any]) -> None:
        with pytest.raises(InputError, match="Several processes share one run at a time, got --devices 2"):
            executor_named(hardware=Hardware(devices=2), **where)

    def test_without_lightning_the_error_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "lightning.fabric", None)
        with pytest.raises(MissingPackageError, match=r'needs lightning.*pip install "adacanon\[devices\]"'):
            FabricEngine(Hardware(precision="bf16"))


class TestTheDefault:
    @pytest.mark.usefixtures("without_graphics")
    def test_is_torch_alone(self) -> None:
        assert isinstance(engine_of(Hardware()), OneProcess)
        assert isinstance(engine_of(Hardware("auto")), OneProcess)
        assert not any(
            hardware.is_default for hardware in (Hardware(precision="bf16"), Hardware(devices=2), Hardware("cuda"))
        )

    def test_a_record_of_it_says_nothing_of_the_machine(self) -> None:
        assert machine_notes([{}, {}]) == ()


class TestPrecision:
    def test_has_keys_of_its_own(self) -> None:
        (one, *_), (other, *_) = TABLE.runs(), TABLE.in_precision("bf16").runs()
        assert one.key != other.key
        assert other.options() == {**one.options(), "mixed_precision": "bf16"}
        assert TABLE.in_precision("32") is TABLE

    @pytest.mark.parametrize(("of_the_run", "asked"), [("32", "bf16"), ("bf16", "32")])
    def test_a_run_is_never_trained_in_another_one_than_its_key_says(self, of_the_run: str, asked: str) -> None:
        run, control = TABLE.in_precision(of_the_run).runs()[0], TrainingControl(hardware=Hardware(precision=asked))
        with pytest.raises(InputError, match=f"is trained in precision {of_the_run}, got {asked}"):
            train_seeded(run, lambda: learner_with(OneProcess()), PARTS, SCHEDULE, control)

    def test_bf16_trains_near_32_and_is_not_32(self) -> None:
        losses = []
        for precision in ("32", "bf16"):
            run, hardware = TABLE.in_precision(precision).runs()[0], Hardware(precision=precision)
            learner = learner_with(OneProcess())
            learner = replace(learner, module=learner.module.float(), inputs=lambda index: (FLOATS[index],))
            control = TrainingControl(hardware=hardware)
            trained, history = train_seeded(run, lambda own=learner: own, PARTS, SCHEDULE, control)
            assert all(parameter.dtype == torch.float32 for parameter in trained.module.parameters())
            losses.append(history.loss)
        assert losses[0] != losses[1]
        assert losses[1] == pytest.approx(losses[0], rel=0.1)


FLOATS = torch.randn(27, 4, 3, generator=torch.Generator().manual_seed(0))


class TestSharing:
    @pytest.mark.parametrize("world", [1, 2, 3, 4])
    @pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 21])
    def test_the_mean_over_processes_is_the_mean_over_the_batch(self, size: int, world: int) -> None:
        values = torch.randn(size, dtype=torch.float64, generator=torch.Generator().manual_seed(size))
        rows = torch.randperm(size, generator=torch.Generator().manual_seed(world))
        shares = [own_rows(rows, rank, world) for rank in range(world)]
        means = [values[own].mean() * weight_of(rows, rank, world) for rank, own in enumerate(shares)]
        torch.testing.assert_close(torch.stack(means).mean(), values.mean())
        if size >= 2 * world:
            assert sorted(torch.cat(shares).tolist()) == list(range(size))
            assert min(map(len, shares)) >= 2

    @pytest.mark.parametrize("world", [1, 2, 3, 4])
    @pytest.mark.parametrize("size", [1, 5, 8, 13])
    def test_scores_come_back_in_order(self, size: int, world: int) -> None:
        batches = torch.randperm(size, generator=torch.Generator().manual_seed(world)).split(2)
        parts = [torch.cat(list(own_batches(batches, rank, world))) for rank in range(world)]
        if len(batches) < world:
            assert all(torch.equal(part, torch.cat(batches)) for part in parts)
        else:
            assert torch.equal(in_order(parts, batches, world), torch.cat(batches))


class TestPlacement:
    """On the meta device, which every torch has."""

    device = torch.device("meta")

    def test_samples_that_fit_are_moved_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        samples = torch.zeros(5, 3)
        once = inputs_on(LookedUp(samples), self.device)
        assert once(torch.tensor([1, 2]))[0].device == self.device
        monkeypatch.setattr("adacanon.training.placement.room_on", lambda device: 59.0)
        assert bytes_of(samples) == 60
        by_batch = inputs_on(LookedUp(samples), self.device)
        assert by_batch(torch.tensor([1, 2]))[0].shape == (2, 3)

    def test_records_and_containers_are_moved_with_their_tensors(self) -> None:
        split = on_device(PARTS, self.device)
        assert [part.device for part in (split.train, split.validation, split.test)] == 3 * [self.device]
        assert on_device(("a", 3, None), self.device) == ("a", 3, None)


def test_engines_are_made_once_in_a_process() -> None:
    assert engine_of(Hardware()) is engine_of(Hardware())


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_a_machine_that_waits_for_others_says_so_and_can_be_stopped(request_to_end: signal.Signals) -> None:
    """torch waits for half an hour, and looks at no signal meanwhile."""
    pytest.importorskip("lightning.fabric")
    words = "from adacanon.training.engine import engine_of; from adacanon.training.hardware import Hardware"
    end = "import signal; signal.signal(signal.SIGTERM, lambda *_: None); engine_of(Hardware(nodes=2))"
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "NODE_RANK": "0"}
    path = os.pathsep.join(part for part in sys.path if part)
    program = subprocess.Popen(
        [sys.executable, "-c", f"{words}; {end}"],
        env={**os.environ, **place, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stderr is not None
        while "Waiting for 2 machines" not in (line := program.stderr.readline()):
            assert line, "it has ended"
        time.sleep(2)  # for torch to begin its wait
        program.send_signal(request_to_end)
        assert program.wait(20) == -request_to_end
    finally:
        program.kill()
        program.communicate()
