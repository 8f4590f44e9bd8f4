"""Equivariance of a model whose answers move with the input."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from adacanon.core.answers import Kind
from adacanon.core.family import Family
from adacanon.core.pytree import expand_over
from adacanon.testing.invariance import largest_change, randomly_transformed


def assert_equivariant(
    model: Callable[[Any], Tensor],
    g: Any,
    action: Family | Callable[[Any], Any],
    answers: Kind | Callable[[Tensor], Tensor],
    *,
    tolerance: float,
    draws: int = 4,
    generator: torch.Generator | None = None,
) -> float:
    r""":math:`|f(\kappa_u(g)) - u f(g)| \le \text{tolerance}`, for every sample, number of an answer and action u.

    Args:
        model: from a batch to answers (batch, ...).
        g: the batch.
        action: a map from batches to batches, or a family from inputs to inputs, whose transformations are then drawn
            anew for every sample.
        answers: the same action on answers: a map from answers to answers, or with a family the kind of the answers.
            They are then carried back by :meth:`Family.act` and compared with those for the input, maps where all of a
            pixel has a source.
        tolerance: the largest difference allowed.
        draws: how many random transformations of a family each sample meets.
        generator: for these draws.

    Returns:
        the largest difference of any answer.

    Example:
        >>> from adacanon.points import Rotations
        >>> clouds = torch.randn(2, 10, 3, dtype=torch.float64)
        >>> worst = assert_equivariant(lambda x: x.mean(1), clouds, Rotations(), "vectors", tolerance=1e-9)
        >>> worst < 1e-9
        True
        >>> worst = assert_equivariant(lambda x: x.mean(1), clouds, lambda x: 2 * x, lambda v: 2 * v, tolerance=1e-9)
        >>> worst < 1e-9
        True
    """
    if isinstance(action, Family) != isinstance(answers, str) or draws < 1:
        raise AssertionError(
            "assert_equivariant needs two functions, one on batches and one on answers, or a family and the kind of "
            f"the answers, and at least one draw; got {action!r}, {answers!r} and {draws} draws"
        )
    generator = generator or torch.Generator().manual_seed(0)
    with torch.no_grad():
        if isinstance(action, Family) and isinstance(answers, str):
            changes = [_carried_change(model, g, action, answers, generator) for _ in range(draws)]
        else:
            changes = [largest_change(answers(model(g)), model(action(g)))]  # type: ignore[operator]
    stacked = torch.stack(changes)
    worst = float(stacked.max())
    if not worst <= tolerance:
        draw, sample = divmod(int(stacked.nan_to_num(torch.inf).argmax()), stacked.shape[1])
        raise AssertionError(
            f"The model is not equivariant: transformation {draw} of {len(changes)} moved its answer for sample "
            f"{sample} elsewhere, {worst:.3g} away from where it belongs, more than {tolerance:.3g}"
        )
    return worst


def _carried_change(
    model: Callable[[Any], Tensor], g: Any, family: Family, kind: Kind, generator: torch.Generator
) -> Tensor:
    moved, u = randomly_transformed(family, family.prepare(g), generator)
    carried = family.act(u, model(moved), kind)
    before = model(g)
    if carried.known is None:
        return largest_change(before, carried.answers)
    whole = carried.known >= 1 - 1e-6
    if not bool(whole.flatten(1).any(1).all()):
        raise AssertionError("assert_equivariant has nothing to compare: no pixel of an answer has a source")
    return largest_change(before * whole, torch.where(expand_over(whole, before), carried.answers, 0.0))
