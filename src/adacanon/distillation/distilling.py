r"""A ranker learns from the network's own search, so that a :class:`~adacanon.maximizers.Cascade` can take its place.

The full search is done once on every input of a loader. The ranker learns the values :math:`v_d(u_i)` that it found,
and is judged on inputs that it has not learned from.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.arguments import real_number, whole_number
from adacanon.core.canonicalized import Canonicalized
from adacanon.core.maximizer import Maximizer
from adacanon.distillation.exercises import exercises_of, settle
from adacanon.distillation.learning import learn
from adacanon.distillation.lessons import lessons_of
from adacanon.distillation.measuring import Measured, measured
from adacanon.errors import InputError
from adacanon.maximizers.cascade import Cascade, check_finite
from adacanon.maximizers.ranker import Ranker
from adacanon.reports.progress import passes_bar

OFTEN = 4
"""So many times as many finalists as on average are the most for one input, where nothing is said."""


@dataclass(frozen=True)
class Distilled:
    """A model that searches by a cascade, and what it loses on inputs that its ranker has not learned from.

    Attributes:
        model: the same network with another search in evaluation; in training it searches as before.
        measured: agreement with the full search, and cost.

    Example:
        >>> from adacanon.points import PointNet, Rotations
        >>> model = Canonicalized(PointNet(4), Rotations()).eval()
        >>> distilled = distil(model, torch.randn(40, 64, 3).split(4), finalists=24, steps=1, show=False)
        >>> distilled.measured.agreement, distilled.measured.full_evaluations
        (1.0, 24.0)
    """

    model: Canonicalized
    measured: Measured

    def __str__(self) -> str:
        found = self.measured
        return (
            f"{self.model.search!r}: {found.evaluations:.2f} evaluations of the network in place of "
            f"{found.full_evaluations:g}, the same answer for {100 * found.agreement:.2f} % of {found.inputs} inputs"
        )


def distil(
    model: Canonicalized,
    loader: Iterable[Any],
    *,
    ranker: Ranker | None = None,
    finalists: float = 3,
    most: int | None = None,
    candidates: int | None = 8,
    steps: int = 1000,
    learning_rate: float | None = None,
    held_out: int = 10,
    validation: Iterable[Any] | None = None,
    inputs: Callable[[Any], Any] | None = None,
    generator: torch.Generator | None = None,
    show: bool = True,
) -> Distilled:
    """Train a ranker on the outcome of the model's own search, and return the model with a cascade in its place.

    The model must search a finite set of candidates. The network is asked about some of them on every batch of the
    loader, in evaluation mode; views, candidates and values of all batches stay in memory. It is neither trained nor
    changed. If you train it further, its ranker falls behind: call this again.

    The number of finalists differs from input to input: most answers are settled after one or two, some need many
    (:class:`~adacanon.maximizers.RankerErrors`). How cautious the cascade is follows from the number of finalists that
    you want on average, on inputs that the ranker has not learned from. If these are inputs that the network was
    trained on, it is surer of them than of new ones, which will take more finalists and agree less often: give a
    ``validation`` set where there is one.

    Args:
        model: a canonicalized network, trained.
        loader: batches of inputs. Of a tuple or a list the first part is taken; labels are not needed.
        ranker: what is trained; if left out, that of the family (:meth:`Family.ranker`).
        finalists: candidates that the network evaluates after the ranker, on average.
        most: of them for one input; if left out, four times as many. With as many as on average, all inputs get the
            same number.
        candidates: of an input that is learned from, about which the network is asked; drawn at random for every batch.
            None asks about all. Many inputs teach more than many candidates of a few.
        steps: of Adam, with a learning rate that falls along half a cosine.
        learning_rate: of the first step; if left out, 0.005, and a tenth of it for a ranker that is a copy of the
            network.
        held_out: one batch in so many is not learned from, and is measured on.
        validation: batches that are measured on in their place, of inputs that the network was not trained on.
        inputs: from a batch of the loader to what the model takes, where the first part is not it.
        generator: source of the order of batches.
        show: draw a bar.

    Example:
        >>> from adacanon.points import PointNet, Rotations
        >>> model = Canonicalized(PointNet(4), Rotations()).eval()
        >>> distilled = distil(model, torch.randn(40, 64, 3).split(4), steps=5, show=False)
        >>> distilled.model.search.finalists, len(distilled.measured.agreements)
        (12, 24)
    """
    if not isinstance(model, Canonicalized):
        raise InputError(f"distil takes a Canonicalized model, got {type(model).__name__}")
    steps = whole_number("distil", "steps", steps, least=1)
    if candidates is not None:
        candidates = whole_number("distil", "candidates", candidates, least=2, hint="None for all")
    held_out = whole_number("distil", "held_out", held_out, least=2, hint="10 holds out every tenth batch")
    if learning_rate is not None:
        learning_rate = real_number("distil", "learning_rate", learning_rate, least=0)
    finalists, most = _numbers(finalists, most)
    search = check_finite("distil", _full_search(model))
    full = with_search(model, search)
    full.training = False  # of this wrapper alone: the network keeps its flags
    part = _first_part if inputs is None else inputs
    generator = generator or torch.Generator().manual_seed(0)
    apart = validation is not None

    def chosen(number: int, count: int) -> Tensor | None:
        """All candidates of what is measured on, some of what is learned from."""
        measured_on = not apart and number % held_out == 0
        few = None if measured_on or candidates is None else candidates
        return None if few is None or few >= count else torch.randperm(count, generator=generator)[:few]

    with passes_bar("searching", show=show) as tell:
        done = _length(loader)
        ranker, lessons = lessons_of(
            full, map(part, loader), ranker, candidates=chosen, tell=lambda number: tell(number, max(done, number))
        )
    if validation is not None:
        seen, (_, unseen) = lessons, lessons_of(full, map(part, validation), ranker, begun=True)
    else:
        seen, unseen = [lesson for number, lesson in enumerate(lessons) if number % held_out], lessons[::held_out]
    if not seen:
        raise InputError(
            f"distil needs at least two batches, one to learn from and one to measure on, got {len(lessons)}. "
            "Hint: smaller batches"
        )
    with passes_bar("learning", show=show) as tell:
        learn(ranker, model.family, seen, steps=steps, learning_rate=learning_rate, generator=generator, tell=tell)
    exercises = exercises_of(ranker, full, unseen)
    most = settle(ranker.errors, exercises, full, finalists=finalists, most=most)
    return Distilled(
        with_search(model, Cascade(search, ranker, finalists=most)), measured(ranker, full, exercises, most)
    )


def _numbers(finalists: float, most: int | None) -> tuple[float, int]:
    """Finalists on average, and for one input at most."""
    finalists = real_number("distil", "finalists", finalists, least=1, hint="on average")
    if most is None:
        return finalists, math.ceil(OFTEN * finalists)
    return finalists, whole_number("distil", "most", most, least=math.ceil(finalists), hint="no less than on average")


def with_search(model: Canonicalized, search: Maximizer) -> Canonicalized:
    """The same network, family and settings with another search in evaluation; in training it searches as before."""
    in_training = model.training_search or _full_search(model)
    other = Canonicalized(
        model.network,
        model.family,
        search,
        prior=model.prior,
        answers=model.answers,
        temperature=0.0 if model.temperature is None else model.temperature,
        training_search=None if in_training is search else in_training,
        chunk_size=model.chunk_size,
        seed=int(model.seed),
        resample_every=model.resample_every,
    )
    other.training = model.training
    other.seed, other.draws = model.seed.clone(), model.draws.clone()
    return other


def _full_search(model: Canonicalized) -> Maximizer:
    """What the model searches with; under a cascade, what that orders."""
    return model.search.search if isinstance(model.search, Cascade) else model.search


def _first_part(batch: Any) -> Any:
    return batch[0] if isinstance(batch, tuple | list) and batch else batch


def _length(loader: Any) -> int:
    """The number of batches where a loader knows it."""
    return len(loader) if hasattr(loader, "__len__") else 0
