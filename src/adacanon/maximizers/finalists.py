"""Candidates on the way from a coarse view to the input: the best of each form, the pilot, the finalists."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import SearchResult
from adacanon.core.pytree import (
    Tree,
    batch_size,
    distinct_rows,
    flatten_leading,
    map_tensors,
    owners,
    take,
    tensors,
)
from adacanon.errors import InputError
from adacanon.maximizers.calibration import Calibration


@dataclass(frozen=True)
class Pilot:
    """One point (batch, *point) per input, with its scores (batch, forms) on the input itself, and by how much those on
    the view differ from them.
    """

    points: Tree
    on_input: Tensor
    shift: Tensor


def pilot_of(
    landscape: Landscape, view: Landscape, points: Tree, values: Tensor, calibration: Calibration | None = None
) -> Pilot:
    """The best of points (keep, batch, forms, *point) on a view, best first, whatever its form."""
    sample = torch.arange(landscape.batch, device=values.device)
    best = map_tensors(lambda leaf: leaf[0, sample, values[0].argmax(1)], points)
    on_input, on_view = landscape.scores(best, sample), view.scores(best, sample)
    shift = on_input - (on_view if calibration is None else calibration(on_view))
    return Pilot(best, on_input, torch.where(shift.isfinite(), shift, 0.0))


def best_few(landscape: Landscape, blocks: Iterable[Tree], keep: int) -> tuple[Tree, Tensor]:
    """The ``keep`` best candidates per input and form, best first.

    Shape:
        points (keep, batch, forms, *point), values (keep, batch, forms)
    """
    points: Tree | None = None
    values: Tensor | None = None
    for block in blocks:
        value, index = landscape(block).topk(min(keep, batch_size(block)), dim=0)
        sample = torch.arange(value.shape[1], device=value.device).unsqueeze(1)
        chosen = take(block, index, sample)
        if points is None or values is None:
            points, values = chosen, value
            continue
        both = map_tensors(lambda old, new: torch.cat([old, new]), points, chosen)
        values, order = torch.cat([values, value]).topk(min(keep, len(values) + len(value)), dim=0)
        form = torch.arange(value.shape[2], device=value.device)
        points = take(both, order, sample, form)
    if points is None or values is None:
        raise InputError("A search needs at least one candidate, got none")
    return points, values


def best_shared(landscape: Landscape, points: Tree, pilot: Pilot | None = None) -> SearchResult:
    """The best of points (count, batch, *point) and the pilot for every input and form; equal ones are evaluated once,
    and the pilot not again.
    """
    if pilot:
        points = map_tensors(lambda one, many: torch.cat([one.unsqueeze(0), many]), pilot.points, points)
    values, _ = scores_of_shared(landscape, points, pilot.on_input.unsqueeze(0) if pilot else None)
    value, index = values.max(dim=0)
    return SearchResult(
        take(points, index, torch.arange(landscape.batch, device=index.device).unsqueeze(1)), value, exact=True
    )


def shared_by_forms(points: Tree) -> Tree:
    """Points (keep, batch, n, *point) of n forms as (keep * n, batch, *point) for all of them."""
    return map_tensors(lambda leaf: leaf.transpose(1, 2).flatten(0, 1), points)


def scores_of_shared(landscape: Landscape, points: Tree, known: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Scores (count, batch, forms) of points (count, batch, *point), and which of them (count, batch) are the first of
    their kind. Equal points of an input are evaluated once.

    Args:
        known: scores (n, batch, forms) of the first n points of every input, which are not evaluated again.
    """
    count, batch = batch_size(points), landscape.batch
    pairs = flatten_leading(points, 2)
    owner = owners(batch, 1, landscape.device, count=count)
    first, inverse = distinct_rows(owner, pairs)
    begin = 0 if known is None else len(known) * batch
    new = first[first >= begin]
    table = [] if known is None else [known.flatten(0, 1)]
    if len(new):
        table.append(landscape.scores(take(pairs, new), owner[new]))
    place = torch.where(first < begin, first, begin + (first >= begin).cumsum(0) - 1)
    scores = torch.cat(table)[place[inverse]].unflatten(0, (count, batch))
    fresh = torch.zeros(count * batch, dtype=torch.bool, device=first.device).index_fill(0, first, True)
    return scores, fresh.unflatten(0, (count, batch))


def first_of_their_kind(points: Tree, batch: int) -> Tensor:
    """Which of points (count, batch, *point) equal no earlier one of the same input, (count, batch)."""
    pairs = flatten_leading(points, 2)
    owner = owners(batch, 1, tensors(points)[0].device, count=batch_size(points))
    first, _ = distinct_rows(owner, pairs)
    fresh = torch.zeros(len(owner), dtype=torch.bool, device=first.device).index_fill(0, first, True)
    return fresh.unflatten(0, (-1, batch))


def strongest(values: Tensor, count: int) -> Tensor:
    """The forms (batch, count) of largest value (batch, forms), all of them if there are fewer."""
    return values.topk(min(count, values.shape[1])).indices


def places(form: Tensor) -> tuple[Tensor, Tensor]:
    """Where the forms (batch, n) of each input stand in tensors (batch, forms, ...)."""
    return torch.arange(len(form), device=form.device).unsqueeze(1), form
