"""The page of an answer: one file that needs no network."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from adacanon.core.canonical import Canonical
from adacanon.errors import DataError, InputError
from adacanon.explain.chart import Chart
from adacanon.explain.drawn import SHADES, Clouds
from adacanon.explain.facts import inputs_in_words, lead_in_words, search_in_words
from adacanon.explain.landscapes import landscapes
from adacanon.explain.moved import Moved, moved
from adacanon.explain.scores import asked
from adacanon.explain.sections import sections
from adacanon.explain.subject import Subject, subject_of

PACKAGES = {"jinja2": "jinja2", "PIL": "pillow"}
"""What pages need, by the name under which it is imported."""
NOT_ASKED = (
    "The model that found this is not known here, because the outcome was stored without it. So the page does not show "
    "how scores depend on the transformation, nor whether the answer stays if the input is moved."
)
NOT_MOVED = (
    "Whether the answer stays if the input is moved was not tried: these transformations act on what is computed from "
    "an input, not on the input itself."
)


@torch.no_grad()
def page(
    found: Canonical,
    *,
    classes: Sequence[str] = (),
    labels: Sequence[int] | Tensor | None = None,
    names: Sequence[str] = (),
    title: str | None = None,
    samples: int = 4,
    index: Sequence[int] | None = None,
    top: int = 3,
    moves: int = 8,
    inputs: Any = None,
) -> str:
    """A page about what was found for some inputs of a batch, as the text of an HTML file.

    It shows each input and the canonical forms of its leading classes, how the score depends on the transformation,
    the weights of a model with a temperature, and whether the answer stays if the input is moved. For the second and
    the last the model is asked again, in evaluation mode; nothing of it is changed.

    Args:
        found: of ``model.canonicalize``.
        others: as for :meth:`Canonical.save`.

    Example:
        >>> import torch
        >>> from adacanon import Canonicalized
        >>> from adacanon.images import Rotations
        >>> network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
        >>> found = Canonicalized(network, Rotations()).eval().canonicalize(torch.rand(2, 1, 8, 8))
        >>> text = page(found, classes=["cat", "dog"], title="Two images")
        >>> "Two images" in text, "Score over the angle" in text
        (True, True)
    """
    _check_packages()
    from adacanon.reports.pages import render

    if moves < 0:
        raise InputError(f"moves must be a number from 0, got {moves}")
    subject = subject_of(
        found, classes=classes, labels=labels, names=names, samples=samples, index=index, top=top, inputs=inputs
    )
    clouds = Clouds()
    charts, tried, notes = _asked(subject, clouds, moves)
    values = {
        "title": title or f"What the model saw: {type(found.family).__name__}",
        "lead": lead_in_words(subject),
        "shown": inputs_in_words(subject),
        "search": search_in_words(found),
        "notes": notes,
        "sections": sections(subject, clouds, charts, tried),
        "clouds": clouds.data,
        "shades": SHADES,
    }
    return render("explain.html", values)


def _asked(subject: Subject, clouds: Clouds, moves: int) -> tuple[list[list[Chart]], Moved | None, list[str]]:
    """What only the model can tell: landscapes, what moves change, and what could not be told."""
    model = subject.found.model
    if model is None:
        return [[] for _ in subject.rows], None, [NOT_ASKED]
    with asked(subject, model) as scores:
        charts = landscapes(scores, clouds)
        tried = moved(subject, model, scores, moves) if moves else None
    return charts, tried, [NOT_MOVED] if moves and tried is None else []


def _check_packages() -> None:
    """Before the model is asked, see whether its answers can be drawn."""
    missing = [package for name, package in PACKAGES.items() if find_spec(name) is None]
    if missing:
        raise DataError(f'Pages need {" and ".join(missing)}. Hint: pip install "adacanon[explain]"')
