"""What a ranker learns from: views of inputs, candidates, and what the network says of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.evaluation_mode import in_evaluation_mode
from adacanon.core.landscape import Landscape
from adacanon.core.pytree import Tree, batch_size, map_tensors, take
from adacanon.errors import InputError, ShapeError
from adacanon.maximizers.cascade import check_finite, every_candidate
from adacanon.maximizers.ranker import Ranker, check_ranker


@dataclass(frozen=True)
class Lesson:
    """Views of some inputs, all candidates (candidates, batch, *point), and the network's values of these
    (candidates, batch, forms).
    """

    view: Tree
    points: Tree
    values: Tensor

    def of_inputs(self, index: Tensor) -> "Lesson":
        """The same of some of the inputs."""
        points = map_tensors(lambda leaf: leaf[:, index], self.points)
        return Lesson(take(self.view, index), points, self.values[:, index])


def lessons_of(
    model: Canonicalized,
    batches: Iterable[Any],
    ranker: Ranker | None,
    *,
    candidates: Callable[[int, int], Tensor | None] = lambda number, count: None,
    tell: Callable[[int], None] = lambda number: None,
    begun: bool = False,
) -> tuple[Ranker, list[Lesson]]:
    """The search of a model on every batch, and the ranker that is to learn from it: the one given, or that of the
    family. Its cost is counted on the first batch.

    Args:
        candidates: from the number of a batch and that of candidates to the indices of those that the network is asked
            about; None stands for all.
        tell: called with the number of batches that are done.
        begun: whether there have been other batches, on the first of which the cost was counted.
    """
    lessons: list[Lesson] = []
    for number, batch in enumerate(batches):
        g = model.prepare(batch)
        with model.searching(g, None, None) as (search, landscape):
            points = every_candidate(check_finite("distil", search), landscape, model.next_generator())
            chosen = candidates(number, batch_size(points))
            if chosen is not None:
                points = take(points, chosen.to(landscape.device))
            values = landscape(points)
            if ranker is None or not (lessons or begun):
                ranker = _chosen(ranker, model, g, values.shape[2])
                ranker.cost.fill_(_relative_cost(ranker, landscape, points))
            view = landscape.g if ranker.size is None else landscape.view(ranker.size)
        lessons.append(Lesson(view, points, values))
        tell(number + 1)
    if ranker is None:
        raise InputError("distil needs batches of inputs, got none. Hint: a loader over the training set")
    return ranker, lessons


def _chosen(ranker: Ranker | None, model: Canonicalized, g: Tree, outputs: int) -> Ranker:
    """The ranker that was given, or the family's."""
    chosen = model.family.ranker(g, outputs, model.network) if ranker is None else ranker
    if chosen is None:
        raise InputError(
            f"{model.family!r} has no ranker of its own for these inputs. "
            f"Hint: distil(..., ranker=Ranker(network, outputs={outputs})) with a light network on forms"
        )
    checked = check_ranker("distil", chosen)
    if checked.outputs != outputs:
        raise ShapeError(
            f"The network gives {outputs} values per candidate, the ranker estimates {checked.outputs}. "
            f"Hint: a ranker with outputs={outputs}"
        )
    return checked


def _relative_cost(ranker: Ranker, landscape: Landscape, points: Tree) -> float:
    """Operations of the ranker for a form of every input, as a share of those of the network; what the ranker says
    itself where those of the network cannot be counted. Transformations are not counted.
    """
    u, owner = map_tensors(lambda leaf: leaf[0], points), torch.arange(landscape.batch, device=landscape.device)
    view = landscape.g if ranker.size is None else landscape.view(ranker.size)
    with in_evaluation_mode(ranker) as light:
        few = _operations(light, landscape.family.transform(view, u, owner))
    many = _operations(landscape.network, landscape.family.transform(landscape.g, u, owner))
    return few / many if many else float(ranker.cost)


def _operations(network: Callable[[Tree], Tensor], forms: Tree) -> int:
    """Products of matrices and convolutions in one pass."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        network(forms)
    return counter.get_total_flops()
