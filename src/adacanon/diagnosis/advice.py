"""What to do about a symmetry: leave it, wrap, fine-tune or augment, and how sure that is."""

import math
from dataclasses import dataclass
from typing import Literal

from adacanon.diagnosis.choice import Choice

SMALL = 2.0
"""Points of accuracy that are not worth any trouble."""

Recommendation = Literal["leave it", "wrap", "fine-tune", "augment", "check first"]


@dataclass(frozen=True)
class Fall:
    """Accuracy on transformed inputs minus that on inputs as given, in points; ``beyond_chance`` if it is a fall."""

    points: float
    error: float
    beyond_chance: bool
    samples: int


@dataclass(frozen=True)
class Advice:
    """A recommendation for one family.

    Attributes:
        recommendation: "leave it", "wrap" (adaptive canonicalization without training), "fine-tune" (training under the
            search), "augment" (training on transformed inputs), or "check first" if the figures say little.
        certain: no other recommendation is within two standard errors.
        reason: in plain words.

    Example:
        >>> advice_on(Fall(-0.1, 0.2, False, 1000), None, doubtful=False).recommendation
        'leave it'
    """

    recommendation: Recommendation
    certain: bool
    reason: str


def advice_on(fall: Fall, choice: Choice | None, *, doubtful: bool) -> Advice:
    """What the figures of a family say.

    Args:
        choice: the best rule, judged on samples that did not choose it; None if no search was tried.
        doubtful: too little is right on inputs as given.
    """
    if doubtful:
        return Advice("check first", False, "Too few answers are right on inputs as given. Settle that first.")
    if not fall.beyond_chance or -fall.points <= SMALL:
        return _left(fall)
    if choice is None:
        return Advice("augment", False, "Accuracy falls, and no search was tried. Hint: more candidates or samples.")
    if not choice.recovers:
        return _augmented(fall, choice)
    enough = choice.recovered >= -fall.points / 2
    return _wrapped(fall, choice) if choice.pays and enough else _fine_tuned(fall, choice)


def _left(fall: Fall) -> Advice:
    largest = max(0.0, 2 * fall.error - fall.points, 300 / fall.samples)  # no fall among n: up to 3 / n, 19 in 20 times
    how = "falls by very little" if fall.beyond_chance else "does not fall beyond chance"
    seen = f"Accuracy {how} ({fall.points:+.1f} ± {fall.error:.1f} points)"
    if largest <= SMALL:
        return Advice("leave it", True, f"{seen}. A fall of more than {largest:.1f} points is unlikely.")
    return Advice(
        "leave it",
        False,
        f"{seen}, but {fall.samples} samples cannot rule out a fall of {largest:.1f} points. More samples would tell.",
    )


def _wrapped(fall: Fall, choice: Choice) -> Advice:
    sure = choice.recovered - 2 * choice.recovered_error >= -fall.points / 2
    doubt = "" if sure else " It may also be less than half of the fall; then fine-tune under the search."
    price = " Fine-tuning under the search may lower its price on inputs as given." if choice.cost > SMALL else ""
    return Advice(
        "wrap",
        sure,
        f"Without training, a search brings back {choice.recovered:.1f} of {-fall.points:.1f} points. "
        f"{_break_even(choice)}{price}{doubt}",
    )


def _fine_tuned(fall: Fall, choice: Choice) -> Advice:
    half = choice.recovered + 2 * choice.recovered_error < -fall.points / 2
    dear = choice.net + 2 * choice.net_error < 0
    why = (
        f"a search brings back only {choice.recovered:.1f} of {-fall.points:.1f} points"
        if choice.pays
        else f"what a search brings back ({choice.recovered:.1f} points) is not beyond what it costs on inputs as "
        f"given ({choice.cost:.1f} points)"
    )
    doubt = "" if half or dear else " By these samples, wrapping without training may do as well; more would tell."
    return Advice(
        "fine-tune",
        half or dear,
        f"Without training, {why}. Train the wrapped network (adacanon.Objective), so that it is not confident of "
        f"wrong classes at transformations that it has never seen.{doubt}",
    )


def _augmented(fall: Fall, choice: Choice) -> Advice:
    largest = choice.recovered + 2 * choice.recovered_error
    sure = largest < -fall.points / 2
    doubt = "" if sure else f" But {choice.judged_on} samples cannot rule out {largest:.1f} points; more would tell."
    return Advice(
        "augment",
        sure,
        f"Accuracy falls by {-fall.points:.1f} points, and without training a search brings back nothing beyond chance "
        f"({choice.recovered:+.1f} ± {choice.recovered_error:.1f} points). Train on transformed inputs, which costs no "
        f"forward passes later; then look again.{doubt}",
    )


def _break_even(choice: Choice) -> str:
    """From which share of transformed inputs on a search pays: s recovered = (1 - s) cost."""
    if choice.cost <= 0:
        return "It costs nothing on inputs as given, but forward passes."
    share = math.ceil(100 * choice.cost / (choice.cost + choice.recovered))
    return f"It pays if more than {share} % of your inputs come transformed."
