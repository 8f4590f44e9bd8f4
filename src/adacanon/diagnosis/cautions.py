"""What makes the doctor's figures say less than they seem to, and warnings that accuracy on inputs as given brings."""

import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from adacanon.diagnosis.order import Order
from adacanon.diagnosis.readings import CHANCE, Answers, at_least, standard_error

SHOWN = 40


@dataclass(frozen=True)
class Caution:
    """Something to know before reading the figures.

    Attributes:
        about: one word, such as "chance", "order", "stated", "samples".
        serious: the figures may be wrong; otherwise it is a note.
        text: what is so, what it means, and what to do.

    Example:
        >>> caution = Caution("samples", False, "There are 12 samples")
        >>> caution.about
        'samples'
    """

    about: str
    serious: bool
    text: str


@dataclass(frozen=True)
class Seen:
    """What the doctor has seen of a network and its data, before anything is transformed.

    Attributes:
        tried: outputs for the first samples, in a batch of their own.
        outputs: for all samples, as the network returned them.
        named: whether the data name their classes.
    """

    inputs: Tensor
    labels: Tensor
    class_names: tuple[str, ...]
    named: bool
    tried: Tensor
    outputs: Tensor
    alone: Answers
    order: Order
    stated_accuracy: float | None

    @property
    def accuracy(self) -> float:
        """In percent."""
        return 100 * float((self.alone.predicted == self.labels).double().mean())


def cautions_about_accuracy(seen: Seen) -> Iterator[Caution]:
    """Accuracy near chance, an order of classes that fits better, accuracy far below what was stated."""
    for check in (_chance, _order, _stated):
        yield from check(seen)


def _chance(seen: Seen) -> Iterator[Caution]:
    order, guess = seen.order, seen.class_names[seen.order.constant_class]
    if order.near_chance:
        yield Caution(
            "chance",
            True,
            f"On inputs as given, accuracy is {seen.accuracy:.1f} %. That cannot be told from always answering "
            f"{guess!r}, which is right in {order.constant:.1f} % of these {len(seen.labels)} samples (chance is "
            f"{order.chance:.1f} % for {len(seen.class_names)} classes). Until this is settled the figures below say "
            f"little. {_causes(seen)}",
        )


def _order(seen: Seen) -> Iterator[Caution]:
    order = seen.order
    if order.fits_better:
        serious = "With another order of the classes" if order.doubtful else "With some classes exchanged"
        yield Caution(
            "order",
            True,
            f"{serious}, accuracy on inputs as given would be {order.reordered:.1f} % instead of "
            f"{seen.accuracy:.1f} %: the labels may not count classes as the network does. {_best_order(seen)}",
        )


def _best_order(seen: Seen) -> str:
    """The classes in the order of the outputs with which each mostly comes, and how to say so."""
    names = [seen.class_names[label] if label >= 0 else "?" for label in seen.order.outputs]
    shown = shlex.join(names[:SHOWN]).replace("'?'", "?") + " ..." * (len(names) > SHOWN)
    text = " That is their order as text, in which some libraries sort folders." if names == sorted(names) else ""
    if not seen.named:
        return f"The labels that fit best, in the order of the outputs: {shown}.{text} Renumber the labels."
    unknown = " (? stands for outputs that these samples say nothing about)" if "?" in names else ""
    return (
        f"The order that fits best{unknown}: --classes {shown}.{text} Where a file has labels without names, renumber "
        "them instead."
    )


def _stated(seen: Seen) -> Iterator[Caution]:
    stated, n = seen.stated_accuracy, len(seen.labels)
    if stated is None:
        return
    wrong = n - round(seen.accuracy * n / 100)
    if 100 * stated - seen.accuracy >= 2 and at_least(wrong, n, 1 - stated) <= CHANCE:
        yield Caution(
            "stated",
            True,
            f"On inputs as given, accuracy is {seen.accuracy:.1f} ± {_error(seen):.1f} %, far below the stated "
            f"{100 * stated:.1f} %. {_causes(seen)}",
        )


def _error(seen: Seen) -> float:
    return standard_error((seen.alone.predicted == seen.labels).double())


def _causes(seen: Seen) -> str:
    """What to try, the likeliest first."""
    causes = list[str]()
    if seen.order.fits_better:
        causes.append("the order of classes (--classes)")
    most, count = Counter(seen.alone.predicted.tolist()).most_common(1)[0]
    if count > 0.9 * len(seen.labels):
        causes.append(f"the preprocessing: the network answers {seen.class_names[most]!r} for nearly every sample")
    if float(seen.alone.confidence.mean()) < 1.5 / len(seen.class_names):
        causes.append("the weights: all classes come out about equally likely, as without training (--weights)")
    if seen.inputs.dim() == 4:
        causes.append(f"the size ({seen.inputs.shape[2]} × {seen.inputs.shape[3]}; --size)")
        causes.append(f"the channels ({seen.inputs.shape[1]}; --channels)")
        causes.append("the normalization (inputs are in [0, 1]; mean and standard deviation belong to the network)")
    else:
        causes.append("centre and scale of the clouds (--normalise) and the axis that points up")
    if not seen.order.fits_better:
        causes.append("the order of classes (--classes)")
    return f"Check {'; '.join(causes)}."
