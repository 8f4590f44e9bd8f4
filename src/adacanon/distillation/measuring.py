"""How often a cascade gives the answer of the full search, from values and estimates that are known."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.evaluation_mode import in_evaluation_mode
from adacanon.core.prior import ClassScore, Monotone
from adacanon.core.soft import soft_maximum
from adacanon.distillation.learning import estimates_of
from adacanon.distillation.lessons import Lesson
from adacanon.maximizers.cascade import ordered, taken
from adacanon.maximizers.ranker import Ranker


@dataclass(frozen=True)
class Measured:
    """What a cascade costs and loses, on inputs that its ranker has not learned from.

    Attributes:
        inputs: on which it was measured.
        agreement: share of them for which the answer is that of the full search: the class of largest score, or with
            one shared form the chosen candidate.
        agreements: the same with 1, 2, ... finalists, up to all candidates.
        error: mean distance of the largest score from that of the full search, in units of the score.
        evaluations: cost of an answer in evaluations of the network, those of the ranker counted by their share of its
            operations.
        full_evaluations: cost of the full search.

    Example:
        >>> Measured(100, 0.99, (0.9, 0.97, 0.99, 1.0), 0.01, 3.4, 4.0).agreements[0]
        0.9
    """

    inputs: int
    agreement: float
    agreements: tuple[float, ...]
    error: float
    evaluations: float
    full_evaluations: float


@torch.no_grad()
def measured(ranker: Ranker, model: Canonicalized, lessons: list[Lesson], finalists: int) -> Measured:
    """The answers with every number of finalists, against those of the model's full search."""
    most = max(len(lesson.values) for lesson in lessons)
    same, error, inputs = torch.zeros(most), 0.0, 0
    for lesson in lessons:
        with in_evaluation_mode(ranker) as light:
            estimates = estimates_of(light, model.family, lesson)
        scores = scores_by_finalists(lesson.values, estimates, model)
        full = scores[-1]
        agreed = agreements(lesson.values, estimates, scores, model)
        same += torch.nn.functional.pad(agreed, (0, most - len(agreed)), value=float(full.shape[0]))
        found = scores[min(finalists, len(scores)) - 1]
        error += float((found.amax(1) - full.amax(1)).abs().sum())
        inputs += full.shape[0]
    shares = (same / inputs).tolist()
    cost = finalists + float(ranker.cost) * most if most > finalists else float(most)
    return Measured(
        inputs=inputs,
        agreement=shares[min(finalists, most) - 1],
        agreements=tuple(shares),
        error=error / inputs,
        evaluations=cost,
        full_evaluations=float(most),
    )


def scores_by_finalists(values: Tensor, estimates: Tensor, model: Canonicalized) -> list[Tensor]:
    """The scores (batch, forms) with 1, 2, ... finalists; the last ones are those of the full search.

    Args:
        values: of the network, (candidates, batch, forms).
        estimates: of the ranker, in the same shape.
    """
    order = ordered(estimates)
    true, guessed = taken(values, order), taken(estimates, order)
    counts: Iterable[int] = range(1, len(values) + 1)
    if model.temperature is None or model.prior.shared:
        return [_scores(model, true[:m].amax(0)) for m in counts]
    temperature = model.temperature()
    return [_scores(model, soft_maximum(torch.cat([true[:m], guessed[m:]]), temperature)) for m in counts]


def agreements(values: Tensor, estimates: Tensor, scores: list[Tensor], model: Canonicalized) -> Tensor:
    """How many inputs have the answer of the full search, (candidates,), with 1, 2, ... finalists."""
    if not model.prior.shared:
        return torch.stack([(some.argmax(1) == scores[-1].argmax(1)).sum() for some in scores]).cpu().float()
    best = values.amax(2).argmax(0)
    place = (ordered(estimates) == best).int().argmax(0)
    return (place.cpu().unsqueeze(0) <= torch.arange(len(values)).unsqueeze(1)).sum(1).float()


def _scores(model: Canonicalized, ranks: Tensor) -> Tensor:
    """Class scores; with a prior of one's own, what it ranks by."""
    return model.prior.scores_of(ranks) if isinstance(model.prior, ClassScore | Monotone) else ranks
