"""Time and memory of the searches of the table ``tu-search``: 32, 160 and 320 draws, and 32 draws with refinement.

A training epoch of every row, in turn in one run; and the peak memory of one epoch above what is there before
it, each row in a process of its own (Linux only).
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from adacanon.experiments.graphs.tu import METHODS
from adacanon.experiments.graphs.tu_ablations import TU_SEARCH
from adacanon.experiments.graphs.tu_data import COLUMNS, split_of, tu_data
from adacanon.experiments.graphs.tu_runtime import epoch_of
from adacanon.runs.run import Run
from adacanon.training.learner import Learner
from benchmarks.frame import measure


def learner_of(row: str, column: str) -> tuple[Run, Learner]:
    options = measure.settings_of(TU_SEARCH, row, column)
    data = tu_data(column, options["features"])
    learner = METHODS[TU_SEARCH.row(row).method](data, options, split_of(data, 0).train, 0)
    return Run.of("tu-search", row, column, 0, options), learner


def memory_of_one_epoch(row: str, column: str) -> float:
    """In this process: how far the first epoch goes above what is there before it."""
    epoch = epoch_of(*learner_of(row, column))
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = megabytes("VmRSS")
    epoch()
    return megabytes("VmHWM") - before


def megabytes(name: str) -> float:
    """A line of the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def in_a_fresh_process(row: str, column: str) -> float:
    command = [sys.executable, "-m", "benchmarks.graphs.tu_search", "--threads", "1", "--one", row, column]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rows_of(column: str, options: argparse.Namespace) -> list[measure.Row]:
    actions = {row: epoch_of(*learner_of(row, column)) for row in TU_SEARCH.row_names}
    seconds = measure.medians(actions, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    reference = seconds["A-NLSF (sampling)"]
    return [
        {
            "data set": column,
            "search": row,
            "s per epoch": seconds[row],
            "times sampling": seconds[row] / reference,
            "peak above data, MB": in_a_fresh_process(row, column),
        }
        for row in TU_SEARCH.row_names
    ]


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--datasets", nargs="+", choices=COLUMNS, default=list(COLUMNS))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--clock", choices=measure.CLOCKS, default="wall", help="processor: undisturbed by other jobs")
    parser.add_argument("--one", nargs=2, metavar=("ROW", "DATASET"), help="measure memory in this process")
    options = measure.start(parser)
    if options.one:
        print(json.dumps(memory_of_one_epoch(*options.one)))
        return
    rows = [row for column in options.datasets for row in rows_of(column, options)]
    measure.report(rows, title=f"{options.threads} threads, {options.clock} time", path=options.json)


if __name__ == "__main__":
    main()
