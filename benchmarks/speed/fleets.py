"""What a fleet costs, and what a lost node costs it.

Three tables. The first: runs that do nothing, so that what is measured are claims, calls and records. The second: runs
that wait for a moment, on two and on four workers; every one must be recorded once. The third: a command on a real
table, on a Ray cluster of two nodes on this machine, of which one is killed in the middle; its records must be those of
a command without a cluster, but for the time, and a run that was lost must go on from its checkpoint. The exit code is
1 if not.

Workers are started before the clock is. ``seconds to start`` is what that takes.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from adacanon.runs.executors import Executor, LocalProcesses, ThisProcess, executor_named
from adacanon.runs.fleet import Fleet, Listed
from adacanon.runs.run import Run, TrainingControl
from adacanon.training.checkpoint import load_checkpoint
from adacanon.training.records import Record, read_records
from benchmarks.frame import measure
from benchmarks.frame.two_nodes import two_nodes

EXECUTORS: dict[str, Callable[[int], Executor]] = {
    "this process": lambda workers: ThisProcess(),
    "processes": LocalProcesses,
    "Ray": lambda workers: executor_named("ray", jobs=workers),
}
ONCE = "recorded once"
"""How many runs have one record."""
WELL = "as it must be"
"""Whether records are those of one process, and a lost run has gone on from its checkpoint."""
COMMAND = ["run", "tu", "--rows", "GIN", "--columns", "MUTAG", "--threads", "1", "--checkpoint-every", "0"]


def waits(run: Run, control: TrainingControl) -> dict[str, float]:
    """A training that takes as long as its settings say."""
    seconds = run.options()["seconds"]
    time.sleep(seconds)
    return {"accuracy": 0.0, "seconds": seconds}


def fleet_row(where: str, workers: int, runs: int, seconds: float) -> measure.Row:
    """How long some runs take, all told."""
    todo = [Run.of("waits", "row", "column", split, {"seconds": seconds}) for split in range(runs)]
    with tempfile.TemporaryDirectory() as folder:
        file, begin = Path(folder) / "waits.jsonl", time.perf_counter()
        with EXECUTORS[where](workers) as executor:
            for future in [executor.submit(time.sleep, 1.0) for _ in range(0 if executor.inside else workers)]:
                future.result()
            started = time.perf_counter()
            ended = sum(1 for _ in Fleet(waits, file, executor).outcomes(Listed(todo)))
            took = time.perf_counter() - started
        splits = [record["split"] for record in read_records(file)]
    assert ended == runs
    return {
        "where": where,
        "workers": workers,
        "runs": runs,
        ONCE: sum(count == 1 for count in Counter(splits).values()),
        "seconds": took,
        "ms per run and worker beyond the run": 1000 * (took * workers / runs - seconds),
        "seconds to start": started - begin,
    }


def overhead(options: argparse.Namespace) -> list[measure.Row]:
    """Runs that do nothing, one worker each."""
    return [fleet_row(where, 1, options.runs, 0.0) for where in EXECUTORS]


def throughput(options: argparse.Namespace) -> list[measure.Row]:
    """Runs that wait, on several workers."""
    return [
        fleet_row(where, workers, options.runs, options.seconds)
        for workers in options.workers
        for where in ("processes", "Ray")
    ]


def command(results: Path, splits: int, *more: str) -> list[str]:
    """What anyone would type."""
    choice = ["--splits", str(splits), "--results", str(results)]
    return [sys.executable, "-m", "adacanon.cli", *COMMAND, *choice, *more]


class Watched:
    """The epochs that the checkpoints of a results folder have had, as they are looked at."""

    def __init__(self, results: Path) -> None:
        self.folder = results / "checkpoints"
        self.epochs: dict[str, list[int]] = {}

    def look(self) -> None:
        """Read all checkpoints, after a moment in which others may compute."""
        time.sleep(0.1)
        for file in self.folder.glob("*.pt"):
            state = load_checkpoint(file)
            if state is not None:
                self.epochs.setdefault(file.stem, []).append(state["history"]["epoch"])

    def current(self) -> list[int]:
        """The epochs of the runs that are under way."""
        return [epochs[-1] for key, epochs in self.epochs.items() if (self.folder / f"{key}.pt").exists()]

    def furthest_back(self) -> int:
        """By how many epochs a run has ever fallen behind itself."""
        pairs = [pair for epochs in self.epochs.values() for pair in pairwise(epochs)]
        return max((before - after for before, after in pairs), default=0)


def lost_node(options: argparse.Namespace) -> list[measure.Row]:
    """The command without a cluster, and on one that loses a node."""
    with tempfile.TemporaryDirectory() as folder:
        alone, together = Path(folder) / "alone", Path(folder) / "together"
        begin = time.perf_counter()
        subprocess.run(command(alone, options.splits), check=True, stdout=subprocess.DEVNULL)
        took = time.perf_counter() - begin
        expected = without_time(alone / "tu.jsonl")
        row: measure.Row = {"where": "this process", "records": len(expected), WELL: True, "seconds": took}
        row |= {"epochs at the loss": "–", "furthest back, epochs": 0}
        with two_nodes() as cluster:
            return [row, losing_row(cluster, together, expected, options)]


def losing_row(cluster: Any, results: Path, expected: list[Record], options: argparse.Namespace) -> measure.Row:
    """Kill the second node when both nodes have trained for some epochs."""
    begin, watched = time.perf_counter(), Watched(results)
    words = command(results, options.splits, "--executor", "ray", "--address", cluster.address)
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while sum(epoch >= options.epochs for epoch in watched.current()) < 2:
        assert process.poll() is None, "the command has ended before it could lose a node"
        watched.look()
    at_the_loss = sorted(watched.current())
    cluster.remove_node(*cluster.worker_nodes, allow_graceful=False)
    while process.poll() is None:
        watched.look()
    assert process.returncode == 0
    records, back = without_time(results / "tu.jsonl"), watched.furthest_back()
    return {
        "where": "Ray, two nodes, one of them killed",
        "records": len(records),
        WELL: records == expected and back <= 1,
        "seconds": time.perf_counter() - begin,
        "epochs at the loss": " and ".join(map(str, at_the_loss)),
        "furthest back, epochs": back,
    }


def without_time(file: Path) -> list[Record]:
    """The records of a file in the order of their keys."""
    return sorted(({**record, "seconds": None} for record in read_records(file)), key=lambda record: record["key"])


SECTIONS = {
    "overhead": ("Runs that do nothing", overhead),
    "throughput": ("Runs that wait for a moment", throughput),
    "lost_node": ("GIN on MUTAG with a checkpoint after every epoch", lost_node),
}
"""The tables: titles, and how they are measured."""
NAMES = tuple(SECTIONS)


def parser() -> argparse.ArgumentParser:
    parser = measure.common_options(__doc__ or "")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--seconds", type=float, default=0.25, help="of a run that waits")
    parser.add_argument("--splits", type=int, default=4, help="runs of the real table")
    parser.add_argument("--epochs", type=int, default=20, help="of both nodes, before one of them is killed")
    parser.add_argument("--only", choices=NAMES, nargs="+", default=NAMES, help="these tables")
    parser.add_argument("--json", type=Path, default=None, help="also write the rows to files in this folder")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = measure.start(parser(), arguments)
    rows: list[measure.Row] = []
    for name in options.only:
        title, section = SECTIONS[name]
        found = section(options)
        measure.report(found, title=title, path=options.json and options.json / f"fleet_{name}.json")
        rows += found
    return 0 if all(row[WELL] if WELL in row else row[ONCE] == row["runs"] for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
