"""What the figures of the demo say, in plain sentences. Every claim follows from the records."""

from collections.abc import Mapping, Sequence

from adacanon.reports.hits import ERRORS, Difference, Hits, Standing

PLAIN, WRAPPED, TUNED = "plain network", "wrapped, not trained", "wrapped, fine-tuned"
AUGMENTED, ALIGNED, AVERAGED = "random rotations in training", "PCA alignment", "frame averaging"
CONTROLS = (AUGMENTED, ALIGNED, AVERAGED)
ADAPTIVE_GRAPHS, CONTROL_GRAPHS = "A-NLSF", "Gram MLP"
CHANCE = 50.0
"""In percent, for the two classes of the graph task."""

Figures = Mapping[str, Hits]
"""Of every method, by its name."""


def fall(upright: Hits, turned: Hits) -> str:
    """What turning the shapes does to the plain network."""
    change = Difference.of(turned, upright)
    start = f"It names {upright} of {len(upright)} upright test shapes rightly, and {turned} of the same shapes turned"
    if change.standing == "level with":
        return f"{start}: no change beyond chance ({change})."
    word = "fall" if change.standing == "below" else "gain"
    return f"{start}: a {word} of {abs(change.points):.1f} ± {change.error:.1f} points."


def wrapping(upright: Figures, turned: Figures) -> str:
    """What wrapping does before any training."""
    gain, cost = Difference.of(turned[WRAPPED], turned[PLAIN]), Difference.of(upright[WRAPPED], upright[PLAIN])
    price = {
        "above": f"On upright shapes it adds to the accuracy ({cost}).",
        "level with": f"On upright shapes it costs nothing beyond chance ({cost}).",
        "below": f"On upright shapes it costs accuracy ({cost}): the network now looks at poses that it has never "
        "seen, and is sometimes sure of a wrong class there.",
    }[cost.standing]
    start = "Wrapping alone, without training,"
    return f"{start} {_moved(gain, 'the accuracy on turned shapes', turned[PLAIN], turned[WRAPPED])} {price}"


def nearness(near: int, samples: int, degrees: float) -> str:
    """Whether the search meets poses that the network knows."""
    share = 100 * near / samples
    start = f"Is the upright pose among the 24? To within {degrees:g}° it is for {near} of the {samples} test shapes"
    rest = "for the others the network has never seen any of the poses" if near < samples else "which is all of them"
    return f"{start} ({share:.0f} %), {rest}."


def tuning(upright: Figures, turned: Figures) -> str:
    """What a short training under the search adds."""
    gain, rest = Difference.of(turned[TUNED], turned[WRAPPED]), Difference.of(turned[TUNED], upright[PLAIN])
    what = _moved(gain, "this accuracy", turned[WRAPPED], turned[TUNED])
    rest_in_words = f"It is then {rest.standing} that of the plain network on upright shapes ({rest})."
    return f"A short training under the search {what} {rest_in_words}"


def invariance(upright: Hits, turned: Hits) -> str:
    """Whether the fine-tuned network fares alike on upright and on turned shapes."""
    other = upright.differing(turned)
    if other == 0:
        return f"It fares the same on each of the {len(turned)} shapes, upright or turned."
    return f"On {other} of {len(turned)} shapes it is right in one pose and wrong in the other."


def comparison(turned: Figures, seconds: Mapping[str, float]) -> list[str]:
    """The fine-tuned network beside every control."""
    return [_beside(name, turned, seconds) for name in CONTROLS]


def best(turned: Figures) -> str:
    """Which methods are the best on turned shapes."""
    first, *others = sorted(turned, key=lambda name: -turned[name].accuracy)
    level = [name for name in others if Difference.of(turned[name], turned[first]).standing == "level with"]
    start = f"The best figure on turned shapes is that of “{first}” ({turned[first]})"
    if not level:
        return f"{start}. No other method is level with it."
    return f"{start}. Level with it, within {ERRORS} standard errors: {', '.join(f'“{name}”' for name in level)}."


def undetermined(count: int, samples: int) -> str:
    """How many test shapes have no principal axes of their own."""
    if count == 0:
        return f"All {samples} test clouds have principal axes of their own."
    return (
        f"{count} of {samples} test clouds are symmetric to within rounding. They have no principal axes of their own, "
        "so that their answers depend on the pose in which they come."
    )


def graphs(figures: Figures) -> list[str]:
    """The graph task: the adaptive method, those that pass messages, and the control."""
    others = [name for name in figures if name not in (ADAPTIVE_GRAPHS, CONTROL_GRAPHS)]
    shown = (ADAPTIVE_GRAPHS, *others)
    lines = [f"{name} names {figures[name]} rightly, {_chance(figures[name])} chance." for name in shown]
    control, gap = figures[CONTROL_GRAPHS], Difference.of(figures[ADAPTIVE_GRAPHS], figures[CONTROL_GRAPHS])
    beside = f"{CONTROL_GRAPHS} names {control} rightly; {ADAPTIVE_GRAPHS} is {gap.standing} it ({gap})."
    solved = gap.standing != "above" and _chance(control) == "above"
    return [*lines, f"{beside} So this task can be solved without a search." if solved else beside]


def said(name: str, probability: float, truth: str) -> str:
    """The answer of a network for one shape."""
    return f"“{name}”, {100 * probability:.0f} % sure, {'right' if name == truth else 'wrong'}"


def _beside(name: str, turned: Figures, seconds: Mapping[str, float]) -> str:
    gap = Difference.of(turned[TUNED], turned[name])
    return (
        f"The fine-tuned network is {gap.standing} “{name}” ({turned[TUNED]} and {turned[name]}, {gap}; "
        f"{seconds[TUNED]:.0f} s and {seconds[name]:.0f} s of training)."
    )


def _moved(change: Difference, what: str, before: Hits, after: Hits) -> str:
    if change.standing == "level with":
        return f"changes {what} by no more than chance ({change})."
    verb = "lifts" if change.standing == "above" else "lowers"
    return f"{verb} {what} from {before} to {after} ({change})."


def _chance(hits: Hits) -> Standing:
    """Of an accuracy, seen from chance."""
    return Difference(hits.accuracy - CHANCE, hits.error).standing


def everything(upright: Figures, turned: Figures, seconds: Mapping[str, float]) -> Sequence[str]:
    """All sentences on clouds, in the order of the story."""
    return (
        f"A {PLAIN} was trained on upright shapes. {fall(upright[PLAIN], turned[PLAIN])}",
        wrapping(upright, turned),
        f"{tuning(upright, turned)} {invariance(upright[TUNED], turned[TUNED])}",
        *comparison(turned, seconds),
        best(turned),
    )
