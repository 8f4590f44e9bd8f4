"""Does a run that is killed at random moments end with the record of an undisturbed one?

One run of a table is started with ``adacanon run``, on one thread and with a checkpoint after every epoch, killed with
SIGKILL, started again and so on, until it has survived. Its record must be that of a run that nobody touched, but for
the time that it took. Records go to a temporary folder. The exit code is 1 if the records differ.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adacanon.training.records import Record, read_records

Command = Callable[[Path], list[str]]
"""From the folder of the results to a command that trains one run, with its record and checkpoint there."""


@dataclass(frozen=True)
class Comparison:
    """The two records, and how many kills hit a training."""

    undisturbed: Record
    killed: Record
    kills: int

    @property
    def agree(self) -> bool:
        """Whether all is equal but the wall time."""
        return {**self.undisturbed, "seconds": 0} == {**self.killed, "seconds": 0}


def compare(command: Command, *, kills: int, seed: int = 0) -> Comparison:
    """Run once without and once with kills."""
    with tempfile.TemporaryDirectory() as folder:
        undisturbed = finish(command, Path(folder) / "undisturbed")
        moments = sorted(random.Random(seed).uniform(0, undisturbed["seconds"]) for _ in range(kills))
        pauses = [after - before for before, after in zip([0.0, *moments], moments, strict=False)]
        results = Path(folder) / "killed"
        hits = sum(killed_while_training(command, results, pause) for pause in pauses)
        return Comparison(undisturbed, finish(command, results), hits)


def finish(command: Command, results: Path) -> Record:
    """Let the command end by itself; the record that it leaves."""
    subprocess.run(command(results), check=True, stdout=subprocess.DEVNULL)
    (file,) = results.glob("*.jsonl")
    (record,) = read_records(file)
    return record


def killed_while_training(command: Command, results: Path, seconds: float) -> bool:
    """Kill the command so many seconds after its first epoch, unless it has ended before."""
    before = written(results)
    process = subprocess.Popen(command(results), stdout=subprocess.DEVNULL)
    while process.poll() is None and written(results) == before:
        time.sleep(0.002)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    return process.wait() < 0


def written(results: Path) -> set[tuple[str, int]]:
    """The checkpoints and when they were written."""
    files = (results / "checkpoints").glob("*.pt")
    return {(file.name, file.stat().st_mtime_ns) for file in files}


def adacanon_run(table: str, row: str, dataset: str) -> Command:
    """The command that anyone would type."""
    program = [sys.executable, "-m", "adacanon.cli", "run", table]
    choice = ["--rows", row, "--columns", dataset, "--splits", "1"]
    manner = ["--threads", "1", "--checkpoint-every", "0"]
    return lambda results: [*program, *choice, *manner, "--results", str(results)]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--table", default="tu")
    parser.add_argument("--row", default="A-NLSF")
    parser.add_argument("--dataset", default="MUTAG", help="a column of the table")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="determines the moments")
    options = parser.parse_args(arguments)
    command = adacanon_run(options.table, options.row, options.dataset)
    found = compare(command, kills=options.kills, seed=options.seed)
    for name, record in (("undisturbed", found.undisturbed), ("killed", found.killed)):
        print(f"{name}:\n{json.dumps(record, sort_keys=True)}")
    verdict = "agree" if found.agree else "DIFFER"
    print(f"{found.kills} of {options.kills} kills hit the training; the records {verdict}")
    return 0 if found.agree else 1


if __name__ == "__main__":
    raise SystemExit(main())
