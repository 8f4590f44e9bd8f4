"""The rules that are compared: numbers of candidates and temperatures, all from the same forward passes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.soft import soft_maximum
from adacanon.diagnosis.readings import Answers, answers
from adacanon.errors import InputError

CANDIDATES = (1, 4, 16, 64)
TEMPERATURES = (0.0, 0.3, 1.0, 3.0, math.inf)


@dataclass(frozen=True)
class Rule:
    r"""The soft maximum :math:`S_\tau` over the first K candidates; 0 is the maximum, infinity the mean."""

    candidates: int
    temperature: float = 0.0


ALONE = Rule(1)
"""The first candidate is the input itself."""


def rules_of(candidates: Sequence[int], temperatures: Sequence[float]) -> list[Rule]:
    """The network alone, then the maximum over every number of candidates, then the soft rules.

    Example:
        >>> [(rule.candidates, rule.temperature) for rule in rules_of((1, 4), (0.0, 1.0))]
        [(1, 0.0), (1, 0.0), (4, 0.0), (4, 1.0)]
    """
    if not candidates or any(not isinstance(count, int) or count < 1 for count in candidates):
        raise InputError(f"candidates must be positive whole numbers, got {list(candidates)}. Hint: (1, 4, 16, 64)")
    if any(not isinstance(value, int | float) or not value >= 0 for value in temperatures):
        raise InputError(f"Temperatures must be numbers from 0 to infinity, got {list(temperatures)}")
    counts, soft = sorted(set(candidates)), sorted({float(value) for value in temperatures if value > 0})
    return [
        ALONE,
        *(Rule(count) for count in counts),
        *(Rule(count, temperature) for count in counts if count > 1 for temperature in soft),
    ]


def answers_of(rules: Sequence[Rule], scores: Tensor) -> Answers:
    """Of every rule (rules, samples), from scores (samples, candidates, classes)."""
    by_candidate = scores.to(torch.promote_types(scores.dtype, torch.float32)).transpose(0, 1)
    found = [answers(_combined(by_candidate[: rule.candidates], rule.temperature)) for rule in rules]
    return Answers(torch.stack([a.predicted for a in found]), torch.stack([a.confidence for a in found]))


def _combined(values: Tensor, temperature: float) -> Tensor:
    """The soft maximum over the first axis; both ends of the dial are cheaper without it."""
    if temperature == 0:
        return values.amax(0)
    return values.mean(0) if math.isinf(temperature) else soft_maximum(values, temperature)


def joined(parts: Sequence[Answers]) -> Answers:
    """Answers of several batches."""
    return Answers(torch.cat([a.predicted for a in parts], 1), torch.cat([a.confidence for a in parts], 1))
