"""What a checkpoint says of the model that it belongs to."""

import json
import re
import warnings
from typing import Any

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.maximizer import Maximizer
from adacanon.errors import InputError

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def names_of(
    family: Family, search: Maximizer, training_search: Maximizer | None, answers: str = "invariant"
) -> dict[str, str]:
    """Kind and settings of the family, the kinds of the searches and that of the answers: how many candidates are tried
    is no part of it. Answers that do not move with the input are not mentioned, as in checkpoints of older versions.

    Example:
        >>> from adacanon import RandomSearch, WithMemory
        >>> from adacanon.points import Rotations
        >>> names_of(Rotations(), WithMemory(RandomSearch(8), samples=10), None)["search"]
        'WithMemory(RandomSearch)'
    """
    moving = {} if answers == "invariant" else {"answers": answers}
    return moving | {
        "family": f"{_package(family)}.{_kind(family, Family)}",
        "settings": _ADDRESS.sub("", repr(family)),
        "search": _kind(search, Maximizer),
        "search in training": _kind(search if training_search is None else training_search, Maximizer),
    }


def packed(names: dict[str, str]) -> Tensor:
    """Text as a tensor, which every format of checkpoints takes."""
    return torch.frombuffer(bytearray(json.dumps(names).encode()), dtype=torch.uint8)


def unpacked(text: Tensor) -> dict[str, str]:
    return json.loads(bytes(text.cpu().tolist()).decode())


def compare_names(saved: dict[str, str], own: dict[str, str], *, key: str) -> None:
    """Refuse the checkpoint of another family or search; warn of other settings of the same family."""
    saved, own = ({"answers": "invariant"} | names for names in (saved, own))
    kinds = [name for name in ("family", "search", "search in training", "answers") if saved.get(name) != own[name]]
    if kinds:
        found = "; ".join(f"its {name} is {saved.get(name)}, that of the model {own[name]}" for name in kinds)
        raise InputError(
            f"The checkpoint belongs to another model: {found}. "
            f"Hint: to load it all the same, remove the entry {key!r} from it"
        )
    if saved["settings"] != own["settings"]:
        warnings.warn(
            f"The checkpoint belongs to {saved['settings']} and is loaded into {own['settings']}", stacklevel=3
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
