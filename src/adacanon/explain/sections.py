"""What a page says about each input."""

from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.pictures import Graph, Picture, Points
from adacanon.explain.answers import answer_drawn
from adacanon.explain.chart import Chart, svg_chart
from adacanon.explain.charts import Axis, bars
from adacanon.explain.drawn import Clouds, Drawn, centred, drawn, radius_of
from adacanon.explain.drawn_numbers import any_picture
from adacanon.explain.facts import answer_in_words, change_in_words, determined_in_words, truth_in_words
from adacanon.explain.given_graphs import graph_picture
from adacanon.explain.moved import Moved
from adacanon.explain.subject import Subject

WEIGHTS = 40
"""Bars of the largest weights, at most."""


@dataclass(frozen=True)
class Cell:
    """A picture with a title and a few words below it; ``leads`` for the form that decides, ``wide`` for
    one that needs the room of two.
    """

    title: str
    words: str
    picture: Drawn
    leads: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Section:
    """All about one input."""

    title: str
    answer: str
    cells: list[Cell]
    charts: list[Chart]
    facts: list[str]


def sections(subject: Subject, clouds: Clouds, charts: list[list[Chart]], moves: Moved | None) -> list[Section]:
    """One section for every input that is shown."""
    return [_section(subject, clouds, charts[i], moves, i) for i in range(len(subject.rows))]


def _section(subject: Subject, clouds: Clouds, charts: list[Chart], moves: Moved | None, i: int) -> Section:
    row, found = int(subject.rows[i]), subject.found
    pictures = _pictures(subject, i)
    cells = _cells(subject, pictures, clouds, i)
    answer = answer_in_words(subject, i)
    if subject.shared and found.model is not None:
        shown, answer = answer_drawn(subject, found.model, i, pictures[0], clouds)
        cells += [] if shown is None else [Cell("Answer on the input", answer, shown)]
    weights = [] if found.weights is None else [_weights(subject, i, found.weights[:, row].detach().cpu())]
    facts = [*change_in_words(moves, i), *determined_in_words(found.determined, row)]
    answer = f"{answer} {truth_in_words(subject, row)}".strip()
    return Section(subject.names[row], answer, cells, charts + weights, facts)


def _pictures(subject: Subject, i: int) -> list[Picture]:
    """The input, then the forms of the leading classes."""
    found, row = subject.found, int(subject.rows[i])
    forms = [subject.form(i, place) for place in range(subject.leading.shape[1])]
    given = graph_picture(found.given if subject.inputs is None else subject.inputs, row)
    pictures: list[Picture] = [given or found.family.picture(subject.row(i)) or any_picture(subject.row(i))]
    return pictures + [found.family.picture(form) or any_picture(form) for form in forms]


def _cells(subject: Subject, pictures: list[Picture], clouds: Clouds, i: int) -> list[Cell]:
    pictures = _coloured_alike(pictures)
    radius = max((radius_of(p) for p in pictures if isinstance(p, Points)), default=None)
    shown = [drawn(picture, clouds, radius=radius) for picture in pictures]
    cells = [Cell("Input", shown[0].words, shown[0], wide=isinstance(pictures[0], Graph))]
    for place, (number, form) in enumerate(zip(subject.leading[i].tolist(), shown[1:], strict=True)):
        whose = "Shared form" if subject.shared else subject.name(number)
        words = f"{subject.words(place)[i]}; score {float(subject.score(place)[i]):.4g}"
        cells.append(Cell(whose, words, form, leads=place == 0))
    return cells


def _coloured_alike(pictures: list[Picture]) -> list[Picture]:
    """Clouds with the points of the first one have its colours, so that parts can be followed."""
    first = pictures[0]
    if not isinstance(first, Points) or first.values is not None:
        return pictures
    values = _along(first)
    return [
        Points(p.coordinates, p.real, values) if isinstance(p, Points) and len(p.coordinates) == len(values) else p
        for p in pictures
    ]


def _along(points: Points) -> Tensor:
    """The coordinate of all points along the longest direction of the real ones."""
    x, _ = centred(points)
    direction = torch.linalg.eigh(x.T @ x).eigenvectors[:, -1]
    return points.coordinates.detach().double().cpu() @ direction


def _weights(subject: Subject, i: int, weights: Tensor) -> Chart:
    """The weights (candidates, forms) of the leading form under the temperature of the model."""
    form, row = int(subject.leading[i, 0]), int(subject.rows[i])
    values = weights[:, form].sort(descending=True).values
    assert subject.found.effective_forms is not None
    number = float(subject.found.effective_forms[row, form])
    some = f" The {WEIGHTS} largest are drawn." * (len(values) > WEIGHTS)
    said = (
        f"The answer does not come from one form alone: all {len(values)} candidates count, by these weights, which "
        f"add up to 1. For {subject.led_by(i)} they count like {number:.1f} forms of equal weight; the form shown has "
        f"the largest weight, {float(values[0]):.3g}.{some}"
    )
    drawn_values = values[:WEIGHTS].tolist()
    y = Axis("weight", 0.0, 1.06 * drawn_values[0])
    titles = [f"{value:.3g}" for value in drawn_values]
    markup = bars(drawn_values, titles, "candidates, largest first", y, marked=0, label=said)
    return svg_chart("Weights of the candidates", markup, said)
