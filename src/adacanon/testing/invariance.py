"""Invariance of a model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.pytree import Tree, batch_size, cast_like, take, tensors


def assert_invariant(
    model: Callable[[Any], Tensor],
    g: Any,
    action: Family | Callable[[Any], Any],
    *,
    tolerance: float,
    draws: int = 4,
    generator: torch.Generator | None = None,
) -> float:
    r""":math:`|f(\kappa_u(g)) - f(g)| \le \text{tolerance}`, for every sample, output and action u.

    Args:
        model: from a batch to outputs (batch, ...).
        g: the batch.
        action: a map from batches to batches, or a family from inputs to inputs, whose transformations are then drawn
            anew for every sample.
        tolerance: the largest change allowed.
        draws: how many random transformations of a family each sample meets.
        generator: for these draws.

    Returns:
        the largest change of any output.

    Example:
        >>> from adacanon.points import Rotations
        >>> clouds = torch.randn(2, 10, 3, dtype=torch.float64)
        >>> worst = assert_invariant(lambda x: x.norm(dim=2).sum(1, keepdim=True), clouds, Rotations(), tolerance=1e-9)
        >>> worst < 1e-9
        True
    """
    actions = _actions(action, draws, generator or torch.Generator().manual_seed(0))
    with torch.no_grad():
        before = model(g)
        changes = torch.stack([largest_change(before, model(act(g))) for act in actions])
    worst = float(changes.max())
    if not worst <= tolerance:
        draw, sample = divmod(int(changes.nan_to_num(torch.inf).argmax()), changes.shape[1])
        raise AssertionError(
            f"The model is not invariant: transformation {draw} of {len(actions)} changed its output "
            f"for sample {sample} by {worst:.3g}, more than {tolerance:.3g} "
            f"(outputs spread over {float(before.max() - before.min()):.3g})"
        )
    return worst


def _actions(
    action: Family | Callable[[Any], Any], draws: int, generator: torch.Generator
) -> list[Callable[[Any], Any]]:
    if not isinstance(action, Family):
        return [action]
    if draws < 1:
        raise AssertionError(f"assert_invariant needs at least one draw, got {draws}")
    return [lambda g: _transformed(action, g, generator)] * draws


def _transformed(family: Family, g: Any, generator: torch.Generator) -> Any:
    return randomly_transformed(family, family.prepare(g), generator)[0]


def randomly_transformed(family: Family, g: Tree, generator: torch.Generator) -> tuple[Tree, Tree]:
    """A prepared batch with a random transformation of every sample, and the transformations."""
    space, rows = family.space(g), torch.arange(batch_size(g), device=tensors(g)[0].device)
    points = cast_like(space.sample(rows.shape[0], generator=generator), g)
    u = points if space.members is None else take(points, rows, rows)
    return family.transform(g, u, rows), u


def largest_change(before: Tensor, after: Tensor) -> Tensor:
    """The largest change per sample; NaN where an output is not a number."""
    if before.shape != after.shape:
        raise AssertionError(f"The outputs changed their shape from {tuple(before.shape)} to {tuple(after.shape)}")
    return (after - before).abs().flatten(1).amax(1)
