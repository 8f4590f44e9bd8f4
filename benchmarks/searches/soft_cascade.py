"""A cascade under a temperature, and along paths: what estimates do to soft maxima, and what finalists to continuity.

The AC-PointNet of ``benchmarks.searches.cascade`` with its ranker. The error of a soft maximum is that of the score of
the class that the full search predicts, and the mean over all classes, in units of the score. Paths are those on which
two principal axes of a cloud change places; a jump is the largest change of a score between neighbours.
"""

import argparse
from dataclasses import replace

import torch
from torch import Tensor

from adacanon import Canonicalized, Cascade
from adacanon.core.soft import soft_maximum
from adacanon.distillation.distilling import with_search
from adacanon.distillation.learning import estimates_of
from adacanon.distillation.lessons import Lesson, lessons_of
from adacanon.experiments.clouds.invariance_errors import crossing_paths, largest_jumps, scored_on
from adacanon.maximizers.cascade import ordered, taken
from benchmarks.frame import measure
from benchmarks.frame.cascade_networks import Subject
from benchmarks.searches.cascade import BATCH, FIRST, made, some

FINALISTS = (1, 2, 3, 5, 8)


def section(options: argparse.Namespace) -> measure.Section:
    """No headline: errors by temperature and finalists, and after them jumps."""
    subject, model = made(FIRST, options)
    assert isinstance(model.search, Cascade)
    chosen = some(getattr(subject.split, options.part), options.inputs)
    batches = subject.samples[chosen].split(BATCH)
    _, lessons = lessons_of(subject.model, batches, model.search.ranker)
    with torch.no_grad():
        estimates = torch.cat([estimates_of(model.search.ranker, model.family, lesson) for lesson in lessons], 1)
    values = joined(lessons)
    rows = [errors(values, estimates, tau, m) for tau in options.temperatures for m in FINALISTS]
    for row, jump in zip(rows, jumps(subject, model, options), strict=False):
        row["jump, full"], row["jump, cascade"] = jump
    return {}, rows


def joined(lessons: list[Lesson]) -> Tensor:
    return torch.cat([lesson.values for lesson in lessons], 1)


def errors(values: Tensor, estimates: Tensor, tau: float, finalists: int) -> measure.Row:
    """Soft maxima with estimates in the place of all but the finalists, and over the finalists alone. At temperature
    zero a cascade takes no estimates, so that both are the same.
    """
    order = ordered(estimates)
    true, guessed = taken(values, order), taken(estimates, order)
    full = soft_maximum(values, tau)
    alone = soft_maximum(true[:finalists], tau)
    mixed = soft_maximum(torch.cat([true[:finalists], guessed[finalists:]]), tau) if tau else alone
    predicted = full.argmax(1, keepdim=True)

    def error(found: Tensor, index: Tensor | None = None) -> float:
        difference = (found - full).abs()
        return float((difference if index is None else difference.gather(1, index)).mean())

    return {
        "temperature": tau,
        "finalists": finalists,
        "error, predicted class": error(mixed, predicted),
        "finalists alone, predicted class": error(alone, predicted),
        "error, all classes": error(mixed),
        "finalists alone, all classes": error(alone),
        "other prediction, %": 100 * float((mixed.argmax(1) != full.argmax(1)).double().mean()),
        "finalists alone, other, %": 100 * float((alone.argmax(1) != full.argmax(1)).double().mean()),
        "jump, full": float("nan"),
        "jump, cascade": float("nan"),
    }


def jumps(subject: Subject, model: Canonicalized, options: argparse.Namespace) -> list[tuple[float, float]]:
    """Mean of the largest jumps over some paths, of the full search and of cascades, for all rows in their order."""
    paths = crossing_paths(subject.samples[some(getattr(subject.split, options.part), options.paths)], options.clouds)
    found = []
    for tau in options.temperatures:
        whole = _jump(_with(subject.model, tau), paths)
        for m in FINALISTS:
            search = replace(model.search, finalists=m)  # type: ignore[type-var]
            found.append((whole, _jump(_with(with_search(model, search), tau), paths)))
    return found


def _jump(model: Canonicalized, paths: Tensor) -> float:
    return float(largest_jumps(scored_on(model, paths, batch=BATCH)).mean())


def _with(model: Canonicalized, tau: float) -> Canonicalized:
    """The same model with a temperature."""
    options = {"training_search": model.training_search, "temperature": tau}
    return Canonicalized(model.network, model.family, model.search, **options).eval()  # type: ignore[arg-type]


def parser() -> argparse.ArgumentParser:
    quick = {"inputs": 8, "learned": 64, "unseen": 64, "steps": 2, "paths": 1, "clouds": 4}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.add_argument("--inputs", type=int, default=192, help="whose soft maxima are compared")
    parser.add_argument("--learned", type=int, default=None, help="inputs for the ranker, if not those of the case")
    parser.add_argument("--unseen", type=int, default=None, help="inputs for its caution, if not those of the case")
    parser.add_argument("--steps", type=int, default=500, help="of the ranker's training")
    parser.add_argument("--temperatures", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--paths", type=int, default=2)
    parser.add_argument("--clouds", type=int, default=33, help="on a path")
    parser.add_argument("--part", choices=("validation", "test"), default="test")
    return parser


def title(options: argparse.Namespace) -> str:
    return f"{options.inputs} {options.part} clouds, {options.paths} paths of {options.clouds} clouds"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
