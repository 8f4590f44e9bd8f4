"""The answers of a model with a temperature: soft maxima per class, or answers blended by their confidence."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from adacanon.core.answers import Carried, Kind, carried_back, settled
from adacanon.core.canonical import Canonical
from adacanon.core.checks import source_of_draws
from adacanon.core.evaluation_mode import in_its_own_mode
from adacanon.core.hardest import hardest
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import SearchResult, Support
from adacanon.core.model import CanonicalizedModel
from adacanon.core.prior import Prior
from adacanon.core.pytree import (
    Tree,
    batch_size,
    flatten_leading,
    map_tensors,
    owners,
    slice_rows,
    take,
    tensors,
)
from adacanon.core.soft import (
    RunningBlend,
    RunningSoftMaximum,
    effective_number,
    numbers,
    soft_maximum,
    soft_weights,
    weighted_sum,
)
from adacanon.errors import InputError

if TYPE_CHECKING:
    from adacanon.core.canonicalized import Canonicalized

CANDIDATES_AT_A_TIME = 16
"""Whose answers are blended: answers may be large, such as maps, and memory does not grow with the candidates."""


def soft_answers(
    model: "Canonicalized",
    temperature: Tensor,
    g: Tree,
    *,
    ids: Tensor | None,
    generator: torch.Generator | None,
    budget: float | None,
) -> Tensor:
    """Class scores (batch, classes), or with a shared prior the blended outputs.

    In evaluation the candidates come in blocks, and memory does not grow with their number. Where gradients are wanted
    every candidate of every input carries its own, and all of them are in memory at once.
    """
    _check(model.prior, temperature)
    learns = getattr(model.network, "training", False) or torch.is_grad_enabled()
    with model.searching(g, ids, budget) as (search, landscape):
        supports = search.support(landscape, generator=source_of_draws(generator, model.next_generator))
        if not learns:
            return _in_blocks(temperature, supports, landscape)
        support, estimated = _asked(supports)
    with in_its_own_mode(model.network):
        outputs = _outputs(model, g, support.points, landscape)
    ranks = landscape.confidences(outputs)
    search.learn(landscape, best_of_all(ranks.detach(), support))
    if not model.prior.shared:
        ranks, counts = _completed(ranks, support, estimated)
        return model.prior.scores_of(soft_maximum(ranks, temperature, counts=counts))
    weights = soft_weights(ranks, temperature, counts=support.counts)
    return _blended(weights, _carried(landscape, support, outputs), landscape.answers).answers


def soft_canonical(
    model: "Canonicalized",
    temperature: Tensor,
    g: Tree,
    *,
    ids: Tensor | None,
    generator: torch.Generator | None,
    budget: float | None,
) -> Canonical:
    """Everything that was found: the chosen form of a soft answer is the one of largest weight."""
    _check(model.prior, temperature)
    with model.searching(g, ids, budget) as (search, landscape):
        supports = search.support(landscape, generator=source_of_draws(generator, model.next_generator))
        support, ranks, estimated, scores, carried = _everything(temperature, supports, landscape)
        best = best_of_all(ranks, support)
        ranks, counts = _completed(ranks, support, estimated)
        weights = soft_weights(ranks, temperature, counts=counts)
    mask = landscape.space.mask()
    return Canonical(
        parameters=best.parameters,
        scores=scores,
        logits=carried.answers,
        evaluations=landscape.pairs_evaluated / landscape.batch,
        mask=None if mask is None else map_tensors(lambda leaf: leaf.unsqueeze(1), mask),
        family=model.family,
        g=g,
        determined=landscape.determined,
        weights=weights,
        effective_forms=effective_number(weights),
        known=carried.known,
        model=model,
    )


def soft_scores_at_some_forms(
    model: CanonicalizedModel,
    temperature: Tensor,
    g: Tree,
    residual: Callable[[Tensor], Tensor],
    forms: float,
    *,
    ids: Tensor | None,
    generator: torch.Generator | None,
) -> Tensor:
    r"""Class scores (batch, classes) of which only some forms carry gradients.

    All candidates are scored in evaluation mode. Those with the largest :math:`\sum_d |p_d - y_d|\,w_{di}`, the size of
    the gradient that reaches a form, are evaluated again with gradients; the others enter as constants.

    Args:
        residual: from scores (batch, classes) to :math:`|p_d - y_d|`.
        forms: per input, on average.
    """
    with model.searching(g, ids, None) as (search, landscape):
        support, estimated = _asked(
            search.support(landscape, generator=source_of_draws(generator, model.next_generator))
        )
        values = landscape.confidences(_plain_outputs(landscape, support))
        search.learn(landscape, best_of_all(values, support))
        asked = len(values)
        values, counts = _completed(values, support, estimated)
        weights = soft_weights(values, temperature.detach(), counts=counts)
        scores = soft_maximum(values, temperature.detach(), counts=counts)
        size = (weights * residual(scores)).sum(2)[:asked].T  # (batch, candidates)
        size = size / size.amax().clamp(min=torch.finfo(size.dtype).tiny)
    chosen = hardest(size, always=torch.zeros_like(size, dtype=torch.bool), count=round(forms * landscape.batch))
    sample, candidate = chosen.nonzero().unbind(1)
    outputs = model.outputs_at(g, take(support.points, candidate, sample), sample, landscape)
    return soft_maximum(values.index_put((candidate, sample), outputs), temperature, counts=counts)


def best_of_all(ranks: Tensor, support: Support) -> SearchResult:
    """The candidate of largest value, for every input and form."""
    index = best_index(ranks, support)
    values = ranks.gather(0, index.unsqueeze(0)).squeeze(0)
    sample = torch.arange(values.shape[0], device=values.device).unsqueeze(1)
    return SearchResult(take(support.points, index, sample), values, exact=True)


def best_index(ranks: Tensor, support: Support) -> Tensor:
    """Of the candidates that count, the one of largest value, (batch, forms)."""
    counted = ranks if support.counts is None else ranks.masked_fill((support.counts == 0).unsqueeze(2), -torch.inf)
    return counted.argmax(0)


def _in_blocks(temperature: Tensor, supports: Iterable[Support], landscape: Landscape) -> Tensor:
    prior = landscape.prior
    if not prior.shared:
        running = RunningSoftMaximum(temperature)
        for support in supports:
            running.add(_ranks(landscape, support), support.counts)
        return prior.scores_of(running.result())
    blend = RunningBlend(temperature)
    for _ in _blending(blend, supports, landscape):
        pass
    return settled(Carried(*blend.result()), landscape.answers).answers


def _ranks(landscape: Landscape, support: Support) -> Tensor:
    """Values (candidates, batch, forms); those of candidates of weight zero are zero, and not evaluated."""
    known = support.values if support.found is None else support.found
    if known is not None:
        return known
    if not _weighted(support):
        return landscape(support.points)
    index = support.counts.nonzero(as_tuple=True)  # type: ignore[union-attr]
    scores = landscape.scores(take(support.points, *index), index[1])
    return scores.new_zeros(*support.counts.shape, scores.shape[1]).index_put(index, scores)  # type: ignore[union-attr]


def _plain_outputs(landscape: Landscape, support: Support) -> Tensor:
    """The network's outputs (candidates, batch, ...), without gradients; those of candidates of weight zero are the
    ones of the first candidate.
    """
    if not _weighted(support):
        return landscape.outputs(support.points)
    index = support.counts.nonzero(as_tuple=True)  # type: ignore[union-attr]
    pairs = landscape.outputs_of_pairs(take(support.points, *index), index[1])
    place = torch.arange(len(index[1]), device=index[1].device)
    first = pairs[place.new_full((landscape.batch,), len(place)).scatter_reduce(0, index[1], place, "amin")]
    outputs = first.expand(len(support.counts), *first.shape).clone()  # type: ignore[arg-type]
    return outputs.index_put(index, pairs)


def _weighted(support: Support) -> bool:
    return support.counts is not None and support.counts.is_floating_point()


def _everything(
    temperature: Tensor, supports: Iterable[Support], landscape: Landscape
) -> tuple[Support, Tensor, Support | None, Tensor, Carried]:
    """The candidates about which the network was asked, their confidences (candidates, batch, forms), those whose
    values are estimates, the scores (batch, forms) and the answers.
    """
    prior = landscape.prior
    if not prior.shared:
        support, estimated = _asked(supports)
        ranks = support.found
        if ranks is None:
            ranks = landscape.confidences(_plain_outputs(landscape, support))
        every, counts = _completed(ranks, support, estimated)
        logits = prior.scores_of(soft_maximum(every, temperature, counts=counts))
        return support, ranks, estimated, prior(logits), Carried(logits)
    blend = RunningBlend(temperature)
    blocks = list(_blending(blend, supports, landscape))
    support = _joined(block for block, _, _ in blocks)
    ranks, values = (torch.cat(parts) for parts in list(zip(*blocks, strict=True))[1:])
    scores = values.gather(0, best_index(ranks, support).unsqueeze(0)).squeeze(0)
    return support, ranks, None, scores, settled(Carried(*blend.result()), landscape.answers)


def _blending(
    blend: RunningBlend, supports: Iterable[Support], landscape: Landscape
) -> Iterator[tuple[Support, Tensor, Tensor]]:
    """Add the answers of all candidates to a blend, a few at a time; of these the confidences and prior values."""
    for support in supports:
        for block in _split(support):
            outputs = _plain_outputs(landscape, block)
            confidence, carried = landscape.confidences(outputs), _carried(landscape, block, outputs)
            blend.add(confidence, carried.answers, block.counts, carried.known)
            yield block, confidence, landscape.prior(outputs.flatten(0, 1)).unflatten(0, outputs.shape[:2])


def _carried(landscape: Landscape, support: Support, outputs: Tensor) -> Carried:
    """The answers in the outputs (candidates, batch, ...), carried back."""
    answers = landscape.prior.answers_of(outputs.flatten(0, 1))
    carried = carried_back(landscape.family, landscape.answers, flatten_leading(support.points, 2), answers)
    return carried.mapped(lambda part: part.unflatten(0, outputs.shape[:2]))


def _blended(weights: Tensor, carried: Carried, kind: Kind) -> Carried:
    """The weighted mean over all candidates at once, from which gradients flow."""
    blend = carried.mapped(lambda part: weighted_sum(weights.squeeze(2), part))
    numbers(blend.answers)
    return settled(blend, kind)


def _split(support: Support) -> Iterator[Support]:
    for a in range(0, batch_size(support.points), CANDIDATES_AT_A_TIME):
        b = a + CANDIDATES_AT_A_TIME
        yield Support(slice_rows(support.points, a, b), None if support.counts is None else support.counts[a:b])


def _outputs(model: "Canonicalized", g: Tree, points: Tree, landscape: Landscape) -> Tensor:
    """Outputs (candidates, batch, ...) from which gradients flow; equal pairs are evaluated once."""
    if landscape.fused is not None:
        by_input = map_tensors(lambda leaf: leaf.transpose(0, 1), points)
        outputs = landscape.fused.with_gradients(model.network, g, by_input)
        if outputs is not None:
            return outputs.transpose(0, 1)
    count = batch_size(points)
    owner = owners(landscape.batch, 1, landscape.device, count=count)
    pairs = model.outputs_at(g, flatten_leading(points, 2), owner, landscape)
    return pairs.unflatten(0, (count, landscape.batch))


def _asked(supports: Iterable[Support]) -> tuple[Support, Support | None]:
    """All candidates about which the network is asked, and all whose values are estimates, if there are any."""
    blocks = list(supports)
    estimated = [block for block in blocks if block.values is not None]
    return _joined(block for block in blocks if block.values is None), _joined(estimated) if estimated else None


def _completed(ranks: Tensor, support: Support, estimated: Support | None) -> tuple[Tensor, Tensor | None]:
    """Values (candidates, batch, forms), estimates last, and which candidates count."""
    if estimated is None or estimated.values is None:
        return ranks, support.counts
    every = torch.cat([ranks, estimated.values.to(ranks)])
    if support.counts is None and estimated.counts is None:
        return every, None
    return every, torch.cat([_counts(support), _counts(estimated)])


def _joined(supports: Iterable[Support]) -> Support:
    """Candidates of a search in one block, all of them with estimated values or none."""
    blocks = list(supports)
    points = map_tensors(lambda *leaves: torch.cat(leaves), blocks[0].points, *(block.points for block in blocks[1:]))
    told, found = (_all_of([getattr(block, name) for block in blocks]) for name in ("values", "found"))
    every = all(block.counts is None for block in blocks)
    return Support(points, None if every else torch.cat([_counts(block) for block in blocks]), told, found)


def _all_of(parts: list[Tensor | None]) -> Tensor | None:
    """Parts one after the other, if all are there."""
    known = [part for part in parts if part is not None]
    return torch.cat(known) if len(known) == len(parts) else None


def _counts(support: Support) -> Tensor:
    """Which candidates count, (candidates, batch), also where all do."""
    leaf = tensors(support.points)[0]
    every = torch.ones(leaf.shape[:2], dtype=torch.bool, device=leaf.device)
    return every if support.counts is None else support.counts


def _check(prior: Prior, temperature: Tensor) -> None:
    if prior.shared and temperature.dim():
        raise InputError(
            f"One shared form has one temperature, got {len(temperature)}. "
            "Hint: temperature=1.0, or the prior ClassScore"
        )
