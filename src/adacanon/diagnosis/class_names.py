"""Names of classes in the order of a network's outputs: those that the network has itself, or those of a file."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from adacanon.diagnosis.cautions import Caution
from adacanon.errors import DataError, InputError

PLACES = (
    "class_names", "classes", "categories", "names", "idx_to_class", "class_to_idx", "meta.categories",
    "config.id2label", "config.label2id",
)  # fmt: skip
WRAPPERS = ("module", "model", "network")
"""Attributes under which wrappers, such as those for several devices, keep the network; the parts of a ``Sequential``
are looked at too.
"""

PLACEHOLDER = re.compile(r"LABEL_\d+")
"""What some libraries write where nobody gave names."""

LARGEST = 2**24


class OwnNames(NamedTuple):
    """Names of all outputs, and the attribute that has them."""

    names: tuple[str, ...]
    place: str


def own_names(network: Any) -> OwnNames | None:
    """The names that a network has itself, in the order of its outputs; None if it has none.

    Example:
        >>> from torch import nn
        >>> network = nn.Linear(4, 2)
        >>> network.class_names = ["cat", "dog"]
        >>> own_names(nn.DataParallel(network))
        OwnNames(names=('cat', 'dog'), place='module.class_names')
    """
    found = list(_all_names(network))
    for other in found[1:]:
        if other.names != found[0].names:
            raise InputError(
                f"The network has two orders of its classes, {found[0].place} ({_some(found[0].names)}) and "
                f"{other.place} ({_some(other.names)}). Hint: --classes says which one is right"
            )
    return found[0] if found else None


def read_class_names(file: Path) -> tuple[str, ...]:
    """Names from a file: one in a line, a JSON list, or a JSON object from index to name or from name to index.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "classes.json"
        ...     _ = file.write_text('{"1": "dog", "0": "cat"}')
        ...     read_class_names(file)
        ('cat', 'dog')
    """
    if not file.is_file():
        raise DataError(f"{file} is missing. Hint: a file with one name of a class in each line")
    if file.stat().st_size > LARGEST:
        raise DataError(f"{file} is too large for names of classes, {file.stat().st_size} bytes")
    text = file.read_bytes().decode("utf-8-sig", errors="replace").strip()
    if not text.startswith(("[", "{")):
        return tuple(line.strip() for line in text.splitlines())
    try:
        names = _names_in(json.loads(text))
    except json.JSONDecodeError as error:
        raise DataError(f"{file} is no JSON: {error}. Hint: one name in each line is enough") from error
    if names is None:
        raise DataError(
            f"{file}: expected a list of names, or an object from the indices 0, 1, ... to names, got {text[:60]!r}"
        )
    return names


def names_of_outputs(
    classes: int, class_names: Sequence[str] | None, source: str, own: OwnNames | None
) -> tuple[tuple[str, ...], str]:
    """The names of all outputs, and where they come from."""
    if class_names is not None:
        return tuple(class_names), source or "names that were given"
    if own is not None and len(own.names) == classes:
        return own.names, f"the labels, label k for output k; names are the network's {own.place}"
    return tuple(map(str, range(classes))), source or "the labels, label k for output k"


def two_orders(class_names: Sequence[str] | None, own: OwnNames | None) -> Iterator[Caution]:
    """A warning where names that were given stand in another order than the network's own."""
    if class_names is None or own is None or set(class_names) != set(own.names):
        return
    apart = [i for i, (given, name) in enumerate(zip(class_names, own.names, strict=True)) if given != name]
    if apart:
        first = apart[0]
        yield Caution(
            "order",
            True,
            f"The names that were given are in another order than the network's own {own.place}: {len(apart)} differ, "
            f"output {first} is {class_names[first]!r} here and {own.names[first]!r} there. The given order was used.",
        )


def _all_names(network: Any) -> Iterator[OwnNames]:
    parts = tuple(map(str, range(len(network)))) if isinstance(network, nn.Sequential) else ()
    for wrapper in ("", *WRAPPERS, *parts):
        inner = _attribute(network, wrapper) if wrapper else network
        for place in PLACES if inner is not None else ():
            value = inner
            for part in place.split("."):
                value = _attribute(value, part)
            names = _names_in(value)
            if names is not None and not all(PLACEHOLDER.fullmatch(name) for name in names):
                yield OwnNames(names, f"{wrapper}.{place}" if wrapper else place)


def _attribute(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _names_in(value: Any) -> tuple[str, ...] | None:
    """Names by their index, if that is what a value holds."""
    if isinstance(value, Mapping):
        value = _in_order(value)
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return None
    return tuple(value) if all(isinstance(name, str) for name in value) else None


def _in_order(value: Mapping[Any, Any]) -> list[Any] | None:
    """The names of a mapping from index to name, or from name to index, if the indices are 0, 1, ..."""
    pairs = list(value.items())
    if all(isinstance(index, int) and not isinstance(index, bool) for _, index in pairs):
        pairs = [(index, name) for name, index in pairs]
    indices = [int(index) if str(index).isdecimal() else -1 for index, _ in pairs]
    if sorted(indices) != list(range(len(pairs))):
        return None
    return [name for _, name in sorted(zip(indices, (name for _, name in pairs), strict=True))]


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:3], *["..."] * (len(names) > 3)])
