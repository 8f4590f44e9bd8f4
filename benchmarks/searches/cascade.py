"""A cascade against the full search: what it costs in plain passes of the network, and what it loses.

Three trained models (``benchmarks.frame.cascade_networks``): AC-PointNet on ModelNet40 clouds of 1,024 points and
AC-DGCNN on ModelNet10, both under the 24 rotations into principal axes, and a small AC-CNN on digits under 48 angles.
Each gets a ranker by ``adacanon.distil`` on inputs that its network was trained on. How cautious the cascade is follows
from training samples that the network was not trained on, and everything is reported on test samples, on which nothing
was chosen. Plain pass and search take turns batch by batch, and for single inputs one by one.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon import Canonicalized, Cascade, distil
from adacanon.distillation.distilling import with_search
from adacanon.folders import cache_folder
from adacanon.runs.run import Run
from adacanon.training.checkpoint import load_checkpoint, save_checkpoint
from benchmarks.frame import cascade_networks, measure
from benchmarks.frame.cascade_networks import ANGLES, Subject
from benchmarks.searches.evaluation_cost import TOLERANCE, timed

BATCH = 32
FIRST = "AC-PointNet"
ANCHORS, SINGLES = 24, 24
ON_CLOUDS = (FIRST, "AC-DGCNN")


@dataclass(frozen=True)
class Case:
    """A model, and how its cascade is made.

    Attributes:
        subject: trains the model, or finds it in the cache folder.
        learned: inputs for the ranker.
        unseen: inputs, unknown to network and ranker, that its caution follows from.
        finalists: that the network looks at on average, so many as the goal for the cost leaves room for.
        most: of them for one input.
        quick: what the model is where only the program is tested.
    """

    subject: Callable[..., Subject]
    learned: int
    unseen: int
    finalists: float
    most: int
    quick: dict[str, Any]


CASES = {
    FIRST: Case(cascade_networks.pointnet, 1600, 640, 2.6, 16, {"points": 64, "few": 32, "epochs": 0, "last": 0}),
    "AC-DGCNN": Case(cascade_networks.dgcnn, 960, 480, 3.0, 12, {"points": 32, "epochs": 0, "k": 4}),
    "AC-CNN": Case(cascade_networks.digits, 2880, 960, 2.0, 16, {"epochs": 0}),
}


def section(options: argparse.Namespace) -> measure.Section:
    """Headlines: passes per answer, where the accuracy of the full search is kept, and with clouds no rotation changes
    a prediction; time for a single input over a plain pass.
    """
    rows = [compared(name, *made(name, options), options) for name in options.cases]
    headline = {
        "eval_forwards_cascade": {row["model"]: row["passes"] if keeps(row) else float("inf") for row in rows},
        "latency_batch1": {row["model"]: row["single, passes"] for row in rows},
    }
    return headline, rows


def keeps(row: measure.Row) -> bool:
    """Angles of images are a grid, with which no search is exactly invariant."""
    moved = row["changed by a rotation"] if row["model"] in ON_CLOUDS else 0
    return row["accuracy"] >= row["full accuracy"] - TOLERANCE and not moved


def made(name: str, options: argparse.Namespace) -> tuple[Subject, Canonicalized]:
    """A model with its full search, and the same with a cascade, whose ranker is kept in the cache folder."""
    case = CASES[name]
    subject = case.subject(**(case.quick if options.quick else {}))
    learned = some(subject.split.train, options.learned or case.learned)
    unseen = some(subject.split.validation, options.unseen or case.unseen)
    numbers = {"finalists": case.finalists, "most": case.most}
    settings = {"learned": len(learned), "unseen": len(unseen), "steps": options.steps, "quick": options.quick}
    run = Run.of("cascade", name, "ranker", 0, {**settings, **numbers})
    path = cache_folder() / "benchmarks" / f"ranker-{run.key}.pt"
    batches, others = (list(subject.turned(subject.samples[part]).split(BATCH)) for part in (learned, unseen))
    kept = load_checkpoint(path)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        if kept is None:
            found = distil(subject.model, batches, validation=others, steps=options.steps, show=False, **numbers)  # type: ignore[arg-type]
            print(f"  {found}", flush=True)
            save_checkpoint(path, {"model": found.model.state_dict()})
            return subject, found.model.eval()
        forms = subject.model(batches[0][:1]).shape[1]
        ranker = subject.model.family.ranker(subject.model.prepare(batches[0]), forms, subject.model.network)
    model = with_search(subject.model, Cascade(subject.model.search, ranker, finalists=case.most))  # type: ignore[arg-type]
    model.load_state_dict(kept["model"])
    return subject, model.eval()


def compared(name: str, subject: Subject, model: Canonicalized, options: argparse.Namespace) -> measure.Row:
    """Accuracy and cost of both searches on inputs of one part."""
    chosen = some(getattr(subject.split, options.part), options.inputs)
    inputs, labels = subject.samples[chosen], subject.labels[chosen]
    clock = measure.CLOCKS[options.clock]
    network = subject.model.network
    full, full_passes = timed(subject.model, network, inputs, clock)  # type: ignore[arg-type]
    found, passes = timed(model, network, inputs, clock)  # type: ignore[arg-type]
    turned, _ = timed(model, network, subject.turned(inputs), clock)  # type: ignore[arg-type]
    assert isinstance(model.search, Cascade)
    return {
        "model": name,
        "inputs": len(chosen),
        "finalists": finalists_of(model, inputs),
        "ranker over network": float(model.search.ranker.cost),
        "full accuracy": share(full == labels),
        "accuracy": share(found == labels),
        "other than full, %": share(found != full),
        "changed by a rotation": int((turned != found).sum()),
        "full, passes": full_passes,
        "passes": passes,
        **single(subject, model, inputs, options),
    }


def finalists_of(model: Canonicalized, inputs: Tensor) -> float:
    """How many an input has on average, without what the ranker costs."""
    assert isinstance(model.search, Cascade)
    ranked = ANGLES if len(inputs[0]) == 1 else ANCHORS
    evaluations = [len(part) * float(model.canonicalize(part).evaluations) for part in inputs.split(BATCH)]
    return sum(evaluations) / len(inputs) - ranked * float(model.search.ranker.cost)


def single(subject: Subject, model: Canonicalized, inputs: Tensor, options: argparse.Namespace) -> dict[str, float]:
    """Inputs one by one, because their numbers of finalists differ: medians of interleaved calls, in plain passes."""
    ones = inputs[:: max(1, len(inputs) // SINGLES)][:SINGLES].split(1)
    networks = {"plain": subject.model.network, "cascade": model, "full": subject.model}
    calls: dict[str, Callable[[], Any]] = {
        name: lambda network=network: [network(one) for one in ones]  # type: ignore[misc]
        for name, network in networks.items()
    }
    with torch.no_grad():
        seconds = measure.medians(calls, repetitions=options.repetitions, clock=measure.CLOCKS[options.clock])
    return {
        "single, passes": seconds["cascade"] / seconds["plain"],
        "single full, passes": seconds["full"] / seconds["plain"],
    }


def some(numbers: Tensor, count: int) -> Tensor:
    """Samples evenly spaced over a part, whose classes stand one after the other."""
    return numbers[:: max(1, len(numbers) // count)][:count]


def share(which: Tensor) -> float:
    return 100 * float(which.double().mean())


def parser() -> argparse.ArgumentParser:
    quick = {"inputs": 8, "learned": 64, "unseen": 64, "steps": 2, "repetitions": 1}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--inputs", type=int, default=600, help="that are reported on")
    parser.add_argument("--learned", type=int, default=None, help="inputs for the ranker, if not those of the case")
    parser.add_argument("--unseen", type=int, default=None, help="inputs for its caution, if not those of the case")
    parser.add_argument("--steps", type=int, default=500, help="of the ranker's training")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--part", choices=("validation", "test"), default="test", help="settings: on validation")
    return parser


def title(options: argparse.Namespace) -> str:
    return f"{options.inputs} {options.part} inputs, {options.threads} threads, {options.clock} time"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
