"""A few candidates after the other go to the network, until no other could change the answer."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from adacanon.core.soft import soft_maximum
from adacanon.maximizers.ranker_errors import RankerErrors

Ask = Callable[[Tensor, Tensor], Tensor]
"""From candidates (pairs,) and their inputs (pairs,) to values of the network (pairs, forms)."""


class Answers(NamedTuple):
    """What is known of all candidates.

    Attributes:
        values: (candidates, batch, forms), of the network where it was asked, corrected estimates elsewhere.
        known: where it was asked, (candidates, batch).
    """

    values: Tensor
    known: Tensor


class Outlook(NamedTuple):
    """Which inputs are open, (batch,), and how much the network should see each candidate, (candidates, batch)."""

    unsettled: Tensor
    promise: Tensor


def rounds(most: int) -> Iterator[int]:
    """How many candidates the network sees at a time: as many as it has seen before. Most answers are settled early,
    and for those that are not, a call of the network costs more than some candidates too many.

    Example:
        >>> list(rounds(12))
        [1, 1, 2, 4, 4]
    """
    seen = 0
    while seen < most:
        count = min(max(1, seen), most - seen)
        yield count
        seen += count


def ask_until_settled(
    estimates: Tensor, ask: Ask, errors: RankerErrors, *, most: int, temperature: Tensor | None = None
) -> Answers:
    """Ask the network about the most promising candidates of every input, and again where the answer is not settled.

    Args:
        estimates: of a ranker, (candidates, batch, forms).
        ask: the network.
        errors: of the ranker, with a finite caution.
        most: questions for an input.
        temperature: of the soft maximum that is the answer; None for the maximum.
    """
    inputs = torch.arange(estimates.shape[1], device=estimates.device)
    values, known = torch.zeros_like(estimates), torch.zeros_like(estimates[..., 0], dtype=torch.bool)
    promise = (estimates + errors.bias).amax(2)
    for count in rounds(min(most, len(estimates))):
        following = promise.topk(count, dim=0).indices
        owner = inputs.expand(count, -1)
        found = ask(following.flatten(), owner.flatten()).unflatten(0, following.shape)
        estimates, values = estimates.to(found), values.to(found)
        values[following, owner], known[following, owner] = found, True
        outlook = outlook_of(estimates[:, inputs], values[:, inputs], known[:, inputs], errors, temperature)
        inputs, promise = inputs[outlook.unsettled], outlook.promise[:, outlook.unsettled]
        if not len(inputs):
            break
    expected, _ = errors.corrected(estimates, values, known)
    return Answers(torch.where(known.unsqueeze(2), values, expected), known)


def outlook_of(
    estimates: Tensor, values: Tensor, known: Tensor, errors: RankerErrors, temperature: Tensor | None
) -> Outlook:
    """The leading class is settled where no other would overtake it if all values that are not known were as far above
    their estimates, and its own as far below, as the caution allows. The next candidates are those on which another
    class comes nearest.
    """
    expected, deviation = errors.corrected(estimates, values, known)
    reach, seen = errors.caution * deviation, known.unsqueeze(2)
    best = torch.where(seen, values, expected + reach)
    if temperature is None:
        sure, likely = values.masked_fill(~seen, -torch.inf).amax(0), best.amax(0)
    else:
        worst = torch.where(seen, values, expected - reach)
        sure, likely = soft_maximum(worst, temperature), soft_maximum(best, temperature)
    promise = best.masked_fill(seen, -torch.inf)
    leader = sure.argmax(1, keepdim=True)
    if estimates.shape[2] > 1:
        likely = likely.scatter(1, leader, -torch.inf)
        if temperature is None:  # more of the leader changes nothing
            promise = promise.scatter(2, leader.expand(len(promise), -1, -1), -torch.inf)
    unsettled = likely.amax(1) > sure.gather(1, leader).squeeze(1)
    return Outlook(unsettled, promise.amax(2))
