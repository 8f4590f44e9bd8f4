"""What is compared between one process and two; a module of its own, because spawned processes import it by name.

Every scenario is a function that one process calls alone, or several call together, each with its rank.
"""

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from adacanon import Canonicalized, Objective, RandomSearch, WithMemory, cross_entropy, synchronize
from adacanon.maximizers import Calibration
from adacanon.points import Rotations
from adacanon.runs.executors.ranks import Ranks, follow
from adacanon.runs.run import Outcome, Run
from adacanon.runs.runner import run_missing
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table
from adacanon.training.engine import Engine, OneProcess, engine_of
from adacanon.training.hardware import Hardware
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, evaluate, train
from adacanon.training.records import read_records
from adacanon.training.schedule import Schedule
from cases.networks import Spy, cloud_network, clouds

SAMPLES, CLASSES, BATCH, EPOCHS = 27, 3, 8, 3
"""19 of the samples are trained on in batches of 8: the last, of 3, is too small to be shared by two."""
SCHEDULE = Schedule(EPOCHS, BATCH, 0.05)
PARTS = DataSplit(torch.arange(19), torch.arange(19, 27), torch.arange(0))


def model_with_memory() -> Canonicalized:
    search = WithMemory(RandomSearch(6), samples=SAMPLES)
    return Canonicalized(cloud_network(), Rotations(), RandomSearch(8), training_search=search)


def memory_of(model: Canonicalized) -> Any:
    (memory,) = model.search_state
    return memory.get_extra_state()


def labels() -> Tensor:
    return torch.arange(SAMPLES) % CLASSES


def loss_curve(rank: int, world: int) -> dict[str, Any]:
    """Two epochs of a loop of one's own, with a whole number of equal parts."""
    model = model_with_memory()
    objective = Objective(model)
    wrapped = DistributedDataParallel(objective) if world > 1 else objective
    optimizer, losses = torch.optim.Adam(objective.parameters(), lr=0.05), []
    known = []
    for _ in range(2):
        for rows in torch.arange(24).split(BATCH):
            own = rows.chunk(world)[rank]
            optimizer.zero_grad()
            loss = wrapped(clouds(SAMPLES)[own], labels()[own], own).loss
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
        known.append(int(memory_of(model)["known"].sum()))
        synchronize(objective)
    return {"losses": losses, "memory": memory_of(model), "draws": int(model.draws), "known": known}


def calibrated(rank: int, world: int) -> dict[str, Any]:
    """The moments of scores on views and inputs, two epochs of three batches; the last class is unknown to rank 1."""
    calibration = Calibration(inputs=4, forget=0.25)
    generator = torch.Generator().manual_seed(3)
    for _ in range(2):
        for _ in range(3):
            x, y = torch.randn(2, 8, CLASSES, generator=generator, dtype=torch.float64)
            x[4:, -1] = torch.inf
            own = torch.arange(8).chunk(world)[rank]
            calibration._update(x[own], y[own])
        synchronize(calibration)
    return calibration.get_extra_state()


def learner_with(engine: Engine, module: nn.Module | None = None) -> Learner:
    model = module or model_with_memory()
    objective = Objective(model) if isinstance(model, Canonicalized) else None
    return Learner(model, labels(), looked_up(clouds(SAMPLES)), cross_entropy, objective=objective, engine=engine)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(4)


def trained(engine: Engine) -> dict[str, Any]:
    """The loop of all tables: its curve, its parameters and memory, and what an evaluation says."""
    learner, curve = learner_with(engine), list[float]()
    control = TrainingControl(on_epoch=lambda epoch, loss: curve.append(loss))
    history = train(learner, PARTS, SCHEDULE, generator=generator(), control=control)
    parameters = [parameter.detach() for parameter in learner.module.parameters()]
    return {"curve": curve, "selected": history.selected, "parameters": parameters, "memory": _memory(learner)}


def _memory(learner: Learner) -> Any:
    assert isinstance(learner.module, Canonicalized)
    return memory_of(learner.module)


def resumed(engine: Engine, checkpoint: Path, until: int | None) -> list[Tensor]:
    """The parameters after a part of the training, from where the checkpoint is."""
    learner = learner_with(engine)
    control = TrainingControl(checkpoint, 0.0, until=until)
    train(learner, DataSplit(PARTS.train, *2 * (PARTS.test,)), SCHEDULE, generator=generator(), control=control)
    return [parameter.detach() for parameter in learner.module.parameters()]


def normalised(engine: Engine) -> dict[str, Any]:
    """A network with batch normalization on a task that it can learn: what every process has in the end."""
    x = clouds(160)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        layers = [nn.Flatten(), nn.Linear(12, 16), nn.BatchNorm1d(16), nn.Tanh(), nn.Linear(16, CLASSES)]
        network = nn.Sequential(*layers).double()
        network.register_parameter("unused", nn.Parameter(torch.ones(2)))
        learner = Learner(network, x[:, 0].argmax(1), looked_up(x), engine=engine)
        index = torch.arange(160)
        history = train(
            learner, DataSplit(index[:100], index[:0], index[:0]), Schedule(20, 16, 0.02), generator=generator()
        )
        random = torch.rand(3)
    return {
        "state": learner.module.state_dict(),
        "loss": history.loss,
        "accuracy": evaluate(learner, index[100:], batch=16)[0],
        "random": random,
    }


def evaluated(engine: Engine) -> dict[str, Any]:
    """The figures of a network that was not trained, and on how many samples this process has called it."""
    spy = Spy(cloud_network())
    figures = evaluate(learner_with(engine, spy), torch.arange(SAMPLES), batch=4)
    few = evaluate(learner_with(engine, cloud_network()), torch.arange(3), batch=4)
    return {"figures": figures, "few": few, "rows": [rows for rows, _ in spy.calls]}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """A run of the table below; it fails where its settings say so."""
    options = run.options()
    if options.get("fails") == "everywhere" or (options.get("fails") == "alone" and not control.engine.main):
        raise LookupError("no such sample")
    _, history = train_seeded(run, lambda: learner_with(OneProcess()), PARTS, Schedule.of(options), control)
    return {"accuracy": history.selected["validation_accuracy"], "loss": history.loss, "seconds": history.seconds}


TABLE = Table(
    name="shared",
    title="A table",
    rows=(Row("A"), Row("B")),
    columns=("accuracy",),
    splits=lambda row, column: 1,
    most_splits=1,
    settings=lambda row, column, preset: {"epochs": 2, "batch": BATCH, "learning_rate": 0.05, "seed": 0},
    execute=execute,
)


def runs(**settings: object) -> list[Run]:
    options = {**TABLE.settings_of("A", "accuracy"), **settings}
    failing = Run.of("shared", "B", "accuracy", 0, {**options, "fails": "everywhere"})
    return [failing, Run.of("shared", "A", "accuracy", 0, options)]


def table(hardware: Hardware, folder: Path) -> dict[str, Any]:
    """The first process runs a table and the others follow; then a run fails in one process alone."""
    ranks = Ranks(hardware)
    if not ranks.engine.main:
        return {"exit codes": [follow(ranks), follow(ranks)], "files": []}
    with ranks:
        failures = run_missing(TABLE, runs(), folder / "shared.jsonl", executor=ranks, show=False)
    found = {"failures": list(map(str, failures)), "records": read_records(folder / "shared.jsonl")}
    try:
        alone = Run.of("shared", "A", "accuracy", 0, {**TABLE.settings_of("A", "accuracy"), "fails": "alone"})
        with ranks:
            ranks.submit(_succeeds_here, alone)
    except RuntimeError as error:
        return {**found, "error": f"{type(error).__name__}: {error}"}
    return found


def _succeeds_here(run: Run) -> Outcome:
    return Outcome(run, {}, "") if os.environ["LOCAL_RANK"] == "0" else Outcome(run, None, "LookupError: no sample")


def work(rank: int, world: int, folder: str) -> None:
    """All scenarios in one of several processes; leaves what came out in a file. Warnings are errors here too."""
    warnings.simplefilter("error")
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115, followers tell their failures
    torch.set_num_threads(1)
    os.environ |= {"LOCAL_RANK": str(rank), "NODE_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    meeting = f"file://{folder}/meeting"
    torch.distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world)
    hardware = Hardware(devices=world)
    engine = engine_of(hardware)
    checkpoint = Path(folder) / f"checkpoint-{rank}.pt"
    scenarios: dict[str, Callable[[], Any]] = {
        "loss curve": lambda: loss_curve(rank, world),
        "calibrated": lambda: calibrated(rank, world),
        "trained": lambda: trained(engine),
        "normalised": lambda: normalised(engine),
        "evaluated": lambda: evaluated(engine),
        "first half": lambda: resumed(engine, checkpoint, 1),
        "resumed": lambda: resumed(engine, Path(folder) / "one-process.pt", None),
        "table": lambda: table(hardware, Path(folder)),
    }
    torch.save({name: scenario() for name, scenario in scenarios.items()}, Path(folder) / f"{rank}.pt")
    torch.distributed.barrier()  # no process leaves while another one still speaks to it
    torch.distributed.destroy_process_group()
    os._exit(0)  # threads of gloo may abort a process whose interpreter is being taken down
