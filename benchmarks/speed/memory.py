"""Peak memory of searches and of the fast training step, for growing numbers K of candidates and D of classes.

Each measurement is a process of its own (Linux only). It first does the same with one candidate, ten classes and two
clouds, so that what libraries set up once is there; then the kernel's account of the peak starts anew. The network is
small, for its own needs would hide those of the search. In megabytes: 'peak' is all memory of the process, 'above' what
is beyond that before the call, of which 'gradient' belongs to the last layer, whose size is proportional to D.

Nothing may grow with K but a covering set, which is held as a whole ('set'): the command ends with an error if some K
needs more above, without the set, than 1.5 times what the smallest K needs, and a difference beyond noise. With D grow
the scores of the candidates that are drawn at a time, 256 candidates for all inputs and classes at once ('block'), and
the winners, one transformation per input and class; the larger batch shows it.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import torch
from torch import nn

from adacanon import Canonicalized, CoarseToFine, GridSearch, RandomSearch, SampleAndRefine
from adacanon.core import Maximizer
from adacanon.experiments.clouds.searches import FAST
from adacanon.maximizers import successive_halving
from adacanon.maximizers.selection import BLOCK
from adacanon.points import Rotations
from benchmarks.clouds.pointnet_step import fast_objective, step
from benchmarks.frame import measure, networks

ALLOWED = 1.5
NOISE = 8.0
"""Megabytes by which the peaks of equal runs may differ."""

BYTES_OF_A_SCORE, BYTES_OF_A_ROTATION = 4, 72

SEARCHES: dict[str, Callable[[int], Maximizer]] = {
    "random": RandomSearch,
    "refined": lambda candidates: SampleAndRefine(candidates, steps=3),
    "covering": GridSearch,
    "coarse to fine": lambda candidates: CoarseToFine(RandomSearch(candidates), size=64),
    "successive halving": lambda candidates: successive_halving(RandomSearch(candidates)),
}
SUBJECTS = (*SEARCHES, "training step")


def action(subject: str, candidates: int, network: nn.Module, clouds: torch.Tensor) -> Callable[[], object]:
    """A search, or a training step with the fast settings."""
    if subject in SEARCHES:
        model = Canonicalized(network, Rotations(), SEARCHES[subject](candidates)).eval()
        return lambda: model.canonicalize(clouds)
    objective = fast_objective(network, draws=candidates, size=FAST["size"], samples=len(clouds))
    labels, ids = torch.zeros(len(clouds), dtype=torch.int64), torch.arange(len(clouds))
    return lambda: step(objective, lambda: objective(clouds, labels, ids).loss)


def measured(subject: str, candidates: int, classes: int, clouds: int, options: argparse.Namespace) -> measure.Row:
    """In this process."""
    generator = torch.Generator().manual_seed(options.seed)
    inputs = torch.randn(clouds, options.points, 3, generator=generator)
    action(subject, 1, networks.random_network(seed=options.seed), inputs[:2])()
    network = networks.random_network(classes, seed=options.seed)
    run = action(subject, candidates, network, inputs)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = megabytes("VmRSS")
    run()
    peak = megabytes("VmHWM")
    last = [p.grad.numel() * p.grad.element_size() / 2**20 for p in network.head[-1].parameters() if p.grad is not None]
    return {"peak": peak, "above": peak - before, "gradient": float(sum(last))}


def megabytes(name: str) -> float:
    """A line of the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def row(subject: str, candidates: int, classes: int, clouds: int, options: argparse.Namespace) -> measure.Row:
    """The median of some fresh processes."""
    case = (subject, str(candidates), str(classes), str(clouds))
    shared = [word for name in ("threads", "seed", "points") for word in (f"--{name}", str(getattr(options, name)))]
    command = [sys.executable, "-m", "benchmarks.speed.memory", *shared, "--one", *case]
    done = [subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True) for _ in range(options.repeats)]
    found = [json.loads(process.stdout) for process in done]
    sizes = {"what": subject, "K": candidates, "D": classes, "clouds": clouds}
    megabytes = {f"{name}, MB": statistics.median(one[name] for one in found) for name in found[0]}
    block = min(candidates, BLOCK) * clouds * classes * BYTES_OF_A_SCORE / 2**20
    whole = candidates * BYTES_OF_A_ROTATION / 2**20 if subject == "covering" else 0.0
    return {**sizes, **megabytes, "block, MB": block, "set, MB": whole}


def section(options: argparse.Namespace) -> measure.Section:
    """All K and D for a few clouds, and all D for a larger batch; no headline."""
    cases = [(k, d, options.clouds) for d, k in product(options.classes, options.candidates)]
    cases += [(options.candidates[0], d, options.batch) for d in options.classes]
    rows = [row(subject, *case, options) for subject in options.subjects for case in cases]
    print("\n".join(grown(rows)) or "Nothing grows with K.")
    return {}, rows


def grown(rows: list[measure.Row]) -> list[str]:
    """A line for every case whose memory grows with K."""
    lines = []
    for last in rows:
        like = [other for other in rows if all(other[name] == last[name] for name in ("what", "D", "clouds"))]
        first, now = (one["above, MB"] - one["set, MB"] for one in (min(like, key=lambda one: one["K"]), last))
        if now > max(ALLOWED * first, first + NOISE):
            lines.append(f"{last['what']}, D={last['D']}: {first:.3g} MB become {now:.3g} at K={last['K']}")
    return lines


def parser() -> argparse.ArgumentParser:
    quick = {"repeats": 1, "candidates": [10], "classes": [10], "batch": 4, "subjects": ["training step"]}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--candidates", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 40, 1_000])
    parser.add_argument("--clouds", type=int, default=2)
    parser.add_argument("--batch", type=int, default=32, help="clouds of the larger batch, for the smallest K")
    parser.add_argument("--points", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=1, help="processes per row, of which the median is taken")
    parser.add_argument("--one", nargs=4, metavar=("WHAT", "K", "D", "CLOUDS"), help="measure in this process")
    return parser


def main() -> int:
    options = measure.start(parser())
    if options.one:
        subject, candidates, classes, clouds = options.one
        print(json.dumps(measured(subject, int(candidates), int(classes), int(clouds), options)))
        return 0
    _, rows = section(options)
    measure.report(rows, title=f"Clouds of {options.points} points, a small PointNet", path=options.json)
    return int(bool(grown(rows)))


if __name__ == "__main__":
    raise SystemExit(main())
