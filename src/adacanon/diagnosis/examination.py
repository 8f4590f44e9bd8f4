"""How a network behaves under the symmetries that fit its inputs, and what adaptive canonicalization would change."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.family import Family
from adacanon.core.pytree import Tree, batch_size, cast_like, take
from adacanon.diagnosis.candidates import MEANINGS, applicable, ordered_candidates
from adacanon.diagnosis.findings import Diagnosis, Example, Finding, Searched
from adacanon.diagnosis.models import Network
from adacanon.diagnosis.probing import gathered, probed
from adacanon.diagnosis.readings import (
    are_probabilities,
    difference,
    log_probabilities,
    order_of,
    reading,
    share_changed,
)
from adacanon.errors import InputError, ScoreError
from adacanon.frozen import features_of_forms
from adacanon.images.resampling import Outside

CANDIDATES = (1, 4, 16, 64)
BATCH = 50
EXAMPLES = 6

OnProgress = Callable[[int, int], None]
"""Called with the forward passes done so far, and with all."""


def doctor(
    model: Network,
    loader: Iterable[tuple[Tensor, Tensor]],
    *,
    families: Mapping[str, Family] | Sequence[str] = (),
    candidates: Sequence[int] = CANDIDATES,
    outside: Outside = "reflection",
    limit: int | None = None,
    class_names: Sequence[str] | None = None,
    seed: int = 0,
    model_name: str | None = None,
    data_name: str = "the given loader",
    on_progress: OnProgress = lambda done, total: None,
) -> Diagnosis:
    """Measure, for each family, how much accuracy falls when inputs are transformed, and what a search brings back.

    Nothing is trained. Every input is transformed once, at random; the search then goes over K transformations of it
    and takes, for every class, the largest score.

    Args:
        model: from inputs to logits or probabilities (batch, classes), on the CPU; its mode is restored afterwards.
        loader: batches of images (batch, channels, height, width), in [0, 1] or unsigned of 8 or 16 bits, or of clouds
            (batch, points, 3), with class labels (batch,).
        families: names of some of the families that fit, or families by name; all that fit if not given.
        candidates: the numbers K.
        outside: what lies outside an image that is turned, shifted or shrunk: its mirror image, its border continued,
            nothing ("zero"), or nothing outside its inscribed disc, to which it is cut first ("disc").
        limit: the largest number of samples that are used.
        class_names: names of all classes, in the order of the network's outputs.
        seed: of the transformations.

    Example:
        >>> network = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
        >>> batches = [(torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 1, 0]))]
        >>> found = doctor(network, batches, families=["reflection"], candidates=(1, 2))
        >>> [searched.passes for searched in found.findings[0].searched]
        [1, 2]
    """
    begin = time.perf_counter()
    counts = _checked_counts(candidates)
    inputs, labels = gathered(loader, limit)
    chosen = dict(families) if isinstance(families, Mapping) else applicable(inputs, tuple(families), outside=outside)
    with _evaluation(model), torch.no_grad():
        first = probed(model, inputs, labels, class_names)
        probabilities = are_probabilities(first)
        network = _scored(model) if probabilities else model
        alone = torch.cat([network(rows) for rows in inputs.split(BATCH)])
        points = {name: _points(family, inputs, counts[-1]) for name, family in chosen.items()}
        progress = _Progress(2 * len(inputs) * sum(map(batch_size, points.values())), on_progress)
        case = _Case(network, inputs, labels, counts, seed, progress)
        findings = [_examined(case, name, family, points[name]) for name, family in chosen.items()]
    return Diagnosis(
        model=model_name or type(model).__name__,
        data=data_name,
        samples=len(inputs),
        shape=tuple(inputs.shape[1:]),
        classes=first.shape[1],
        class_names=tuple(class_names or map(str, range(first.shape[1]))),
        class_samples=tuple(torch.bincount(labels, minlength=first.shape[1]).tolist()),
        outputs="probabilities" if probabilities else "logits",
        seed=seed,
        alone=reading(alone, labels),
        order=order_of(alone, labels),
        findings=tuple(findings),
        seconds=time.perf_counter() - begin,
    )


@dataclass(frozen=True)
class _Case:
    """What all families share."""

    network: Network
    inputs: Tensor
    labels: Tensor
    counts: Sequence[int]
    seed: int
    progress: "_Progress"


@dataclass(frozen=True)
class _Scores:
    """Largest scores (1 + numbers of K, samples, classes), of the network alone and over the first K candidates, on
    inputs as given and on transformed ones; and where the predicted classes have theirs among all candidates.
    """

    given: Tensor
    moved: Tensor
    places: Tensor


def _examined(case: _Case, name: str, family: Family, points: Tree) -> Finding:
    space = family.space(family.prepare(case.inputs[:1]))
    generator = torch.Generator().manual_seed(case.seed)
    drawn = cast_like(space.sample(len(case.inputs), generator=generator), case.inputs)
    scores, labels = _scores(case, family, points, drawn), case.labels
    given, moved = scores.given, scores.moved
    fall, fall_error = difference(given[0], moved[0], labels)
    chosen = _telling(moved[0].argmax(-1), moved[-1].argmax(-1), labels)
    return Finding(
        family=name,
        definition=repr(family),
        meaning=MEANINGS.get(name, "transformed"),
        alone_as_given=reading(given[0], labels),
        alone_transformed=reading(moved[0], labels),
        changed=share_changed(given[0], moved[0]),
        fall=fall,
        fall_error=fall_error,
        doubtful=order_of(given[0], labels).doubtful,
        searched=tuple(
            _searched(count, min(count, batch_size(points)), given[[0, i]], moved[[0, i]], labels)
            for i, count in enumerate(case.counts, start=1)
        ),
        examples=tuple(_example(case, family, take(drawn, torch.tensor([i])), points, scores, i) for i in chosen),
    )


def _scores(case: _Case, family: Family, points: Tree, drawn: Tree) -> _Scores:
    given, moved, places = list[Tensor](), list[Tensor](), list[Tensor]()
    for rows in torch.arange(len(case.inputs)).split(BATCH):
        g = family.prepare(case.inputs[rows])
        transformed = family.transform(g, take(drawn, rows), torch.arange(len(rows)))
        for x, maxima in ((g, given), (transformed, moved)):
            scores = features_of_forms(case.network, family, points, x, chunk_size=family.chunk_size(x) or BATCH)
            if not bool(scores.isfinite().all()):
                raise ScoreError(f"The network returned NaN or infinite scores for inputs transformed by {family!r}")
            maxima.append(torch.stack([scores[:, :count].amax(1) for count in (1, *case.counts)]))
            case.progress.advance(scores.shape[0] * scores.shape[1])
        places.append(_winning_places(scores))
    return _Scores(torch.cat(given, 1), torch.cat(moved, 1), torch.cat(places))


def _searched(count: int, passes: int, given: Tensor, moved: Tensor, labels: Tensor) -> Searched:
    """From scores (2, samples, classes), of the network alone and under the search."""
    recovered, recovered_error = difference(moved[0], moved[1], labels)
    cost, cost_error = difference(given[1], given[0], labels)
    return Searched(
        candidates=count,
        passes=passes,
        as_given=reading(given[1], labels),
        transformed=reading(moved[1], labels),
        changed=share_changed(given[1], moved[1]),
        recovered=recovered,
        recovered_error=recovered_error,
        cost=cost,
        cost_error=cost_error,
    )


def _winning_places(scores: Tensor) -> Tensor:
    """The candidate at which the predicted class has its largest score, for scores (batch, K, classes)."""
    best, place = scores.max(1)
    return place.gather(1, best.argmax(1, keepdim=True)).squeeze(1)


def _telling(before: Tensor, after: Tensor, labels: Tensor) -> list[int]:
    """Twice as many that are rescued as that are spoiled, filled up with others."""
    rescued = ((before != labels) & (after == labels)).nonzero().flatten().tolist()
    spoiled = ((before == labels) & (after != labels)).nonzero().flatten().tolist()
    chosen = rescued[: EXAMPLES - min(len(spoiled), EXAMPLES // 3)]
    chosen += spoiled[: EXAMPLES - len(chosen)]
    others = [i for i in range(len(labels)) if i not in chosen]
    return chosen + others[: EXAMPLES - len(chosen)]


def _example(case: _Case, family: Family, u: Tree, points: Tree, scores: _Scores, i: int) -> Example:
    one = torch.tensor([0])
    transformed = family.transform(family.prepare(case.inputs[i : i + 1]), u, one)
    canonical = family.transform(family.prepare(transformed), take(points, scores.places[i : i + 1]), one)
    before, after = (int(found[i].argmax()) for found in (scores.moved[0], scores.moved[-1]))
    return Example(case.inputs[i], transformed[0], canonical[0], int(case.labels[i]), before, after)


def _points(family: Family, inputs: Tensor, count: int) -> Tree:
    return cast_like(ordered_candidates(family.space(family.prepare(inputs[:1])), count), inputs)


def _checked_counts(counts: Sequence[int]) -> list[int]:
    if not counts or any(not isinstance(count, int) or count < 1 for count in counts):
        raise InputError(f"candidates must be positive whole numbers, got {list(counts)}. Hint: (1, 4, 16, 64)")
    return sorted(set(counts))


def _scored(model: Network) -> Network:
    return lambda inputs: log_probabilities(model(inputs))


@contextmanager
def _evaluation(model: Any) -> Iterator[None]:
    """Evaluation mode, with every module's own flag given back; an exported program has no modes."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    flags = [(module, module.training) for module in modules if module.training]
    for module, _ in flags:
        module.training = False
    try:
        yield
    finally:
        for module, flag in flags:
            module.training = flag


class _Progress:
    def __init__(self, total: int, told: OnProgress) -> None:
        self.done, self.total, self.told = 0, total, told

    def advance(self, passes: int) -> None:
        self.done += passes
        self.told(self.done, self.total)
