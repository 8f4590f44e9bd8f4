"""What a page is about: some inputs of a batch, and the classes that lead for each of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.core.canonical import Canonical
from adacanon.core.family import Family
from adacanon.core.pytree import Tree, map_tensors, take, tensors
from adacanon.errors import InputError

MOST_NUMBERS = 9
"""Of a transformation that has no words."""


@dataclass(frozen=True)
class Subject:
    """Some inputs of a batch that was canonicalized.

    Attributes:
        found: the outcome of the whole batch.
        rows: the inputs that are shown, (inputs,).
        leading: their leading classes, best first, (inputs, top); with one shared form a column of zeros.
        classes: names of all classes.
        labels: true classes of all inputs of the batch, or None.
        names: of all inputs of the batch.
        inputs: what is drawn in place of what the model was given, or None.
    """

    found: Canonical
    rows: Tensor
    leading: Tensor
    classes: tuple[str, ...]
    labels: Tensor | None
    names: tuple[str, ...]
    inputs: Any

    @property
    def shared(self) -> bool:
        """Whether one form serves the whole answer."""
        return is_shared(self.found)

    @property
    def g(self) -> Tree:
        """The prepared inputs that are shown."""
        return take(self.found.g, self.rows.to(self.found.scores.device))

    def form(self, i: int, place: int) -> Tree:
        """The canonical form of leading class number ``place`` of the shown input number i, without axes of a batch."""
        device = self.found.scores.device
        u = map_tensors(lambda leaf: leaf[i : i + 1], self.chosen(place))
        pair = self.found.family.transform(self.found.g, u, self.rows[i : i + 1].to(device))
        return map_tensors(lambda leaf: leaf[0], pair)

    def chosen(self, place: int) -> Tree:
        """The transformations (inputs, *point) of the leading class number ``place`` of each input."""
        device = self.found.scores.device
        return take(self.found.parameters, self.rows.to(device), self.leading[:, place].to(device))

    def score(self, place: int) -> Tensor:
        """Their scores, (inputs,)."""
        return self.found.scores.cpu()[self.rows, self.leading[:, place]]

    def name(self, number: int) -> str:
        """The name of a class."""
        return self.classes[number] if number < len(self.classes) else f"class {number}"

    def form_name(self, number: int) -> str:
        """Whose form number ``number`` is: that of a class, or of the whole answer."""
        return "the whole answer" if self.shared else self.name(number)

    def led_by(self, i: int) -> str:
        """Whose form leads for the shown input number i."""
        return self.form_name(int(self.leading[i, 0]))

    def row(self, i: int) -> Tree:
        """The prepared input number i of those shown, without the axis of the batch."""
        row = int(self.rows[i])
        return map_tensors(lambda leaf: leaf[row], self.found.g)

    def words(self, place: int) -> list[str]:
        """The chosen transformations in the words of the family, or as numbers."""
        u, owner = self.chosen(place), torch.arange(len(self.rows))
        told = self.found.family.describe(self.g, u, owner.to(self.found.scores.device))
        return [in_numbers(map_tensors(lambda leaf, i=i: leaf[i], u)) for i in owner.tolist()] if told is None else told


def subject_of(
    found: Canonical,
    *,
    classes: Sequence[str],
    labels: Sequence[int] | Tensor | None,
    names: Sequence[str],
    samples: int,
    index: Sequence[int] | None,
    top: int,
    inputs: Any,
) -> Subject:
    """Check what was asked for, and choose inputs and leading classes."""
    batch, forms = found.scores.shape
    rows = _rows(batch, samples, index)
    if top < 1:
        raise InputError(f"top must be a positive number of classes, got {top}")
    subject = Subject(
        found,
        rows,
        (found.scores if is_shared(found) else found.logits).detach().cpu()[rows].topk(min(top, forms)).indices,
        tuple(map(str, classes)),
        None if labels is None else torch.as_tensor(labels).cpu(),
        tuple(map(str, names)) or tuple(f"Input {row}" for row in range(batch)),
        inputs,
    )
    _check(subject, classes)
    return subject


def _check(subject: Subject, classes: Sequence[str]) -> None:
    """Refuse names and labels that do not fit the batch."""
    batch, forms = subject.found.scores.shape
    if isinstance(classes, str):
        raise InputError(f"classes must be a sequence of names, got the text {classes!r}. Hint: classes=['a', 'b']")
    if classes and not subject.shared and len(classes) != forms:
        raise InputError(f"The network has {forms} classes, got {len(classes)} names. Hint: one name for each output")
    if subject.labels is not None and subject.labels.shape[:1] != (batch,):
        raise InputError(f"labels must be one for each of {batch} inputs, got {tuple(subject.labels.shape)}")
    if len(subject.names) != batch:
        raise InputError(f"names must be one for each of {batch} inputs, got {len(subject.names)}")


def is_shared(found: Canonical) -> bool:
    """Whether one form serves the whole answer; without the model, told from the shapes."""
    if found.model is not None:
        return found.model.prior.shared
    return found.scores.shape != found.logits.shape


def family_name(family: Family) -> str:
    """A family as it is printed, or its class where it prints its address in memory only.

    Example:
        >>> from adacanon.points import Rotations
        >>> family_name(Rotations())
        'Rotations()'
    """
    return type(family).__name__ if type(family).__repr__ is object.__repr__ else repr(family)


def in_numbers(u: Tree, digits: int = 3) -> str:
    """A transformation as its numbers, the first few of them.

    Example:
        >>> in_numbers((torch.tensor([0.5, 2.0]), torch.tensor(3)))
        'parameters 0.5, 2, 3'
    """
    numbers = [x for leaf in tensors(u) for x in leaf.reshape(-1).tolist()]
    told = ", ".join(f"{x:.{digits}g}" for x in numbers[:MOST_NUMBERS])
    return f"parameters {told}" + f", … ({len(numbers)} numbers)" * (len(numbers) > MOST_NUMBERS)


def _rows(batch: int, samples: int, index: Sequence[int] | None) -> Tensor:
    if samples < 1:
        raise InputError(f"samples must be a positive number of inputs, got {samples}")
    if index is None:
        return torch.arange(min(samples, batch))
    rows = torch.as_tensor(index).reshape(-1)
    if not len(rows) or rows.is_floating_point() or int(rows.min()) < 0 or int(rows.max()) >= batch:
        raise InputError(f"index must name inputs 0 to {batch - 1} of the batch, got {index}")
    return rows
