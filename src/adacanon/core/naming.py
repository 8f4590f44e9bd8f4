"""What a checkpoint says of the model that it belongs to."""

import json
import re
from typing import Any

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.maximizer import Maximizer
from adacanon.core.prior import ClassScore, Prior
from adacanon.errors import InputError
from adacanon.notices import warn_caller

PRIOR = ("prior", "settings of the prior")
NOT_NAMES = (
    "The checkpoint does not name its family and search in a way that can be read: it is damaged, or written by "
    "another program. Hint: remove the entry that ends in _extra_state from it to load it all the same"
)
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def names_of(
    family: Family,
    search: Maximizer,
    training_search: Maximizer | None,
    prior: Prior | None = None,
    answers: str = "invariant",
) -> dict[str, str]:
    """Kind and settings of family and prior, the kinds of the searches and that of the answers: how many candidates are
    tried is no part of it. Answers that do not move with the input are not mentioned, as in checkpoints of older
    versions.

    Example:
        >>> from adacanon import RandomSearch, WithMemory
        >>> from adacanon.points import Rotations
        >>> names_of(Rotations(), WithMemory(RandomSearch(8), samples=10), None)["search"]
        'WithMemory(RandomSearch)'
    """
    prior = ClassScore() if prior is None else prior
    moving = {} if answers == "invariant" else {"answers": answers}
    return moving | {
        "family": f"{_package(family)}.{_kind(family, Family)}",
        "settings": _ADDRESS.sub("", repr(family)),
        "prior": type(prior).__qualname__,
        "settings of the prior": _ADDRESS.sub("", repr(prior)),
        "search": _kind(search, Maximizer),
        "search in training": _kind(search if training_search is None else training_search, Maximizer),
    }


def packed(names: dict[str, str]) -> Tensor:
    """Text as a tensor, which every format of checkpoints takes."""
    return torch.frombuffer(bytearray(json.dumps(names).encode()), dtype=torch.uint8)


def unpacked(text: Tensor) -> dict[str, str]:
    """The text of such a tensor; anything else is refused."""
    try:
        names = json.loads(bytes(text.cpu().tolist()).decode())
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(NOT_NAMES) from error
    if not isinstance(names, dict) or not {"family", "settings", "search"} <= names.keys():
        raise InputError(NOT_NAMES)
    return names


def compare_names(saved: dict[str, str], own: dict[str, str], *, key: str) -> None:
    """Refuse the checkpoint of another family, search, prior or kind of answers; warn of other settings of the same
    family or prior. Checkpoints of older versions do not name their prior, which is then not compared.
    """
    own = {"answers": "invariant"} | own
    saved = {"answers": "invariant"} | {name: own[name] for name in PRIOR} | saved
    kinds = ("family", "search", "search in training", "prior", "answers")
    differ = [name for name in kinds if saved.get(name) != own[name]]
    if differ:
        found = "; ".join(f"{name} {saved.get(name)} in the checkpoint, {own[name]} in the model" for name in differ)
        raise InputError(
            f"The checkpoint belongs to another model: {found}. "
            f"Hint: to load it all the same, remove the entry {key!r} from it"
        )
    for name in ("settings", "settings of the prior"):
        if saved[name] != own[name]:
            warn_caller(
                f"The checkpoint belongs to {saved[name]} and is loaded into {own[name]}, so that its answers may be "
                f"others than where it was saved. Hint: make the model with {saved[name]}"
            )


def _package(thing: Any) -> str:
    """The package of a class, not its file: files move."""
    parts = type(thing).__module__.split(".")
    return ".".join(parts[:2] if parts[0] == "adacanon" else parts)


def _kind(thing: Any, base: type) -> str:
    """The name of a class, and of those of its parts that are of the same base."""
    parts = [part for value in getattr(thing, "__dict__", {}).values() for part in _members(value)]
    inner = ", ".join(_kind(part, base) for part in parts if isinstance(part, base))
    return type(thing).__qualname__ + (f"({inner})" if inner else "")


def _members(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)
