"""How often a cascade gives the answer of the full search, from values and estimates that are known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.prior import ClassScore, Monotone
from adacanon.core.soft import soft_maximum
from adacanon.distillation.exercises import Exercise, asked
from adacanon.maximizers.asking import Answers
from adacanon.maximizers.cascade import ordered, taken
from adacanon.maximizers.ranker import Ranker


@dataclass(frozen=True)
class Measured:
    """What a cascade costs and loses, on inputs that its ranker has not learned from.

    Attributes:
        inputs: on which it was measured.
        agreement: share of them for which the answer is that of the full search: the class of largest score, or with
            one shared form the chosen candidate.
        agreements: the same with 1, 2, ... finalists for every input, up to all candidates.
        error: mean distance of the largest score from that of the full search, in units of the score.
        finalists: of an input, on average.
        evaluations: cost of an answer in evaluations of the network, those of the ranker counted by their share of its
            operations.
        full_evaluations: cost of the full search.

    Example:
        >>> Measured(100, 0.99, (0.9, 0.97, 0.99, 1.0), 0.01, 3.0, 3.4, 4.0).agreements[0]
        0.9
    """

    inputs: int
    agreement: float
    agreements: tuple[float, ...]
    error: float
    finalists: float
    evaluations: float
    full_evaluations: float


@torch.no_grad()
def measured(ranker: Ranker, model: Canonicalized, exercises: Sequence[Exercise], most: int) -> Measured:
    """The answers of a cascade, and those with every number of finalists, against those of the model's full search."""
    candidates = max(len(exercise.values) for exercise in exercises)
    same, right, error, count, inputs = torch.zeros(candidates), 0.0, 0.0, 0.0, 0
    for exercise in exercises:
        scores = scores_by_finalists(exercise, model)
        agreed = agreements(exercise, scores, model)
        same += torch.nn.functional.pad(agreed, (0, candidates - len(agreed)), value=float(len(scores[-1])))
        answers = asked(ranker.errors, exercise, model, most)
        found = scores_of(answers, model)
        right += float(_agreeing(exercise, answers, found, scores[-1], model).sum())
        error += float((found.amax(1) - scores[-1].amax(1)).abs().sum())
        count += float(answers.known.sum())
        inputs += len(found)
    ranked = float(ranker.cost) * candidates if candidates > most or ranker.errors.settles else 0.0
    return Measured(
        inputs=inputs,
        agreement=right / inputs,
        agreements=tuple((same / inputs).tolist()),
        error=error / inputs,
        finalists=count / inputs,
        evaluations=count / inputs + ranked,
        full_evaluations=float(candidates),
    )


def scores_of(answers: Answers, model: Canonicalized) -> Tensor:
    """The scores (batch, forms) of a cascade: of the candidates that were asked about, under a temperature of all."""
    if model.temperature is None or model.prior.shared:
        return _scores(model, answers.values.masked_fill(~answers.known.unsqueeze(2), -torch.inf).amax(0))
    return _scores(model, soft_maximum(answers.values, model.temperature()))


def _agreeing(exercise: Exercise, answers: Answers, found: Tensor, full: Tensor, model: Canonicalized) -> Tensor:
    """Which inputs have the answer of the full search: the class, or with one shared form the candidate."""
    if not model.prior.shared:
        return found.argmax(1) == full.argmax(1)
    best = exercise.values.amax(2).argmax(0, keepdim=True)
    return answers.known.gather(0, best).squeeze(0)


def scores_by_finalists(exercise: Exercise, model: Canonicalized) -> list[Tensor]:
    """The scores (batch, forms) with 1, 2, ... finalists; the last ones are those of the full search."""
    values, estimates = exercise.values, exercise.estimates
    order = ordered(estimates)
    true, guessed = taken(values, order), taken(estimates, order)
    counts: Iterable[int] = range(1, len(values) + 1)
    if model.temperature is None or model.prior.shared:
        return [_scores(model, true[:m].amax(0)) for m in counts]
    temperature = model.temperature()
    return [_scores(model, soft_maximum(torch.cat([true[:m], guessed[m:]]), temperature)) for m in counts]


def agreements(exercise: Exercise, scores: list[Tensor], model: Canonicalized) -> Tensor:
    """How many inputs have the answer of the full search, (candidates,), with 1, 2, ... finalists."""
    if not model.prior.shared:
        return torch.stack([(some.argmax(1) == scores[-1].argmax(1)).sum().cpu() for some in scores]).float()
    best = exercise.values.amax(2).argmax(0)
    place = (ordered(exercise.estimates) == best).int().argmax(0)
    return (place.cpu().unsqueeze(0) <= torch.arange(len(exercise.values)).unsqueeze(1)).sum(1).float()


def _scores(model: Canonicalized, ranks: Tensor) -> Tensor:
    """Class scores; with a prior of one's own, what it ranks by."""
    return model.prior.scores_of(ranks) if isinstance(model.prior, ClassScore | Monotone) else ranks
