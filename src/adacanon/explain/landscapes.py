"""How the score depends on the transformation, drawn for every kind of space."""

from collections.abc import Callable

import torch
from torch import Tensor

from adacanon.core.pytree import Tree, map_tensors, tensors
from adacanon.core.space import Space
from adacanon.explain.chart import Chart, range_in_words, svg_chart
from adacanon.explain.charts import Axis, around, bars, dots
from adacanon.explain.drawn import Clouds
from adacanon.explain.over_boxes import over_angles, over_interval, over_rectangle
from adacanon.explain.rotations import is_rotations, over_rotations
from adacanon.explain.scores import Scores
from adacanon.spaces.box import Box
from adacanon.spaces.circle import Circle
from adacanon.spaces.finite import Finite

ELEMENTS, DRAWS = 256, 192


def landscapes(scores: Scores, clouds: Clouds) -> list[list[Chart]]:
    """For every input, pictures of the score of its leading classes over the space."""
    if is_rotations(scores.space):
        return over_rotations(scores, clouds)
    return _maker(scores.space)(scores)


def _maker(space: Space) -> Callable[[Scores], list[list[Chart]]]:
    if isinstance(space, Circle):
        return over_angles
    if isinstance(space, Finite):
        return _over_elements
    if isinstance(space, Box) and len(space.low) <= 2:
        return over_interval if len(space.low) == 1 else over_rectangle
    return _by_distance


def _over_elements(scores: Scores) -> list[list[Chart]]:
    """Bars for the elements of a finite set, or for some of them."""
    space = scores.space
    assert isinstance(space, Finite)
    u = torch.arange(space.size) if space.size <= ELEMENTS else space.sample(ELEMENTS, generator=_generator())
    values = scores.at_shared(u)[..., 0]
    return [[_bars(scores, i, u, values[:, i], space.size)] for i in range(values.shape[1])]


def _bars(scores: Scores, i: int, u: Tensor, values: Tensor, size: int) -> Chart:
    values, order = values.sort(descending=True)
    named = zip(scores.titles(u[order], i), values.tolist(), strict=True)
    told = [f"{title}: {value:.3g}" for title, value in named]
    marked = (u[order] == scores.subject.chosen(0)[i].cpu()).nonzero().flatten().tolist()
    some = "every candidate" if size <= ELEMENTS else f"{ELEMENTS} of {size} candidates"
    said = f"The score of {scores.subject.led_by(i)} for {some}, largest first. The best: {'; '.join(told[:3])}."
    y = Axis("score", *around(values.tolist()))
    first = marked[0] if marked else -1
    markup = bars(values.tolist(), told, "candidates, best first", y, marked=first, label=said)
    return svg_chart("Score of the candidates", markup, said)


def _by_distance(scores: Scores) -> list[list[Chart]]:
    """For spaces of many dimensions: random transformations by their distance from the chosen one."""
    space = scores.space
    u = scores.landscape.place(space.sample(DRAWS, generator=_generator()))
    values = (scores.at(u) if space.members is not None else scores.at_shared(u))[..., 0]
    chosen = scores.chosen()[:, 0].tolist()
    return [[_dots(scores, i, _distances(scores, u, i), values[:, i], chosen[i])] for i in range(len(chosen))]


def _dots(scores: Scores, i: int, apart: Tensor, values: Tensor, chosen: float) -> Chart:
    said = (
        f"Each dot is one of {DRAWS} random transformations: how far it is from the chosen one, and the score of "
        f"{scores.subject.led_by(i)} there. The large dot at the left is the chosen one. "
        f"{range_in_words(values, chosen)}"
    )
    points = list(zip(apart.tolist(), values.tolist(), strict=True))
    x = Axis("distance from the chosen transformation", 0.0, max(1e-9, 1.03 * float(apart.max())))
    y = Axis("score", *around([*values.tolist(), chosen]))
    markup = dots(points, x, y, mark=(0.0, chosen), label=said)
    return svg_chart("Score of random transformations", markup, said)


def _distances(scores: Scores, u: Tree, i: int) -> Tensor:
    """From points (count, *point) or (count, members, *point) to the one chosen for input i; what is infinitely far
    away is drawn at the largest distance.
    """
    space, best = scores.space, scores.subject.chosen(0)
    if space.members is None:
        u = map_tensors(lambda leaf: leaf.unsqueeze(1), u)
    else:
        u = map_tensors(lambda leaf: leaf[:, i : i + 1], u)
        space = space.select(torch.tensor([i], device=tensors(u)[0].device))
    chosen = map_tensors(lambda a, b: b[i : i + 1].unsqueeze(0).to(a).expand_as(a), u, best)
    apart = space.distance(u, chosen).double().cpu().reshape(-1)
    finite = apart[apart.isfinite()]
    return torch.where(apart.isfinite(), apart, finite.max() if len(finite) else 1.0)


def _generator() -> torch.Generator:
    """Pages about the same thing are the same."""
    return torch.Generator().manual_seed(0)
