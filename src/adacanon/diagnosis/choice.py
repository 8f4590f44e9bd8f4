"""One rule chosen among many, on one half of the samples, and judged on the other half."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from adacanon.diagnosis.readings import Answers, beyond_chance, difference, gains, halves, standard_error
from adacanon.diagnosis.rules import Rule


@dataclass(frozen=True)
class Choice:
    """The rule with the largest mean of accuracy as given and transformed, among all that were compared; in percent.

    The best of many looks better than it is on the samples that chose it. So it is chosen on one half of the samples,
    and all figures here are those of the other half.

    Attributes:
        candidates: K, with ``passes`` forward passes per input.
        temperature: of the soft maximum over the candidates.
        compared: the number of rules.
        chosen_on: samples that chose, and ``judged_on`` those that judge.
        plain_as_given: accuracy of the network alone on inputs as given, and ``plain_transformed`` on transformed ones.
        wrapped_as_given: accuracy under the rule, and ``wrapped_transformed``.
        recovered: wrapped minus plain on transformed inputs, in points, with its standard error.
        cost: plain minus wrapped on inputs as given, in points, with its standard error.
        net: recovered minus cost, in points, with its standard error: positive if the rule pays where every second
            input is transformed.
        recovers: ``recovered`` is beyond chance.
        pays: ``net`` is beyond chance.

    Example:
        >>> import torch
        >>> from adacanon import doctor
        >>> network, batches = torch.nn.Flatten(), [(torch.rand(4, 2, 1, 1), torch.tensor([0, 1, 1, 0]))]
        >>> choice = doctor(network, batches, families=["reflection"]).findings[0].choice
        >>> choice.compared, choice.chosen_on, choice.judged_on, choice.recovered
        (5, 2, 2, 0.0)
    """

    candidates: int
    passes: int
    temperature: float
    compared: int
    chosen_on: int
    judged_on: int
    plain_as_given: float
    plain_transformed: float
    wrapped_as_given: float
    wrapped_transformed: float
    recovered: float
    recovered_error: float
    cost: float
    cost_error: float
    net: float
    net_error: float
    recovers: bool
    pays: bool


def chosen(rules: Sequence[Rule], elements: int, given: Answers, moved: Answers, labels: Tensor) -> Choice | None:
    """Of answers (rules, samples), the first of which are those of the network alone; None without a second rule or a
    second sample.

    Args:
        elements: the number of candidates that there are; a finite family may have fewer than a rule asks for.
    """
    places = _distinct(rules, elements)
    first, second = halves(labels)
    if not places or not len(second):
        return None
    right = (given.predicted == labels).double() + (moved.predicted == labels).double()
    best = max(places, key=lambda i: float(right[i, first].sum()))  # the first of equals has the fewest candidates
    return _judged(rules[best], best, elements, len(places), given, moved, labels, (len(first), second))


def _distinct(rules: Sequence[Rule], elements: int) -> list[int]:
    """Places of rules that are searches, and differ on so many candidates, in the order of their passes."""
    found: dict[tuple[int, float], int] = {}
    for place, rule in enumerate(rules):
        passes = min(rule.candidates, elements)
        if passes > 1:
            found.setdefault((passes, rule.temperature), place)
    return [place for _, place in sorted(found.items())]


def _judged(
    rule: Rule,
    place: int,
    elements: int,
    compared: int,
    given: Answers,
    moved: Answers,
    labels: Tensor,
    split: tuple[int, Tensor],
) -> Choice:
    chosen_on, rows = split
    truth, given_plain, given_wrapped = labels[rows], given.predicted[0, rows], given.predicted[place, rows]
    moved_plain, moved_wrapped = moved.predicted[0, rows], moved.predicted[place, rows]
    recovered, recovered_error = difference(moved_plain, moved_wrapped, truth)
    cost, cost_error = difference(given_wrapped, given_plain, truth)
    brought = gains(moved_plain, moved_wrapped, truth)
    net = brought + gains(given_plain, given_wrapped, truth)
    return Choice(
        candidates=rule.candidates,
        passes=min(rule.candidates, elements),
        temperature=rule.temperature,
        compared=compared,
        chosen_on=chosen_on,
        judged_on=len(rows),
        plain_as_given=_accuracy(given_plain, truth),
        plain_transformed=_accuracy(moved_plain, truth),
        wrapped_as_given=_accuracy(given_wrapped, truth),
        wrapped_transformed=_accuracy(moved_wrapped, truth),
        recovered=recovered,
        recovered_error=recovered_error,
        cost=cost,
        cost_error=cost_error,
        net=100 * float(net.mean()),
        net_error=standard_error(net),
        recovers=beyond_chance(brought),
        pays=beyond_chance(net),
    )


def _accuracy(predicted: Tensor, labels: Tensor) -> float:
    return 100 * float((predicted == labels).double().mean())
