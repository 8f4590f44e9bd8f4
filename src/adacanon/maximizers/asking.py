"""One candidate after the other goes to the network, until no other could change the answer."""

from collections.abc import Callable
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
    """Which inputs are open, (batch,), and which candidate (batch,) the network should see next."""

    unsettled: Tensor
    following: Tensor


def ask_until_settled(
    estimates: Tensor, ask: Ask, errors: RankerErrors, *, most: int, temperature: Tensor | None = None
) -> Answers:
    """Ask the network about the most promising candidate of every input, and again where the answer is not settled.

    Args:
        estimates: of a ranker, (candidates, batch, forms).
        ask: the network.
        errors: of the ranker, with a finite caution.
        most: questions for an input.
        temperature: of the soft maximum that is the answer; None for the maximum.
    """
    inputs = torch.arange(estimates.shape[1], device=estimates.device)
    following = (estimates + errors.bias).amax(2).argmax(0)
    found = ask(following, inputs)
    estimates = estimates.to(found)
    values, known = torch.zeros_like(estimates), torch.zeros_like(estimates[..., 0], dtype=torch.bool)
    for left in reversed(range(min(most, len(estimates)))):
        values[following, inputs], known[following, inputs] = found, True
        if not left:
            break
        outlook = outlook_of(estimates[:, inputs], values[:, inputs], known[:, inputs], errors, temperature)
        inputs, following = inputs[outlook.unsettled], outlook.following[outlook.unsettled]
        if not len(inputs):
            break
        found = ask(following, inputs)
    expected, _ = errors.corrected(estimates, values, known)
    return Answers(torch.where(known.unsqueeze(2), values, expected), known)


def outlook_of(
    estimates: Tensor, values: Tensor, known: Tensor, errors: RankerErrors, temperature: Tensor | None
) -> Outlook:
    """The leading class is settled where no other would overtake it if all values that are not known were as far above
    their estimates, and its own as far below, as the caution allows. The next candidate is that on which another class
    comes nearest.
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
    return Outlook(unsettled, promise.amax(2).argmax(0))
