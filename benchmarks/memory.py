"""Peak memory of a search over K candidates on SO(3), each K in a process of its own; it must not grow with K.

Ends with an error if the peak at the largest K exceeds 1.5 times the peak at the smallest, with or without what
the imports alone take.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys

import torch

from adacanon import Canonicalized, GridSearch, RandomSearch, SampleAndRefine
from adacanon.core import Maximizer
from adacanon.points import Rotations
from benchmarks import measure, networks

ALLOWED = 1.5
SEARCHES = ("random", "refined", "covering")


def search_named(name: str, candidates: int) -> Maximizer:
    if name == "covering":
        return GridSearch(candidates)
    return RandomSearch(candidates) if name == "random" else SampleAndRefine(candidates, steps=3)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peaks_of_one_search(name: str, candidates: int, options: argparse.Namespace) -> dict[str, float]:
    """Peaks in this process: after the imports and the data, and after the search."""
    network = networks.random_network(seed=options.seed)
    generator = torch.Generator().manual_seed(options.seed)
    clouds = torch.randn(options.clouds, options.points, 3, generator=generator)
    baseline = peak_megabytes()
    model = Canonicalized(network, Rotations(), search_named(name, candidates), seed=options.seed).eval()
    model.canonicalize(clouds)
    return {"baseline": baseline, "peak": peak_megabytes()}


def in_a_fresh_process(name: str, candidates: int, options: argparse.Namespace) -> dict[str, float]:
    shared = ("threads", "seed", "clouds", "points")
    settings = [text for option in shared for text in (f"--{option}", str(getattr(options, option)))]
    command = [sys.executable, "-m", "benchmarks.memory", "--one", name, str(candidates), *settings]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def rows(options: argparse.Namespace) -> list[measure.Row]:
    table = []
    for name in options.searches:
        for candidates in options.candidates:
            runs = [in_a_fresh_process(name, candidates, options) for _ in range(options.repeats)]
            peak = statistics.median(run["peak"] for run in runs)
            above = statistics.median(run["peak"] - run["baseline"] for run in runs)
            table.append({"search": name, "candidates": candidates, "peak MB": peak, "above imports MB": above})
    return table


def growth(table: list[measure.Row], name: str, column: str) -> float:
    """The peak at the largest number of candidates over that at the smallest."""
    peaks = [row[column] for row in table if row["search"] == name]
    return peaks[-1] / peaks[0]


def main() -> int:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--clouds", type=int, default=2)
    parser.add_argument("--points", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3, help="processes per row, of which the median is taken")
    parser.add_argument("--candidates", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--searches", nargs="+", choices=SEARCHES, default=list(SEARCHES))
    parser.add_argument("--one", nargs=2, metavar=("SEARCH", "K"), help="measure one search in this process")
    options = measure.start(parser)
    if options.one:
        print(json.dumps(peaks_of_one_search(options.one[0], int(options.one[1]), options)))
        return 0
    table = rows(options)
    measure.report(table, title=f"{options.clouds} clouds of {options.points} points", path=options.json)
    ratios = {(n, c): growth(table, n, c) for n in options.searches for c in ("peak MB", "above imports MB")}
    for (name, column), ratio in ratios.items():
        print(f"{name}: {column} grows by {ratio:.3f} ({'ok' if ratio <= ALLOWED else 'broken'}, allowed {ALLOWED})")
    return int(max(ratios.values()) > ALLOWED)


if __name__ == "__main__":
    raise SystemExit(main())
