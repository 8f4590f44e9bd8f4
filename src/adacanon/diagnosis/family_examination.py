"""One family of transformations: what it costs a network, and what every rule brings back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.pytree import Tree, batch_size, cast_like, slice_rows, take
from adacanon.diagnosis.advice import Fall, advice_on
from adacanon.diagnosis.candidates import MEANINGS, ordered_candidates
from adacanon.diagnosis.choice import chosen
from adacanon.diagnosis.findings import Example, Finding, Searched
from adacanon.diagnosis.models import Network
from adacanon.diagnosis.order import order_of
from adacanon.diagnosis.readings import Answers, beyond_chance, difference, gains, reading, share_changed
from adacanon.diagnosis.rules import Rule, answers_of, joined
from adacanon.errors import ScoreError
from adacanon.frozen import features_of_forms

BATCH = 50
EXAMPLES = 6

OnProgress = Callable[[int, int], None]
"""Called with the forward passes done so far, and with all."""


class Progress:
    """Forward passes that are done."""

    def __init__(self, total: int, told: OnProgress) -> None:
        self.done, self.total, self.told = 0, total, told

    def advance(self, passes: int) -> None:
        """So many more."""
        self.done += passes
        self.told(self.done, self.total)


@dataclass(frozen=True)
class Case:
    """What all families share."""

    network: Network
    inputs: Tensor
    labels: Tensor
    rules: Sequence[Rule]
    seed: int
    progress: Progress


@dataclass(frozen=True)
class _Found:
    """Answers (rules, samples) on inputs as given and on transformed ones, and where the classes that the maximum over
    all candidates predicts have their largest scores.
    """

    given: Answers
    moved: Answers
    places: Tensor
    classes: int


def examined(case: Case, name: str, family: Family, points: Tree) -> Finding:
    """All figures of a family with these candidates."""
    space = family.space(family.prepare(case.inputs[:1]))
    generator = torch.Generator().manual_seed(case.seed)
    drawn = cast_like(space.sample(len(case.inputs), generator=generator), case.inputs)
    found, labels, elements = _found(case, family, points, drawn), case.labels, batch_size(points)
    given, moved = found.given, found.moved
    fall, fall_error = difference(given[0].predicted, moved[0].predicted, labels)
    beyond = beyond_chance(gains(moved[0].predicted, given[0].predicted, labels))
    doubtful = order_of(given[0].predicted, labels, classes=found.classes).doubtful
    choice = chosen(case.rules, elements, given, moved, labels)
    searched = [_searched(rule, elements, given, moved, i, labels) for i, rule in enumerate(case.rules)][1:]
    return Finding(
        family=name,
        definition=repr(family),
        meaning=MEANINGS.get(name, "transformed"),
        alone_as_given=reading(given[0], labels),
        alone_transformed=reading(moved[0], labels),
        changed=share_changed(given[0].predicted, moved[0].predicted),
        fall=fall,
        fall_error=fall_error,
        doubtful=doubtful,
        searched=tuple(one for one in searched if one.temperature == 0),
        softened=tuple(one for one in searched if one.temperature > 0),
        choice=choice,
        advice=advice_on(Fall(fall, fall_error, beyond, len(labels)), choice, doubtful=doubtful),
        examples=_examples(case, family, points, drawn, found),
    )


def _found(case: Case, family: Family, points: Tree, drawn: Tree) -> _Found:
    given, moved, places = list[Answers](), list[Answers](), list[Tensor]()
    for rows in torch.arange(len(case.inputs), device=case.inputs.device).split(BATCH):
        g = family.prepare(case.inputs[rows])
        transformed = family.transform(g, take(drawn, rows), torch.arange(len(rows), device=rows.device))
        for x, found in ((g, given), (transformed, moved)):
            scores = features_of_forms(case.network, family, points, x, chunk_size=family.chunk_size(x) or BATCH)
            if not bool(scores.isfinite().all()):
                raise ScoreError(f"The network returned NaN or infinite scores for inputs transformed by {family!r}")
            found.append(answers_of(case.rules, scores))
            case.progress.advance(scores.shape[0] * scores.shape[1])
        places.append(_winning_places(scores))
    return _Found(joined(given), joined(moved), torch.cat(places), scores.shape[-1])


def _searched(rule: Rule, elements: int, given: Answers, moved: Answers, place: int, labels: Tensor) -> Searched:
    recovered, recovered_error = difference(moved[0].predicted, moved[place].predicted, labels)
    cost, cost_error = difference(given[place].predicted, given[0].predicted, labels)
    return Searched(
        candidates=rule.candidates,
        temperature=rule.temperature,
        passes=min(rule.candidates, elements),
        as_given=reading(given[place], labels),
        transformed=reading(moved[place], labels),
        changed=share_changed(given[place].predicted, moved[place].predicted),
        recovered=recovered,
        recovered_error=recovered_error,
        cost=cost,
        cost_error=cost_error,
    )


def _winning_places(scores: Tensor) -> Tensor:
    """The candidate at which the predicted class has its largest score, for scores (batch, K, classes)."""
    best, place = scores.max(1)
    return place.gather(1, best.argmax(1, keepdim=True)).squeeze(1)


def _examples(case: Case, family: Family, points: Tree, drawn: Tree, found: _Found) -> tuple[Example, ...]:
    """Under the maximum over all candidates."""
    last = max(i for i, rule in enumerate(case.rules) if rule.temperature == 0)
    before, after = found.moved[0].predicted, found.moved[last].predicted
    return tuple(
        _example(case, family, slice_rows(drawn, i, i + 1), take(points, found.places[i : i + 1]), i, before, after)
        for i in _telling(before, after, case.labels)
    )


def _telling(before: Tensor, after: Tensor, labels: Tensor) -> list[int]:
    """Twice as many that are rescued as that are spoiled, filled up with others."""
    rescued = ((before != labels) & (after == labels)).nonzero().flatten().tolist()
    spoiled = ((before == labels) & (after != labels)).nonzero().flatten().tolist()
    shown = rescued[: EXAMPLES - min(len(spoiled), EXAMPLES // 3)]
    shown += spoiled[: EXAMPLES - len(shown)]
    others = [i for i in range(len(labels)) if i not in shown]
    return shown + others[: EXAMPLES - len(shown)]


def _example(case: Case, family: Family, u: Tree, winner: Tree, i: int, before: Tensor, after: Tensor) -> Example:
    one = torch.tensor([0], device=case.inputs.device)
    transformed = family.transform(family.prepare(case.inputs[i : i + 1]), u, one)
    canonical = family.transform(family.prepare(transformed), winner, one)
    return Example(case.inputs[i], transformed[0], canonical[0], int(case.labels[i]), int(before[i]), int(after[i]))


def candidates_of(family: Family, inputs: Tensor, count: int) -> Tree:
    """At most so many, the identity first."""
    return cast_like(ordered_candidates(family.space(family.prepare(inputs[:1])), count), inputs)
