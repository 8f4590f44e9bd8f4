"""Data-parallel training beside one process: the same losses, the same accuracy, and how much faster it is.

Batches of clouds of furniture are shared by 1, 2 and 4 processes (gloo), each with one thread, in the loop that all
tables use. AC-DeepSet, in float64 and with remembered winners, has no batch normalization: its losses must agree up to
rounding. AC-PointNet has one, whose statistics are those of a process's own part of the batch: the accuracies agree
within noise. The speed of two processes is compared with that of one in the same run, in turn, by the wall clock.

``python -m benchmarks.speed.data_parallel --json results/benchmarks/data_parallel.json`` takes a few minutes.
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch import Tensor

from adacanon import AnchoredSearch, Canonicalized, Objective, RandomSearch, WithMemory
from adacanon.data.furniture import random_furniture
from adacanon.experiments.clouds.furniture import network
from adacanon.points import DeepSet, Rotations
from adacanon.training.engine import Engine, OneProcess
from adacanon.training.fabric_engine import FabricEngine
from adacanon.training.hardware import Hardware
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, accuracy, train
from adacanon.training.schedule import Schedule
from benchmarks.frame import measure

CLASSES, BATCH = 8, 32
EXACT, NORMALIZED = "AC-DeepSet, float64", "AC-PointNet"


def furniture(samples: int, points: int) -> tuple[Tensor, Tensor]:
    """Clouds and their classes."""
    generator = torch.Generator().manual_seed(0)
    return random_furniture(samples, generator=generator).draw(points, generator=generator)


def exact_learner(engine: Engine, options: argparse.Namespace) -> Learner:
    """Without batch normalization and dropout."""
    clouds, labels = furniture(options.samples, options.points)
    torch.manual_seed(0)
    search = WithMemory(RandomSearch(6), samples=len(labels))
    plain = DeepSet(CLASSES, widths=(32, 64), head=(32,), dropout=0.0, batch_norm=False).double()
    model = Canonicalized(plain, Rotations(), AnchoredSearch(4), training_search=search)
    return Learner(model, labels, looked_up(clouds.double()), objective=Objective(model), engine=engine)


def normalized_learner(engine: Engine, options: argparse.Namespace) -> Learner:
    """A small PointNet under rotations."""
    clouds, labels = furniture(options.samples, options.points)
    torch.manual_seed(0)
    model = Canonicalized(network(CLASSES), Rotations(), AnchoredSearch(4))
    return Learner(model, labels, looked_up(clouds), objective=Objective(model, forms=2), engine=engine)


def parts(samples: int) -> DataSplit:
    """Two thirds for training, nothing to choose by."""
    index = torch.arange(samples)
    return DataSplit(index[: 2 * samples // 3], index[:0], index[2 * samples // 3 :])


def trained(learner: Learner, epochs: int) -> tuple[list[float], float]:
    """The losses of all epochs, and the accuracy on the others."""
    curve: list[float] = []
    split, schedule = parts(len(learner.labels)), Schedule(epochs, BATCH, 1e-3, cosine=True)
    control = TrainingControl(on_epoch=lambda epoch, loss: curve.append(loss))
    train(learner, split, schedule, generator=torch.Generator().manual_seed(0), control=control)
    return curve, accuracy(learner, split.test, batch=BATCH)


Found = dict[str, tuple[list[float], float]]


def both(engine: Engine, options: argparse.Namespace) -> Found:
    """Both trainings."""
    return {
        EXACT: trained(exact_learner(engine, options), options.exact_epochs),
        NORMALIZED: trained(normalized_learner(engine, options), options.epochs),
    }


def speed_up(engine: FabricEngine, options: argparse.Namespace) -> float:
    """Seconds of the steps of one process by those of two with the same batches: medians of turns in one run."""
    alone, shared = (normalized_learner(one, options) for one in (OneProcess(), engine))
    rows = torch.arange(2 * BATCH * options.steps).remainder(options.samples).split(2 * BATCH)
    steps = [one.engine.steps(one, torch.optim.Adam(one.module.parameters())) for one in (alone, shared)]
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(options.repetitions + 1):
        for kind, step in enumerate(steps):
            torch.distributed.barrier()
            begin = time.perf_counter()
            if kind == 1 or engine.main:  # the others wait while the first process works alone
                for own in rows:
                    step(own)
            torch.distributed.barrier()
            seconds[kind].append(time.perf_counter() - begin)
    return statistics.median(seconds[0][1:]) / statistics.median(seconds[1][1:])


def work(rank: int, world: int, folder: str, options: argparse.Namespace) -> None:
    """All measurements in one of several processes; the first leaves them in a file."""
    torch.set_num_threads(1)
    os.environ |= {"LOCAL_RANK": str(rank), "NODE_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world)
    engine = FabricEngine(Hardware(devices=world))
    found, ratio = both(engine, options), speed_up(engine, options) if world == 2 else None
    if engine.main:
        torch.save((found, ratio), Path(folder) / "found.pt")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def in_processes(world: int, options: argparse.Namespace) -> tuple[Found, float | None]:
    """The same in several processes."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (world, folder, options), nprocs=world)
        return torch.load(Path(folder) / "found.pt")


def rows(options: argparse.Namespace) -> list[measure.Row]:
    """One for every network and number of processes."""
    alone = both(OneProcess(), options)
    measured = {1: (alone, 1.0)} | {world: in_processes(world, options) for world in options.processes}
    return [
        _row(name, world, found[name], alone[name], ratio if name == NORMALIZED else None)
        for name in alone
        for world, (found, ratio) in measured.items()
    ]


def _row(
    name: str, world: int, found: tuple[list[float], float], alone: tuple[list[float], float], ratio: float | None
) -> measure.Row:
    (curve, accuracy), (expected, _) = found, alone
    return {
        "network": name,
        "processes": world,
        "last loss": curve[-1],
        "largest relative difference of a loss": max(abs(a - b) / b for a, b in zip(curve, expected, strict=True)),
        "accuracy, %": accuracy,
        "speed, by one process": ratio,
    }


def title_of(options: argparse.Namespace, load: float) -> str:
    """What was trained, and on what."""
    processors = os.cpu_count() or 1
    busy = f"busy with other work (load {load:.1f})" if load > 0.5 else "otherwise idle"
    return (
        f"{options.samples} clouds of {options.points} points, batches of {BATCH}; one thread per process; "
        f"a machine with {processors} processors, {busy}"
    )


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--samples", type=int, default=720)
    parser.add_argument("--points", type=int, default=64)
    parser.add_argument("--exact-epochs", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--repetitions", type=int, default=7)
    load = os.getloadavg()[0]
    options = measure.start(parser)
    torch.set_num_threads(1)
    measure.report(rows(options), title=title_of(options, load), path=options.json)


if __name__ == "__main__":
    main()
