"""Which class of some data is which output of a network."""

import re
from collections.abc import Sequence
from pathlib import Path

from adacanon.errors import DataError, InputError

SHOWN = 12


def natural_order(name: str) -> tuple[list[str | int], str]:
    """A key for sorting: digits count as numbers, everything else as text.

    Example:
        >>> sorted(["class_10", "class_2", "b", "a"], key=natural_order)
        ['a', 'b', 'class_2', 'class_10']
    """
    parts = re.split(r"(\d+)", name)  # text and numbers in turn, so that like is compared with like
    return [int(part) if i % 2 else part for i, part in enumerate(parts)], name


def check_names(classes: Sequence[str]) -> None:
    """Refuse names that are empty or come twice."""
    if isinstance(classes, str):
        raise InputError(f"classes must be a sequence of names, got the text {classes!r}. Hint: classes=('a', 'b')")
    twice = [name for i, name in enumerate(classes) if name in classes[:i]]
    if twice or "" in classes:
        came = f"{', '.join(dict.fromkeys(twice))} more than once" if twice else "an empty one"
        raise InputError(f"Names of classes must differ and not be empty, got {came}. Hint: one name for each output")


def places(path: Path, names: Sequence[str], classes: Sequence[str]) -> list[int]:
    """Where the classes of some data stand among those of the network."""
    strangers = [name for name in names if name not in classes]
    if strangers:
        unused = [name for name in classes if name not in names]
        raise DataError(
            f"{path}: expected only classes that were named ({_some(classes)}), got also {_some(strangers)}; named "
            f"without data: {_some(unused) or 'none'}. Hint: --classes takes the names of all classes of the network, "
            "spelled as in the data; move folders away that are no classes"
        )
    return [list(classes).index(name) for name in names]


def _some(names: Sequence[str]) -> str:
    return ", ".join([*names[:SHOWN], *["..."] * (len(names) > SHOWN)])
