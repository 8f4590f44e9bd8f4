"""How much the answer changes if the input is moved: with the search, and for the network alone."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_structure

from adacanon.core.answers import Carried, carried_back, settled
from adacanon.core.model import CanonicalizedModel
from adacanon.core.pytree import Tree, flatten_leading, map_tensors, owners, slice_rows, tensors
from adacanon.core.space import candidates
from adacanon.explain.changes import Change, change
from adacanon.explain.class_axis import class_axis
from adacanon.explain.given_graphs import as_read, graphs_in, renumbered
from adacanon.explain.scores import Scores, evaluating
from adacanon.explain.subject import Subject, family_name

RENUMBERINGS = 4
"""Of a graph, at most; its spectrum is computed anew each time."""


@dataclass(frozen=True)
class Moved:
    """What happened when the inputs were moved.

    Attributes:
        how: what was done to them.
        moves: how often.
        model: the changes for every input.
        alone: the same for the network without the search, or None if it was not asked.
        parts: what has a class of its own, "points" or "pixels"; empty if the input as a whole has one.
    """

    how: str
    moves: int
    model: list[Change]
    alone: list[Change] | None = None
    parts: str = ""


def moved(subject: Subject, model: CanonicalizedModel, scores: Scores, moves: int) -> Moved | None:
    """Move the inputs at random and run the model again; None where the family does not act on inputs."""
    with torch.no_grad(), evaluating(model) as twin:
        if _maps_inputs_to_inputs(scores):
            return _by_family(subject, twin, scores, moves)
        graphs = graphs_in(subject.found.given)
        if graphs is None:
            return None
        return _by_renumbering([graphs[i] for i in subject.rows.tolist()], twin, min(moves, RENUMBERINGS))


def _maps_inputs_to_inputs(scores: Scores) -> bool:
    """Whether a transformed input is an input again: the same tensors, of the same shapes."""
    g = scores.landscape.g
    owner = torch.arange(scores.landscape.batch, device=scores.landscape.device)
    form = scores.landscape.family.transform(g, flatten_leading(_identity(scores), 2), owner)
    if tree_structure(form) != tree_structure(g):
        return False
    return all(a.shape == b.shape and a.dtype == b.dtype for a, b in zip(tensors(form), tensors(g), strict=True))


def _identity(scores: Scores) -> Tree:
    """The transformations (1, inputs, *point) that change nothing."""
    one = map_tensors(lambda leaf: leaf.unsqueeze(0), scores.space.identity())
    return scores.landscape.place(candidates(scores.space, one, scores.landscape.batch))


def _by_family(subject: Subject, model: Any, scores: Scores, moves: int) -> Moved:
    g, family, inputs = subject.g, subject.found.family, len(subject.rows)
    drawn = scores.space.sample(moves, generator=torch.Generator().manual_seed(1))
    u = scores.landscape.place(candidates(scores.space, drawn, inputs))
    pairs, owner = flatten_leading(u, 2), owners(inputs, 1, scores.landscape.device, count=moves)
    after = carried_back(family, model.answers, pairs, model.canonicalize(family.transform(g, pairs, owner)).answers)
    before, words = model.canonicalize(g).answers, family.describe(g, slice_rows(pairs, 0, 1), owner[:1])
    return Moved(
        f"by random transformations of {family_name(family)}" + (f", such as “{words[0]}”" if words else ""),
        moves,
        _changes(model, scores, before, settled(after, model.answers)),
        _changes(model, scores, _alone(model, scores, _identity(scores)).answers, _alone(model, scores, u)),
        parts="" if before.dim() == 2 else "pixels" if model.answers == "maps" else "points",
    )


def _alone(model: Any, scores: Scores, u: Tree) -> Carried:
    """What the network answers for the inputs moved by u (count, inputs, *point), carried back."""
    answers = model.prior.answers_of(torch.cat(list(scores.outputs(u))).flatten(0, 1))
    return settled(carried_back(scores.landscape.family, model.answers, flatten_leading(u, 2), answers), model.answers)


def _by_renumbering(graphs: list[Any], model: Any, moves: int) -> Moved:
    generator = torch.Generator().manual_seed(1)
    others = [renumbered(graph, generator) for _ in range(moves) for graph in graphs]
    before, after = (model.canonicalize(as_read(model, some)).answers for some in (graphs, others))
    axis = class_axis(model.prior, before)
    changes = [change(x, y, axis) for x, y in zip(before, after.unflatten(0, (moves, -1)).transpose(0, 1), strict=True)]
    how = "by numbering its nodes at random, which also makes the eigensolver return another basis"
    return Moved(how, moves, changes)


def _changes(model: Any, scores: Scores, before: Tensor, after: Carried) -> list[Change]:
    """Of answers (inputs, ...), and answers (moves * inputs, ...) that have been carried back."""
    axis, answers = class_axis(model.prior, before), after.answers.unflatten(0, (-1, len(before)))
    known = _known(scores, before, after)
    return [change(x, answers[:, i], axis, None if known is None else known[:, i]) for i, x in enumerate(before)]


def _known(scores: Scores, before: Tensor, after: Carried) -> Tensor | None:
    """What may be compared: pixels that have a source, points that are real."""
    if after.known is not None:
        return after.known.unflatten(0, (-1, len(before)))
    real = scores.landscape.real
    if real is None or before.shape[:2] != real.shape:
        return None
    return real.reshape(1, *real.shape, *[1] * (before.dim() - 2)).double()
