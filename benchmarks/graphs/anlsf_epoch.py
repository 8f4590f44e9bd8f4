"""One training epoch of A-NLSF against torch-geometric's GIN of the same width and batch size, on TU data sets.

A-NLSF has the very settings that the table ``tu`` records, with 32 draws and refinement; the GIN has three layers. Both
train with Adam on the training part of the first split; medians of interleaved epochs in one run. The headline is with
one thread, as ``tu`` trains: models so small are trained side by side, and two threads of one training wait for each
other. Preparation, once per data set, is timed apart: without a cache, and from it.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from adacanon.data.tu import load_tu
from adacanon.experiments.graphs.spectral_methods import partition_of
from adacanon.experiments.graphs.tu_data import COLUMNS, dataset_name, tu_data
from adacanon.experiments.graphs.tu_runtime import TU_RUNTIME, epoch_of, learners_of
from adacanon.graphs.band_frames import band_frames
from adacanon.runs.run import Run
from benchmarks.frame import measure

METHOD = "A-NLSF"
THREADS = 1
"""Of the headline."""


def timed(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def preparation(column: str) -> tuple[float, float]:
    """Seconds for spectra and frames with an empty cache folder, and once more from what it then holds."""
    options = measure.settings_of(TU_RUNTIME, METHOD, column)
    graphs = load_tu(dataset_name(column)).graphs
    partition = partition_of(tu_data(column, options["features"]), options)
    with empty_cache():
        first, again = (timed(lambda: band_frames(graphs, partition, width=options["frame"])) for _ in range(2))
    return first, again


@contextmanager
def empty_cache() -> Iterator[None]:
    """A cache folder of its own, gone afterwards."""
    before = os.environ.get("ADACANON_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ADACANON_CACHE"] = folder
        try:
            yield
        finally:
            os.environ.pop("ADACANON_CACHE")
            os.environ |= {} if before is None else {"ADACANON_CACHE": before}


def rows_of(column: str, *, threads: int, repetitions: int, clock: measure.Clock) -> Iterator[measure.Row]:
    """With one thread, and with as many as were asked for."""
    run = Run.of("tu-runtime", METHOD, column, 0, measure.settings_of(TU_RUNTIME, METHOD, column))
    first, again = preparation(column)
    actions = {name: epoch_of(run, learner) for name, learner in learners_of(run).items()}
    for count in sorted({THREADS, threads}):
        torch.set_num_threads(count)
        seconds = measure.medians(actions, repetitions=repetitions, clock=clock)
        yield row(column, count, seconds, first, again)
    torch.set_num_threads(threads)


def row(column: str, threads: int, seconds: dict[str, float], first: float, again: float) -> measure.Row:
    return {
        "data set": column,
        "threads": threads,
        "A-NLSF, s per epoch": seconds["row"],
        "GIN, s per epoch": seconds["reference"],
        "ratio": seconds["row"] / seconds["reference"],
        "preparation, s": first,
        "from the cache, s": again,
    }


def section(options: argparse.Namespace) -> measure.Section:
    """Headline: the ratio of the epochs on every data set."""
    clock = measure.CLOCKS[options.clock]
    rows = [
        row
        for column in options.datasets
        for row in rows_of(column, threads=options.threads, repetitions=options.repetitions, clock=clock)
    ]
    return {"anlsf_epoch_over_gin": {row["data set"]: row["ratio"] for row in rows if row["threads"] == THREADS}}, rows


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"datasets": ["MUTAG"], "repetitions": 1})
    parser.add_argument("--datasets", nargs="+", choices=COLUMNS, default=list(COLUMNS))
    parser.add_argument("--repetitions", type=int, default=15)
    return parser


def title(options: argparse.Namespace) -> str:
    return f"Hidden 128, batches of 128; {options.clock} time"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
