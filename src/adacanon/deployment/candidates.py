"""The candidates of a search as part of a program."""

from collections.abc import Iterable
from typing import cast

import torch
from torch import nn
from torch.utils._pytree import tree_flatten, tree_unflatten

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.family import Family
from adacanon.core.landscape import Landscape
from adacanon.core.pytree import Tree, map_tensors, tensors
from adacanon.errors import InputError
from adacanon.maximizers.anchored import AnchoredSearch, composed
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.selection import draws

CAN_BE_EXPORTED = "GridSearch, RandomSearch, and AnchoredSearch without refinement steps"


class Constants(nn.Module):
    """A tree of tensors that is saved with a program."""

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        leaves, self.structure = tree_flatten(tree)
        for index, leaf in enumerate(leaves):
            self.register_buffer(f"leaf{index}", leaf.detach().clone())

    def forward(self) -> Tree:
        return tree_unflatten(list(self.buffers()), self.structure)


class FixedCandidates(nn.Module):
    """The same points (count, *point) for every input, as (count, batch, *point)."""

    def __init__(self, points: Tree) -> None:
        super().__init__()
        self.points = Constants(points)

    def forward(self, g: Tree) -> Tree:
        batch = tensors(g)[0].shape[0]
        return map_tensors(lambda leaf: leaf.unsqueeze(1).expand(-1, batch, *leaf.shape[1:]), self.points())


class MovingCandidates(nn.Module):
    r"""The anchors of an input, and draws composed with them, :math:`u^k \circ a_j(g)`, as (count, batch, *point)."""

    def __init__(self, family: Family, search: AnchoredSearch, further: Tree | None) -> None:
        super().__init__()
        self.family, self.search = family, search
        self.further = None if further is None else FixedCandidates(further)

    def forward(self, g: Tree) -> Tree:
        anchors, _ = self.search.shared_out(self.family.anchor(g))
        first = map_tensors(lambda leaf: leaf.transpose(0, 1), anchors)
        if self.further is None:
            return first
        others = composed(self.family.space(g), self.further(g), anchors)
        return map_tensors(lambda *leaves: torch.cat(leaves), first, others)


def candidates_of(model: Canonicalized, landscape: Landscape) -> nn.Module:
    """The candidates of a search in evaluation mode; a search without a finite set of them is refused."""
    search, generator = model.search, model.next_generator()
    if landscape.space.members is not None:
        raise InputError(
            f"{model.family!r} has another space for every input, so that its candidates cannot be part of a program. "
            "Hint: families of clouds and of images can be exported"
        )
    if type(search) in (GridSearch, RandomSearch):
        blocks = cast(GridSearch | RandomSearch, search).propose(landscape, generator)
        return FixedCandidates(_of_the_first_input(blocks))
    if type(search) is AnchoredSearch and search.steps == 0:
        return _moving(model.family, search, landscape, generator)
    raise InputError(
        f"{search!r} cannot be exported: its candidates are no fixed set, nor one that follows from the input alone. "
        f"Hint: {CAN_BE_EXPORTED} can be"
    )


def _moving(
    family: Family, search: AnchoredSearch, landscape: Landscape, generator: torch.Generator
) -> MovingCandidates:
    anchors = landscape.anchors()
    if anchors is None:
        raise InputError(f"{family!r} has no anchors, which {search!r} needs. Hint: RandomSearch(50)")
    _, count = search.shared_out(anchors)
    further = None if count == 1 else _of_the_first_input(draws(landscape, count - 1, generator))
    return MovingCandidates(family, search, further)


def _of_the_first_input(blocks: Iterable[Tree]) -> Tree:
    """All points (count, *point) of blocks (count, batch, *point) that are the same for all inputs."""
    return map_tensors(lambda *leaves: torch.cat(leaves)[:, 0], *blocks)
