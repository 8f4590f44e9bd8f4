"""Answers of any kind: how they move with the input, and how they are carried back from a transformed one.

A network that sees :math:`\\kappa_u(g)` answers for the transformed input. Class scores and the labels of points stay
as they are; vectors, poses and maps of pixels have to be turned back, by :meth:`Family.act`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor

from adacanon.arguments import is_name
from adacanon.core.polar import proper_rotations
from adacanon.core.prior import TURN_MAPS_BACK, Prior
from adacanon.core.pytree import Tree, tensors
from adacanon.core.shared_priors import EqualWeights, PlacePrior
from adacanon.core.soft import Temperature
from adacanon.errors import InputError, ShapeError, SpaceError, UnknownNameError

if TYPE_CHECKING:
    from adacanon.core.family import Family

Kind = Literal["invariant", "vectors", "rotations", "maps"]
"""How answers move with the input.

- "invariant": not at all, such as class scores, scalars, and the label of each point.
- "vectors": the last axis holds the 3 numbers of a vector, or those of several one after the other: (pairs, 3) for one
  per cloud, (pairs, points, 3) for one per point.
- "rotations": a pose :math:`Q`, (pairs, 3, 3) or its 9 numbers row by row, which becomes :math:`RQ` if the cloud is
  turned by R.
- "maps": an answer for every pixel, (pairs, channels, height, width).
"""


class Carried(NamedTuple):
    """Answers that have been carried back to the input.

    Attributes:
        answers: (pairs, ...); where a map has no source it is zero, and a pixel of which a share has one holds that
            share of its answer.
        known: that share, (pairs, 1, height, width), from 0 to 1; None if everything has a source.

    Example:
        >>> from adacanon.images import Translations
        >>> ones = torch.ones(1, 1, 2, 2)
        >>> Translations(0.5).act(torch.tensor([[0.5, 0.0]]), ones, "maps").known[0, 0].tolist()
        [[1.0, 0.0], [1.0, 0.0]]
    """

    answers: Tensor
    known: Tensor | None = None

    def mapped(self, function: Callable[[Tensor], Tensor]) -> "Carried":
        """The same function of the answers and of their known shares."""
        return Carried(function(self.answers), None if self.known is None else function(self.known))


def carried_back(family: "Family", kind: Kind, u: Tree, answers: Tensor) -> Carried:
    """Undo u on answers (pairs, ...) that were computed on the transformed inputs; geometry is never autocast."""
    if kind == "invariant":
        return Carried(answers)
    with torch.autocast(answers.device.type, enabled=False):
        return family.act(u, _as_matrices(answers) if kind == "rotations" else answers, kind)


def settled(carried: Carried, kind: Kind) -> Carried:
    """Answers as they are handed out, of carried ones or of a weighted mean of them: maps divided by the share that has
    a source and zero where nothing has, poses projected to the nearest rotation.
    """
    if kind == "rotations":
        return Carried(proper_rotations(carried.answers))
    if carried.known is None:
        return carried
    share = torch.where(carried.known > 0, carried.known, 1.0)
    return Carried(carried.answers / share, carried.known)


def check_answers(kind: Any, family: "Family", prior: Prior, temperature: Temperature | None) -> None:
    """Refuse kinds of answers that do not exist, that the family cannot carry back, or that the prior does not fit."""
    if not is_name(kind, Kind):
        raise UnknownNameError(
            f"answers must be one of {', '.join(get_args(Kind))}, got {kind!r}. "
            'Hint: "invariant" for class scores, scalars and labels of points, "maps" for an answer per pixel'
        )
    if kind not in family.carries:
        raise SpaceError(f"{family!r} cannot carry back answers of the kind {kind!r}. {_who_can(kind, family)}")
    if kind != "invariant" and not prior.shared:
        example = "NegativeEntropy(axis=1)" if kind == "maps" else "Confidence()"
        raise InputError(
            f"{prior!r} has a form per class, but answers of the kind {kind!r} need one shared form. "
            f"Hint: prior={example}, or prior=EqualWeights() with temperature=float('inf')"
        )
    if kind == "maps" and isinstance(prior, PlacePrior) and prior.axis not in (1, -3):
        raise InputError(
            f"Maps have their channels at axis 1, (pairs, channels, height, width), but the prior is {prior!r}. "
            f"Hint: prior={type(prior).__name__}(axis=1)"
        )
    if isinstance(prior, EqualWeights) and (temperature is None or not bool((temperature() > 0).all())):
        raise InputError(
            "EqualWeights prefers no form, so there is no single best one to choose. "
            "Hint: temperature=float('inf'), the mean over all candidates"
        )


def check_outputs(kind: Kind, family: "Family", prior: Prior, outputs: Tensor, g: Tree) -> None:
    """Refuse outputs (pairs, ...) of a shape that cannot be answers of this kind."""
    if kind == "invariant" and family.moves_pixels and outputs.dim() > 2:
        raise ShapeError(
            f"{family!r} needs one answer per image, (pairs, classes), got outputs of shape "
            f"{tuple(outputs.shape)}. {TURN_MAPS_BACK}"
        )
    answers = prior.answers_of(outputs)
    if kind == "invariant":
        return
    expected, fits, hint = {
        "vectors": ("(pairs, 3) or (pairs, points, 3), or several vectors on the last axis", _are_vectors, VECTORS),
        "rotations": ("(pairs, 3, 3) or (pairs, 9)", _are_matrices, "Hint: nine numbers per pose, row by row"),
        "maps": ("(pairs, channels, height, width), in the proportions of the images", _are_maps, MAPS),
    }[kind]
    if not fits(answers, g):
        raise ShapeError(
            f"Answers of the kind {kind!r} have shape {expected}, got {tuple(answers.shape)}"
            + ("" if answers is outputs else f", which {prior!r} leaves of outputs {tuple(outputs.shape)}")
            + f". {hint}"
        )


VECTORS = 'Hint: answers="invariant" for scalars and class scores; the prior Confidence() takes the last number away'
MAPS = 'Hint: answers="invariant" for one answer per image'


def _are_vectors(answers: Tensor, g: Tree) -> bool:
    return answers.dim() >= 2 and answers.shape[-1] > 0 and answers.shape[-1] % 3 == 0


def _are_matrices(answers: Tensor, g: Tree) -> bool:
    return (answers.dim() >= 3 and answers.shape[-2:] == (3, 3)) or (answers.dim() >= 2 and answers.shape[-1] == 9)


def _are_maps(answers: Tensor, g: Tree) -> bool:
    """A smaller map is one too, if it has the proportions of the images."""
    if answers.dim() != 4 or 0 in answers.shape:
        return False
    height, width = tensors(g)[0].shape[-2:]
    return answers.shape[-2] * width == answers.shape[-1] * height


def _as_matrices(answers: Tensor) -> Tensor:
    return answers if answers.dim() > 2 and answers.shape[-2:] == (3, 3) else answers.unflatten(-1, (3, 3))


def _who_can(kind: Kind, family: "Family") -> str:
    if kind == "maps" and family.moves_pixels:
        return (
            "What a window cuts away has no answer, and nothing undoes that. Hint: Rotations, Translations, Dilations, "
            "Shears, AffineMaps and Reflections of adacanon.images can"
        )
    can = {
        "vectors": "the families of adacanon.points can",
        "rotations": "Rotations and AxisRotations of adacanon.points can; the mirror image of a pose is none",
        "maps": "families of images can; the label of a point stays with it, which is the kind 'invariant'",
    }
    return f"Hint: {can.get(kind, '')}; for a family of your own, define carries and act"
