"""What a temperature costs: time in passes of the plain network, and peak memory for growing numbers K of candidates.

Evaluations are in units of a plain evaluation, training steps in units of a plain training step, both on the same
batch; medians of interleaved repetitions. 'class scores' is a soft maximum per class; 'vectors' is a blend of vectors
that are carried back, weighed by a confidence of the network. Temperature 0 is the maximum, or the vector of one form.

Peak memory is that of a process of its own, above what the process has before the call (Linux only).
"""

import argparse
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon import Canonicalized, Confidence, Objective, RandomSearch, one_vs_rest
from adacanon.points import Rotations
from benchmarks.frame import measure, networks
from benchmarks.speed.memory import megabytes

CLASSES = 10

SUBJECTS = {
    "evaluation, class scores, temperature 0": ("class scores", 0.0, False, None),
    "evaluation, class scores, temperature 1": ("class scores", 1.0, False, None),
    "evaluation, vectors, temperature 0": ("vectors", 0.0, False, None),
    "evaluation, vectors, temperature 1": ("vectors", 1.0, False, None),
    "training, class scores, temperature 0": ("class scores", 0.0, True, None),
    "training, class scores, temperature 0, forms=2": ("class scores", 0.0, True, 2.0),
    "training, class scores, temperature 1": ("class scores", 1.0, True, None),
    "training, class scores, temperature 1, forms=2": ("class scores", 1.0, True, 2.0),
    "training, vectors, temperature 0": ("vectors", 0.0, True, None),
    "training, vectors, temperature 1": ("vectors", 1.0, True, None),
}
"""What is answered, at which temperature, whether it is a training step, and over how many forms."""


def action(subject: str, candidates: int, clouds: Tensor, seed: int) -> Callable[[], object]:
    """An evaluation or a training step, ready to be measured."""
    answers, temperature, training, forms = SUBJECTS[subject]
    search = RandomSearch(candidates)
    if answers == "vectors":
        network, targets, loss = networks.random_network(4, seed=seed), torch.zeros(len(clouds), 3), functional.mse_loss
        model = Canonicalized(
            network, Rotations(), search, prior=Confidence(), answers="vectors", temperature=temperature
        )
    else:
        network, targets, loss = (
            networks.random_network(CLASSES, seed=seed),
            torch.arange(len(clouds)) % CLASSES,
            one_vs_rest,
        )
        model = Canonicalized(network, Rotations(), search, temperature=temperature)
    if not training:
        return lambda: evaluated(model.eval(), clouds)
    objective = Objective(model, loss=loss, forms=forms).train()
    return lambda: stepped(network, lambda: objective(clouds, targets).loss)


def plain(clouds: Tensor, seed: int) -> dict[str, Callable[[], object]]:
    """The network without canonicalization."""
    network, labels = networks.random_network(CLASSES, seed=seed), torch.arange(len(clouds)) % CLASSES
    return {
        "evaluation": lambda: evaluated(network, clouds),
        "training": lambda: stepped(network, lambda: one_vs_rest(network(clouds), labels)),
    }


def evaluated(model: nn.Module, clouds: Tensor) -> None:
    with torch.no_grad():
        model(clouds)


def stepped(network: nn.Module, loss: Callable[[], Tensor]) -> None:
    network.zero_grad()
    loss().backward()


def in_passes(options: argparse.Namespace) -> list[measure.Row]:
    """One row per subject, one column per K."""
    clouds, _ = networks.clouds(options.batch, options.points, seed=options.seed)
    actions = plain(clouds, options.seed)
    for candidates in options.candidates:
        actions |= {
            f"{subject}|{candidates}": action(subject, candidates, clouds, options.seed) for subject in SUBJECTS
        }
    seconds = measure.medians(actions, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    return [
        {"passes": subject}
        | {f"K={k}": seconds[f"{subject}|{k}"] / seconds[subject.split(",")[0]] for k in options.candidates}
        for subject in SUBJECTS
    ]


def peak(subject: str, candidates: int, options: argparse.Namespace) -> float:
    """Megabytes above what this process has before the call; a small call first, for what libraries set up once."""
    clouds, _ = networks.clouds(options.clouds, options.points, seed=options.seed)
    action(subject, 1, clouds[:2], options.seed)()
    run = action(subject, candidates, clouds, options.seed)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before = megabytes("VmRSS")
    run()
    return megabytes("VmHWM") - before


def in_megabytes(options: argparse.Namespace) -> list[measure.Row]:
    """One row per subject, one column per K, each from a process of its own, forked before anything was computed."""
    rows: list[measure.Row] = []
    for subject in SUBJECTS:
        row: measure.Row = {"MB": subject}
        for candidates in options.memory:
            with get_context("fork").Pool(1) as pool:
                row[f"K={candidates}"] = pool.apply(peak, (subject, candidates, options))
        rows.append(row)
    return rows


def parser() -> argparse.ArgumentParser:
    quick = {"repetitions": 1, "candidates": [2], "memory": [2], "batch": 4, "clouds": 2, "points": 16}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.add_argument("--candidates", type=int, nargs="+", default=[4, 24], help="K of the times")
    parser.add_argument("--memory", type=int, nargs="+", default=[4, 24, 96], help="K of the memory")
    parser.add_argument("--memory-json", type=Path, default=None, help="also write the rows of the memory to this file")
    parser.add_argument("--clouds", type=int, default=8, help="batch of the memory")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--points", type=int, default=256)
    parser.add_argument("--repetitions", type=int, default=15)
    return parser


def main() -> None:
    options = measure.start(parser())
    title = f"{options.points} points, a small PointNet; {options.threads} threads"
    timed = f"Batch {options.batch}, {title}, {options.clock} time"
    measure.report(in_megabytes(options), title=f"Batch {options.clouds}, {title}", path=options.memory_json)
    measure.report(in_passes(options), title=timed, path=options.json)


if __name__ == "__main__":
    main()
