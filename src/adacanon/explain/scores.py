"""The model asked again: scores of the inputs that a page shows, at any transformations."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.evaluation_mode import in_evaluation_mode
from adacanon.core.landscape import Landscape
from adacanon.core.model import CanonicalizedModel
from adacanon.core.pytree import Tree, batch_size, map_tensors, slice_rows
from adacanon.core.space import Space, candidates
from adacanon.errors import UndeterminedWarning
from adacanon.explain.subject import Subject, in_numbers

AT_A_TIME = 64
"""Candidates whose answers are in memory together: answers may be maps."""


class Scores:
    """Prior values of a few inputs.

    Attributes:
        subject: what the page is about.
        space: the transformations of these inputs.
    """

    def __init__(self, subject: Subject, landscape: Landscape) -> None:
        self.subject, self.landscape = subject, landscape

    @property
    def space(self) -> Space:
        return self.landscape.space

    def outputs(self, u: Tree) -> Iterator[Tensor]:
        """Network outputs (some, inputs, ...) at candidates (count, inputs, *point), a few candidates at a time."""
        u = self.landscape.place(u)
        for a in range(0, batch_size(u), AT_A_TIME):
            yield self.landscape.outputs(slice_rows(u, a, a + AT_A_TIME))

    def at(self, u: Tree) -> Tensor:
        """Scores (count, inputs, top) of the leading classes at candidates (count, inputs, *point)."""
        prior = self.landscape.prior
        values = [prior(part.flatten(0, 1)).unflatten(0, part.shape[:2]) for part in self.outputs(u)]
        scores = torch.cat(values).cpu()
        return scores.gather(2, self.subject.leading.expand(len(scores), -1, -1))

    def at_shared(self, u: Tree) -> Tensor:
        """The same at candidates (count, *point) that all inputs share."""
        return self.at(candidates(self.space, u, self.landscape.batch))

    def titles(self, u: Tensor, i: int) -> list[str]:
        """Transformations (count, *point) of the shown input number i in words, or as numbers."""
        told = self.subject.found.family.describe(self.subject.g, u, torch.full((len(u),), i))
        return [in_numbers(x) for x in u] if told is None else told

    def chosen(self) -> Tensor:
        """The scores of the leading classes at the forms chosen for them, (inputs, top)."""
        tops = range(self.subject.leading.shape[1])
        u = map_tensors(lambda *leaves: torch.stack(leaves), *(self.subject.chosen(place) for place in tops))
        return self.at(u).diagonal(dim1=0, dim2=2)


@contextmanager
def asked(subject: Subject, model: CanonicalizedModel) -> Iterator[Scores]:
    """The model in evaluation mode, ready to score the inputs; nothing that it learns or draws is changed."""
    with evaluating(model) as twin, twin.searching(subject.g, None, None) as (_, landscape):
        yield Scores(subject, landscape)


@contextmanager
def evaluating(model: CanonicalizedModel) -> Iterator[Canonicalized]:
    """The model in evaluation mode and without warnings of what the page itself says."""
    with warnings.catch_warnings(), in_evaluation_mode(model) as twin:
        warnings.simplefilter("ignore", UndeterminedWarning)
        yield twin  # type: ignore[misc]
