"""A cascade from memory: what it asks and finds where everything is known, and how cautious it should be."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.evaluation_mode import in_evaluation_mode
from adacanon.distillation.learning import estimates_of
from adacanon.distillation.lessons import Lesson
from adacanon.maximizers.asking import Answers, ask_until_settled
from adacanon.maximizers.cascade import ordered
from adacanon.maximizers.ranker import Ranker
from adacanon.maximizers.ranker_errors import RankerErrors

LEAST, MOST, HALVINGS = -8.0, 32.0, 24
"""Between which cautions the right one is looked for, and how often the interval is halved."""


@dataclass(frozen=True)
class Exercise:
    """What the network says of all candidates of some inputs, and what the ranker says: (candidates, batch, forms)."""

    values: Tensor
    estimates: Tensor


@torch.no_grad()
def exercises_of(ranker: Ranker, model: Canonicalized, lessons: Sequence[Lesson]) -> list[Exercise]:
    """The estimates of a ranker beside the values of lessons with all candidates."""
    with in_evaluation_mode(ranker) as light:
        return [Exercise(lesson.values, estimates_of(light, model.family, lesson)) for lesson in lessons]


def settle(
    errors: RankerErrors, exercises: Sequence[Exercise], model: Canonicalized, *, finalists: float, most: int
) -> int:
    """Measure the errors of a ranker, and take the largest caution with so many finalists on average; the most for one
    input are returned. The same number for all where a soft answer has no classes that could overtake each other.
    """
    values, estimates = (torch.cat([getattr(some, name) for some in exercises], 1) for name in ("values", "estimates"))
    errors.measure(values, estimates)
    errors.caution.fill_(torch.inf)
    one_answer = model.prior.shared or values.shape[2] == 1
    if one_answer and model.temperature is not None:
        return round(finalists)
    if most > finalists and len(values) > finalists:
        errors.caution.fill_(_caution(errors, exercises, model, finalists, most))
    return most


def asked(errors: RankerErrors, exercise: Exercise, model: Canonicalized, most: int) -> Answers:
    """The questions of a cascade, answered from memory."""
    if not errors.settles:
        return _first(exercise, most)

    def ask(candidate: Tensor, owner: Tensor) -> Tensor:
        return exercise.values[candidate, owner]

    temperature = None if model.temperature is None else model.temperature().detach()
    return ask_until_settled(exercise.estimates, ask, errors, most=most, temperature=temperature)


def _first(exercise: Exercise, count: int) -> Answers:
    """As many of every input as the ranker puts first."""
    first = ordered(exercise.estimates)[:count]
    known = exercise.values.new_zeros(exercise.values.shape[:2], dtype=torch.bool).scatter(0, first, True)
    return Answers(torch.where(known.unsqueeze(2), exercise.values, exercise.estimates), known)


def questions(errors: RankerErrors, exercises: Sequence[Exercise], model: Canonicalized, most: int) -> float:
    """How many an input takes on average."""
    counts = [asked(errors, exercise, model, most).known.sum(0) for exercise in exercises]
    return float(torch.cat(counts).double().mean())


def _caution(
    errors: RankerErrors, exercises: Sequence[Exercise], model: Canonicalized, finalists: float, most: int
) -> float:
    low, high = LEAST, MOST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        errors.caution.fill_(middle)
        if questions(errors, exercises, model, most) > finalists:
            high = middle
        else:
            low = middle
    return low
